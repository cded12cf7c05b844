/* Profiles and topologies drawn at random survive the way out and back field
 * by field, and the second text is the first one byte for byte. */
#include "unit/json_draw.h"
#include "base/mem.h"
#include "core/visibility.h"
#include "json/json.h"

/* ---- profile ------------------------------------------------------------- */

static void draw_points(hdp_profile *profile, int32_t rank)
{
    int64_t items[20], last = 0, count = draw(1, 20);
    double ns[20];
    profile->ranks[rank].provenance = draw(HDPI_FROM_MODEL, HDPI_FROM_ASSUMED);
    for (int64_t i = 0; i < count; i++) {
        last += 1 + draw_wide() % 1000000;
        items[i] = last;
        ns[i] = draw_real();
    }
    assert_int_equal(hdpi_profile_set_points(profile, rank, items, ns, count),
                     HDP_OK);
    for (int64_t i = 0; i < count; i++)
        profile->ranks[rank].point_from[i] =
            draw(HDPI_FROM_MODEL, HDPI_FROM_ASSUMED);
}

static void draw_rank(hdp_profile *profile, int32_t index)
{
    struct hdpi_rank_profile *rank = &profile->ranks[index];
    if (draw(0, 1))
        draw_points(profile, index);
    else
        rank->item_ns = draw_real();
    rank->fixed_ns = draw(0, 1) ? draw_real() : 0;
    rank->in_bytes_per_second = draw_figure();
    rank->out_bytes_per_second = draw_figure();
    rank->reduce_bytes_per_second = draw_figure();
    rank->copy_bytes_per_second = draw_figure();
    rank->launch_ns = draw_figure();
    rank->weight = draw(HDPI_WEIGHT_MIN, HDPI_WEIGHT_MAX);
    rank->doubted = draw_figure();
    rank->reliable = draw(0, 1);
    rank->memory_bytes = draw_wide();
    rank->memory_domain = draw(0, 3);
    rank->lacks_dtype = draw(0, 1);
    rank->simulated = draw(0, 1);
    rank->provenance = draw(HDPI_FROM_MODEL, HDPI_FROM_ASSUMED);
    rank->duty_percent = draw(1, 100);
    rank->rate = draw_figure();
    rank->rate_flops = draw_figure();
    rank->spread = draw_figure();
    rank->sample_count = draw(0, 9);
    if (rank->sample_count > 0)
        rank->samples_ns =
            hdpi_alloc((size_t)rank->sample_count, sizeof(double), "samples");
    for (int32_t i = 0; i < rank->sample_count; i++)
        rank->samples_ns[i] = draw_real();
    draw_text(rank->key, sizeof rank->key);
}

static hdp_profile *draw_profile(void)
{
    hdp_profile *profile;
    int32_t count = draw(1, 6);
    assert_int_equal(hdpi_profile_new(&profile, count), HDP_OK);
    hdp_profile_info *info = &profile->info;
    info->dtype = draw(0, HDP_I8);
    info->compute = draw(0, HDP_I8);
    info->probe = draw(HDP_PROBE_GEMM, HDP_PROBE_ALL);
    info->ended_by = draw(HDP_ENDED_SPREAD, HDP_ENDED_GIVEN);
    info->drifting = draw(0, 1);
    info->elapsed_ns = draw_wide();
    info->warmup_ns = draw_wide();
    info->fingerprint = bits();
    for (int32_t i = 0; i < count; i++)
        draw_rank(profile, i);
    return profile;
}

static void same_rank(const struct hdpi_rank_profile *a,
                      const struct hdpi_rank_profile *b)
{
    SAME_REAL(a, b, fixed_ns);
    SAME_REAL(a, b, item_ns);
    SAME_INT(a, b, point_count);
    size_t points = (size_t)a->point_count, samples = (size_t)a->sample_count;
    SAME_BYTES(a, b, point_items, points * sizeof *a->point_items);
    SAME_BYTES(a, b, point_ns, points * sizeof *a->point_ns);
    SAME_BYTES(a, b, monotone_ns, points * sizeof *a->monotone_ns);
    SAME_REAL(a, b, in_bytes_per_second);
    SAME_REAL(a, b, out_bytes_per_second);
    SAME_BYTES(a, b, point_from, points * sizeof *a->point_from);
    SAME_REAL(a, b, reduce_bytes_per_second);
    SAME_REAL(a, b, copy_bytes_per_second);
    SAME_REAL(a, b, launch_ns);
    SAME_INT(a, b, weight);
    SAME_REAL(a, b, doubted);
    SAME_INT(a, b, reliable);
    SAME_INT(a, b, memory_bytes);
    SAME_INT(a, b, memory_domain);
    SAME_INT(a, b, lacks_dtype);
    SAME_INT(a, b, simulated);
    SAME_INT(a, b, provenance);
    SAME_INT(a, b, duty_percent);
    SAME_REAL(a, b, rate);
    SAME_REAL(a, b, rate_flops);
    SAME_REAL(a, b, spread);
    SAME_INT(a, b, sample_count);
    SAME_BYTES(a, b, samples_ns, samples * sizeof *a->samples_ns);
    SAME_TEXT(a, b, key);
}

static void test_profiles(void **state)
{
    (void)state;
    seed = 3;
    for (int round = 0; round < ROUNDS; round++) {
        hdp_profile *profile = draw_profile(), *back;
        char *first, *second;
        assert_int_equal(hdpi_profile_write_json(&first, profile), HDP_OK);
        if (hdpi_profile_read_json(&back, first, strlen(first)) != HDP_OK)
            fail_msg("expected a profile, got %s\n%s", hdp_last_error(), first);
        assert_memory_equal(&profile->info, &back->info, sizeof profile->info);
        for (int32_t i = 0; i < profile->info.member_count; i++)
            same_rank(&profile->ranks[i], &back->ranks[i]);
        assert_int_equal(hdpi_profile_write_json(&second, back), HDP_OK);
        same_text(first, second);
        hdpi_profile_free(profile);
        hdpi_profile_free(back);
    }
}

/* A profile by hand needs no more than this. */
static void test_profile_by_hand(void **state)
{
    static const char text[] =
        "{ \"schema\": \"hdp.profile\", \"schema_version\": 1,\n"
        "  \"dtype\": \"f32\",\n"
        "  \"members\": [ { \"fixed_ns\": 5e5, \"item_ns\": 1e4 },\n"
        "                 { \"points\": [ [ 1, 20 ], [ 4, 10.5 ] ] } ] }\n";
    hdp_profile *profile;
    (void)state;
    assert_int_equal(hdpi_profile_read_json(&profile, text, sizeof text - 1),
                     HDP_OK);
    assert_int_equal(profile->info.dtype, HDP_F32);
    assert_int_equal(profile->info.compute, 0);
    assert_int_equal(profile->info.probe, HDP_PROBE_GEMM);
    assert_int_equal(profile->info.ended_by, HDP_ENDED_GIVEN);
    assert_int_equal(profile->ranks[1].duty_percent, 100);
    same_real("t(230)", 2.8e6, hdpi_profile_time(&profile->ranks[0], 230));
    same_real("t(2)", 10.5, hdpi_profile_time(&profile->ranks[1], 2));
    hdpi_profile_free(profile);
}

/* ---- topology ------------------------------------------------------------ */

static void draw_faults(struct hdpi_ask *ask)
{
    ask->fault_count = draw(0, HDPI_FAULT_MAX);
    for (int32_t i = 0; i < ask->fault_count; i++)
        ask->faults[i] = (struct hdpi_fault){ .hook = draw(HDPI_HOOK_ALLOC,
                                                           HDPI_HOOK_REDUCE),
                                              .lasting = draw(0, 1),
                                              .nth = draw(1, 1000) };
}

static void draw_ask(struct hdpi_ask *ask, const hdp_device *info)
{
    ask->kind = info->kind;
    ask->logical_id = info->logical_id;
    ask->memory_bytes = draw(0, 1) ? draw_wide() + 1 : 0;
    ask->margin_bytes = draw(0, 1) ? draw_wide() : -1;
    if (info->kind == HDP_HOST) {
        ask->threads = draw(0, 64);
        ask->duty_percent = draw(0, 100);
    } else if (info->kind == HDP_CUDA) {
        ask->sms = draw(0, 100);
        ask->compute = draw(0, HDP_F64);
    } else {
        ask->given_fixed = draw(0, 1);
        ask->fixed_ns = ask->given_fixed ? draw_real() : 0;
        ask->given_item = draw(0, 1);
        ask->item_ns = ask->given_item ? draw_real() : 0;
        ask->noise = draw(0, 1) ? 0 : draw(1, 100) / 128.0;
        ask->seed = bits() >> draw(1, 63);
        ask->link_bytes_per_second = draw(0, 1) ? draw(1, 1000000) : 0;
        strcpy(ask->uuid, draw(0, 1) ? "SIM-a_b.0" : "");
        draw_faults(ask);
        ask->sms = draw(0, 100);
        ask->compute = draw(0, HDP_F64);
        ask->display = draw(0, 1);
        ask->drift = draw(0, 1) ? 0 : draw(1, 100) / 128.0;
        ask->ramp = draw(0, 1) ? 0 : draw(1, 100) / 128.0;
        ask->ramp_ns = ask->ramp > 0 ? draw_real() : 0;
        ask->given_newshape = draw(0, 1);
        ask->newshape_ns = ask->given_newshape ? draw_real() : 0;
        ask->slow_count = draw(0, HDPI_SLOW_MAX);
        for (int32_t i = 0; i < ask->slow_count; i++)
            ask->slows[i] =
                (struct hdpi_slow){ .factor = draw(1, 999) / 64.0,
                                    .nth = 1000 * i + draw(1, 1000) };
    }
}

static void draw_device(hdp_topology *topology, int32_t id)
{
    struct hdpi_device_row *row = hdpi_topology_append(topology);
    hdp_device *info = &row->info;
    info->kind = draw(HDP_HOST, HDP_SIM);
    info->logical_id = id;
    info->sm_count = draw(0, 132);
    info->thread_count = draw(0, 64);
    info->memory_bytes = draw_wide();
    info->free_bytes = draw_wide();
    info->partition_sms = draw(0, 132);
    info->duty_percent = draw(1, 100);
    info->compute_major = draw(0, 12);
    info->compute_minor = draw(0, 9);
    info->runnable = draw(0, 1);
    info->display = draw(0, 1);
    info->native_dtypes = (uint32_t)draw(0, 511) << 1;
    info->slow_dtypes = (uint32_t)draw(0, 511) << 1;
    draw_text(info->uuid, sizeof info->uuid);
    draw_text(info->pci, sizeof info->pci);
    draw_text(info->name, sizeof info->name);
    draw_text(info->spec, sizeof info->spec);
    draw_ask(&row->ask, info);
}

/* What a mask did: an error, or where each GPU stood before. */
static void draw_visibility(hdp_topology *topology)
{
    static const char *const errors[] = { "cudaErrorNoDevice",
                                          "cudaErrorInvalidDevice" };
    size_t count = (size_t)topology->info.mask_count;
    int32_t devices = topology->info.device_count;
    if (draw(0, 1))
        topology->visibility_error = hdpi_visibility_error(errors[draw(0, 1)]);
    for (int32_t i = 0; !topology->visibility_error && i < devices; i++)
        if (topology->devices[i].info.kind != HDP_HOST)
            topology->devices[i].place = draw(0, 9);
    topology->mask_uuids =
        hdpi_alloc(count, sizeof *topology->mask_uuids, "uuids");
    for (size_t i = 0; i < count; i++)
        if (topology->mask[i].device < 0)
            draw_text(topology->mask_uuids[i], sizeof *topology->mask_uuids);
}

static hdp_topology *draw_topology(void)
{
    hdp_topology *topology;
    int32_t count = draw(0, 5), masks = draw(0, 4);
    assert_int_equal(hdpi_topology_new(&topology), HDP_OK);
    for (int32_t i = 0; i < count; i++)
        draw_device(topology, i);
    topology->info.mask_set = draw(0, 1);
    topology->info.mask_changed = draw(0, 1);
    assert_int_equal(hdpi_grow(&topology->mask, &topology->mask_capacity,
                               (size_t)masks, sizeof *topology->mask, "mask"),
                     HDP_OK);
    for (int32_t i = 0; i < masks; i++) {
        hdp_mask_entry *entry = &topology->mask[i];
        entry->size = sizeof *entry;
        entry->verdict = draw(HDP_MASK_ACCEPTED, HDP_MASK_OTHER_KIND);
        entry->device = draw(-1, count - 1);
        draw_text(entry->text, sizeof entry->text);
    }
    topology->info.mask_count = masks;
    if (draw(0, 1))
        draw_visibility(topology);
    size_t pairs = (size_t)count * (size_t)count;
    if (draw(0, 1) && pairs > 0)
        topology->links = hdpi_alloc(pairs, sizeof *topology->links, "links");
    for (size_t i = 0; topology->links && i < pairs; i++)
        if (i == 0 || draw(0, 1)) {
            topology->links[i].kind = draw(0, 5);
            topology->links[i].peer = draw(0, 1);
            topology->links[i].bytes_per_second = 1 + draw_wide() / 2;
        }
    for (int32_t i = draw(0, 2); i > 0; i--)
        assert_int_equal(
            hdpi_topology_note(topology, "cuda", "libcuda.so.1: \"no\": 2"),
            HDP_OK);
    return topology;
}

static void same_topology(const hdp_topology *a, const hdp_topology *b)
{
    assert_memory_equal(&a->info, &b->info, sizeof a->info);
    size_t count = (size_t)a->info.device_count;
    for (size_t i = 0; i < count; i++) {
        const hdp_device *left = &a->devices[i].info;
        const hdp_device *right = &b->devices[i].info;
        struct hdpi_ask asked = a->devices[i].ask, got = b->devices[i].ask;
        assert_memory_equal(left, right, offsetof(hdp_device, uuid));
        SAME_TEXT(left, right, uuid);
        SAME_TEXT(left, right, pci);
        SAME_TEXT(left, right, name);
        SAME_TEXT(left, right, spec);
        SAME_INT(a, b, devices[i].place);
        asked.position = got.position = 0;
        assert_memory_equal(&asked, &got, sizeof asked);
    }
    for (int32_t i = 0; i < a->info.mask_count; i++) {
        SAME_INT(a, b, mask[i].verdict);
        SAME_INT(a, b, mask[i].device);
        SAME_TEXT(a, b, mask[i].text);
        if (a->mask_uuids && a->mask[i].device < 0)
            SAME_TEXT(a, b, mask_uuids[i]);
    }
    /* one static text of each name, so the pointers are alike */
    assert_ptr_equal(a->visibility_error, b->visibility_error);
    assert_int_equal(a->links != NULL, b->links != NULL);
    if (a->links)
        SAME_BYTES(a, b, links, count * count * sizeof *a->links);
    assert_string_equal(a->notes ? a->notes : "", b->notes ? b->notes : "");
}

static void test_topologies(void **state)
{
    (void)state;
    seed = 4;
    for (int round = 0; round < ROUNDS; round++) {
        hdp_topology *topology = draw_topology(), *back;
        char *first, *second;
        assert_int_equal(hdpi_topology_write_json(&first, topology), HDP_OK);
        if (hdpi_topology_read_json(&back, first, strlen(first)) != HDP_OK)
            fail_msg("expected a topology, got %s\n%s", hdp_last_error(),
                     first);
        same_topology(topology, back);
        assert_int_equal(hdpi_topology_write_json(&second, back), HDP_OK);
        same_text(first, second);
        hdpi_topology_free(topology);
        hdpi_topology_free(back);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_profiles),
        cmocka_unit_test(test_profile_by_hand),
        cmocka_unit_test(test_topologies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
