/* Profiles: curves and their inverses, models from callers, text and files. */
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <hdp/hdp.h>
#include "core/lane.h"
#include "unit/dp.h"

static hdp_model line(double fixed_ns, double item_ns)
{
    hdp_model model;
    hdp_options_init(&model, sizeof model);
    model.fixed_ns = fixed_ns;
    model.item_ns = item_ns;
    return model;
}

static hdp_profile *made(const hdp_model *models, int32_t count)
{
    hdp_profile *profile;
    if (hdp_profile_create(&profile, models, count) != HDP_OK)
        fail_msg("profile: %s", hdp_last_error());
    return profile;
}

static double time_of(const hdp_profile *profile, int64_t items)
{
    double ns = -1;
    assert_int_equal(hdp_profile_time(&ns, profile, 0, items), HDP_OK);
    return ns;
}

/* ---- curves --------------------------------------------------------------- */

static void test_line(void **state)
{
    (void)state;
    hdp_model model = line(500e3, 10e3);
    hdp_profile *profile = made(&model, 1);

    assert_true(time_of(profile, 0) == 0);
    assert_true(time_of(profile, 1) == 510e3);
    assert_true(time_of(profile, 230) == 2800e3);
    assert_true(time_of(profile, INT64_MAX) == 500e3 + 10e3 * 0x1p63);
    hdp_profile_destroy(profile);
}

/* The measured layer: 192 and 224 rows cost more than 256, so they are done
 * as 256. */
static void test_dips(void **state)
{
    (void)state;
    const int64_t items[] = { 64, 160, 192, 224, 256, 384, 512 };
    const double ns[] = { 20000, 30800, 32600, 33300, 26000, 37500, 35100 };
    hdp_model model = line(0, 0);

    model.point_items = items;
    model.point_ns = ns;
    model.point_count = 7;
    hdp_profile *profile = made(&model, 1);
    assert_true(time_of(profile, 1) == 20000);
    assert_true(time_of(profile, 64) == 20000);
    assert_true(time_of(profile, 112) == 25400); /* half way to 160 */
    assert_true(time_of(profile, 118) == 26000); /* 26,075 on the way up */
    assert_true(time_of(profile, 160) == 26000);
    assert_true(time_of(profile, 192) == 26000);
    assert_true(time_of(profile, 256) == 26000);
    assert_true(time_of(profile, 384) == 35100);
    assert_true(time_of(profile, 512) == 35100);
    /* the last segment falls: beyond it, as many rows a time as at 512 */
    assert_true(fabs(time_of(profile, 1024) - 70200) < 1e-6);
    hdp_profile_destroy(profile);
}

static void test_beyond(void **state)
{
    (void)state;
    const int64_t items[] = { 10, 20 };
    const double ns[] = { 100, 120 };
    hdp_model model = line(0, 0);

    model.point_items = items;
    model.point_ns = ns;
    model.point_count = 2;
    hdp_profile *profile = made(&model, 1);
    assert_true(time_of(profile, 5) == 100);
    assert_true(time_of(profile, 15) == 110);
    assert_true(time_of(profile, 120) == 320); /* 2 ns a row goes on */
    hdp_profile_destroy(profile);
    model.point_count = 1;
    profile = made(&model, 1);
    assert_true(time_of(profile, 10) == 100);
    assert_true(time_of(profile, 30) == 300); /* one point: its rate */
    hdp_profile_destroy(profile);
}

static uint64_t bits = 88172645463325252u;

static uint64_t next_bits(void)
{
    bits ^= bits << 13;
    bits ^= bits >> 7;
    bits ^= bits << 17;
    return bits;
}

static double draw(double low, double high)
{
    return low + (high - low) * (double)(next_bits() >> 11) * 0x1p-53;
}

static void draw_rank(struct dp_rank *rank)
{
    int64_t at = 0;

    memset(rank, 0, sizeof *rank);
    rank->fixed_ns = draw(0, 1e4);
    rank->item_ns = draw(1, 1e3);
    rank->points = (int)(next_bits() % (DP_POINTS + 1));
    for (int i = 0; i < rank->points; i++) {
        at += 1 + (int64_t)(next_bits() % 40);
        rank->point_items[i] = at;
        rank->point_ns[i] = draw(1e3, 1e5);
    }
}

/* The curve turned round: the most items, up to `limit`, that end by `ns`. */
static int64_t items_by(const struct hdpi_rank_profile *rank, double ns,
                        int64_t limit)
{
    struct hdpi_lane lane;
    struct hdpi_stop stop;

    hdpi_lane_of(&lane, rank, 0, 0, 0);
    hdpi_lane_stop(&stop, &lane, 1, 0, limit, ns);
    return stop.blocks;
}

/* Times by the definition, and the inverse by trying. */
static void test_random_curves(void **state)
{
    (void)state;
    static struct dp_model model;

    for (int k = 0; k < 3000; k++) {
        struct dp_rank *rank = &model.rank[0];
        hdp_model given = line(0, 0);
        model.ranks = 1;
        model.overlap = 1;
        draw_rank(rank);
        dp_prepare(&model);
        given.fixed_ns = rank->fixed_ns;
        given.item_ns = rank->item_ns;
        given.point_items = rank->point_items;
        given.point_ns = rank->point_ns;
        given.point_count = rank->points;
        hdp_profile *profile = made(&given, 1);
        for (int64_t n = 0; n <= DP_ITEMS; n++) {
            double ns = time_of(profile, n), wanted = model.time[0][n];
            if (fabs(ns - wanted) > 1e-12 * wanted)
                fail_msg("curve %d, %" PRId64 " items: expected %.17g, got "
                         "%.17g",
                         k, n, wanted, ns);
            if (n > 0 && ns < time_of(profile, n - 1))
                fail_msg("curve %d falls at %" PRId64, k, n);
        }
        for (int tries = 0; tries < 20; tries++) {
            double ns = tries % 2 ? draw(0, 2e5)
                                  : time_of(profile, (int64_t)draw(0, 200));
            int64_t wanted = 0;
            while (wanted < DP_ITEMS && time_of(profile, wanted + 1) <= ns)
                wanted++;
            int64_t got = items_by(&profile->ranks[0], ns, DP_ITEMS);
            if (got != wanted)
                fail_msg("curve %d, %.17g ns: expected %" PRId64
                         " items, got %" PRId64,
                         k, ns, wanted, got);
        }
        hdp_profile_destroy(profile);
    }
}

/* Where doubles are coarser than items the two directions still agree. */
static void test_inverse_of_huge(void **state)
{
    (void)state;

    for (int k = 0; k < 2000; k++) {
        hdp_model model = line(draw(0, 1e9), ldexp(draw(1, 2), -(k % 25)));
        hdp_profile *profile = made(&model, 1);
        const struct hdpi_rank_profile *rank = &profile->ranks[0];
        int64_t items = (int64_t)(next_bits() >> (1 + k % 40));
        double ns = hdpi_profile_time(rank, items);
        int64_t got = items_by(rank, ns, INT64_MAX);
        assert_true(got >= items);
        assert_true(hdpi_profile_time(rank, got) <= ns);
        if (got < INT64_MAX)
            assert_true(hdpi_profile_time(rank, got + 1) > ns);
        assert_int_equal(items_by(rank, ns, items), items);
        hdp_profile_destroy(profile);
    }
}

/* ---- models --------------------------------------------------------------- */

static void refused(const hdp_model *models, int32_t count, int32_t rank,
                    const char *part)
{
    hdp_profile *profile = (hdp_profile *)(uintptr_t)1;
    hdp_error error;

    assert_int_equal(hdp_profile_create(&profile, models, count),
                     HDP_ERR_ARGUMENT);
    assert_null(profile);
    hdp_options_init(&error, sizeof error);
    hdp_error_get(&error);
    if (!strstr(error.text, part) || error.rank != rank)
        fail_msg("expected \"%s\" of rank %d, got \"%s\" of rank %d", part,
                 (int)rank, error.text, (int)error.rank);
}

static void test_figures_refused(void **state)
{
    (void)state;
    const double wrong[] = { -1, (double)NAN, (double)INFINITY };
    hdp_model models[2];
    double *const figures[] = { &models[1].fixed_ns, &models[1].item_ns,
                                &models[1].in_bytes_per_second,
                                &models[1].out_bytes_per_second,
                                &models[1].reduce_bytes_per_second };
    const char *const names[] = { "models[1].fixed_ns", "models[1].item_ns",
                                  "models[1].in_bytes_per_second",
                                  "models[1].out_bytes_per_second",
                                  "models[1].reduce_bytes_per_second" };

    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
            models[0] = models[1] = line(0, 1);
            *figures[i] = wrong[k];
            refused(models, 2, 1, names[i]);
        }
    models[1] = line(0, 0);
    refused(models, 2, 1, "models[1].item_ns");
    models[1] = line(0, 1);
    models[1].memory_bytes = -1;
    refused(models, 2, 1, "memory_bytes is below 0");
    models[1] = line(0, 1);
    models[1].memory_domain = -1;
    refused(models, 2, 1, "memory_domain");
    models[0].memory_domain = models[1].memory_domain = 3;
    models[0].memory_bytes = 10;
    models[1].memory_bytes = 20;
    refused(models, 2, 1, "models[0] of the same memory_domain has 10");
    char key[256];
    memset(key, 'k', sizeof key);
    key[sizeof key - 1] = '\0';
    models[0] = models[1] = line(0, 1);
    models[1].key = key;
    refused(models, 2, 1, "key");
    refused(models, 0, -1, "count is 0");
    refused(NULL, 1, -1, "models is NULL");
    assert_int_equal(hdp_profile_create(NULL, models, 2), HDP_ERR_ARGUMENT);
}

static void test_points_refused(void **state)
{
    (void)state;
    const int64_t rising[] = { 1, 2 }, flat[] = { 2, 2 }, zero[] = { 0, 1 };
    const double good[] = { 5, 6 }, none[] = { 5, 0 },
                 nan[] = { (double)NAN, 1 };
    hdp_model model = line(0, 0);

    model.point_count = 2;
    refused(&model, 1, 0, "point_items or point_ns is NULL");
    model.point_items = flat;
    model.point_ns = good;
    refused(&model, 1, 0, "point 1 has 2 items");
    model.point_items = zero;
    refused(&model, 1, 0, "point 0 has 0 items");
    model.point_items = rising;
    model.point_ns = none;
    refused(&model, 1, 0, "point 1");
    model.point_ns = nan;
    refused(&model, 1, 0, "point 0");
    model.point_ns = good;
    model.point_count = -1;
    refused(&model, 1, 0, "point_count");
}

static void test_questions(void **state)
{
    (void)state;
    hdp_model models[3] = { line(5e3, 10), line(0, 20), line(0, 40) };
    hdp_profile *profile, *updated;
    hdp_profile_info info;
    double value, sum = 0;

    models[1].key = "GPU-1";
    profile = made(models, 3);
    hdp_options_init(&info, sizeof info);
    assert_int_equal(hdp_profile_get(&info, profile), HDP_OK);
    assert_int_equal(info.member_count, 3);
    assert_int_equal(info.ended_by, HDP_ENDED_GIVEN);
    assert_true(info.fingerprint == 0);
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(hdp_profile_ratio(&value, profile, i), HDP_OK);
        sum += value;
    }
    assert_true(fabs(sum - 1) < 1e-15);
    assert_true(fabs(value - 1 / 7.0) < 1e-15);
    assert_int_equal(hdp_profile_ratio(&value, profile, 3), HDP_ERR_NOT_FOUND);
    assert_int_equal(hdp_profile_time(&value, profile, -1, 1),
                     HDP_ERR_NOT_FOUND);
    assert_int_equal(hdp_profile_time(&value, profile, 0, -1),
                     HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_profile_time(NULL, profile, 0, 1), HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_profile_time(&value, NULL, 0, 1), HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_profile_select(&updated, profile, NULL),
                     HDP_ERR_ARGUMENT);
    assert_null(updated);
    const int64_t one[3] = { 1, 1, 1 };
    hdp_report *report;
    assert_int_equal(hdp_report_create(&report, one, one, 2), HDP_OK);
    assert_int_equal(hdp_profile_update(&updated, profile, report),
                     HDP_ERR_ARGUMENT);
    assert_null(updated);
    assert_string_equal(hdp_last_error(),
                        "the report is of 2 ranks, the profile of 3");
    hdp_report_destroy(report);
    hdp_profile_destroy(profile);
    hdp_profile_destroy(NULL);
}

static void test_copy(void **state)
{
    (void)state;
    const int64_t items[] = { 1, 8 };
    const double ns[] = { 50, 60 };
    hdp_model model = line(0, 0);
    hdp_profile *copy;

    model.point_items = items;
    model.point_ns = ns;
    model.point_count = 2;
    model.key = "GPU-7";
    hdp_profile *profile = made(&model, 1);
    profile->ranks[0].point_from[1] = HDPI_FROM_STEPS;
    profile->ranks[0].weight = 7;
    profile->ranks[0].doubted = 3.5;
    profile->ranks[0].reliable = 0;
    profile->ranks[0].launch_ns = 9400;
    profile->ranks[0].copy_bytes_per_second = 3e12;
    assert_int_equal(hdpi_profile_new(&copy, 2), HDP_OK);
    assert_int_equal(hdpi_profile_copy_rank(copy, 1, &profile->ranks[0]),
                     HDP_OK);
    hdp_profile_destroy(profile);
    assert_true(hdpi_profile_time(&copy->ranks[1], 8) == 60);
    assert_string_equal(copy->ranks[1].key, "GPU-7");
    assert_true(copy->ranks[1].rate == 8 / 60. * 1e9);
    assert_int_equal(copy->ranks[1].point_from[0], HDPI_FROM_MODEL);
    assert_int_equal(copy->ranks[1].point_from[1], HDPI_FROM_STEPS);
    assert_int_equal(copy->ranks[1].weight, 7);
    assert_true(copy->ranks[1].doubted == 3.5);
    assert_true(copy->ranks[1].launch_ns == 9400);
    assert_true(copy->ranks[1].copy_bytes_per_second == 3e12);
    assert_false(copy->ranks[1].reliable);
    assert_false(hdpi_profile_is_valid(copy)); /* rank 0 has no curve */
    copy->ranks[0].item_ns = 1;
    assert_true(hdpi_profile_is_valid(copy));
    hdp_profile_destroy(copy);
}

/* ---- text and files ------------------------------------------------------- */

static char folder[] = "/tmp/hdp-profile-XXXXXX";
static char path[128];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(path, sizeof path, "%s/profile.json", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

static void write_text(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void test_round_trip(void **state)
{
    (void)state;
    const int64_t items[] = { 7, 100 };
    const double ns[] = { 0.1, 1e17 / 3 };
    hdp_model models[2] = { line(1 / 3.0, 1e-3 / 7), line(0, 0) };
    char text[8192], again[8192];
    hdp_profile *read;
    size_t needed;

    models[0].memory_bytes = INT64_MAX;
    models[1].point_items = items;
    models[1].point_ns = ns;
    models[1].point_count = 2;
    hdp_profile *profile = made(models, 2);
    assert_int_equal(hdp_profile_to_json(profile, NULL, 0, &needed), HDP_OK);
    assert_int_equal(hdp_profile_to_json(profile, text, 5, NULL),
                     HDP_ERR_CAPACITY);
    assert_int_equal(hdp_profile_to_json(profile, text, sizeof text, &needed),
                     HDP_OK);
    assert_int_equal(needed, strlen(text) + 1);
    assert_int_equal(hdp_profile_from_json(&read, text, strlen(text)), HDP_OK);
    for (int64_t n = 0; n < 120; n++)
        for (int32_t i = 0; i < 2; i++)
            assert_true(hdpi_profile_time(&read->ranks[i], n) ==
                        hdpi_profile_time(&profile->ranks[i], n));
    assert_int_equal(hdp_profile_to_json(read, again, sizeof again, NULL),
                     HDP_OK);
    assert_string_equal(text, again);
    hdp_profile_destroy(read);
    assert_int_equal(hdp_profile_save(profile, path), HDP_OK);
    assert_int_equal(hdp_profile_save(profile, path), HDP_OK); /* over it */
    assert_int_equal(hdp_profile_load(&read, path), HDP_OK);
    assert_int_equal(hdp_profile_to_json(read, again, sizeof again, NULL),
                     HDP_OK);
    assert_string_equal(text, again);
    hdp_profile_destroy(read);
    hdp_profile_destroy(profile);
    struct stat there;
    assert_int_equal(stat(path, &there), 0);
    assert_int_equal(there.st_mode & 022, 0); /* nobody else may write */
}

static void load_fails(const char *file, hdp_status status, const char *part)
{
    hdp_profile *profile = (hdp_profile *)(uintptr_t)1;
    if (hdp_profile_load(&profile, file) != status)
        fail_msg("expected %d: %s", (int)status, hdp_last_error());
    assert_null(profile);
    if (!strstr(hdp_last_error(), part))
        fail_msg("expected \"%s\" in \"%s\"", part, hdp_last_error());
}

static void test_bad_files(void **state)
{
    (void)state;
    hdp_model model = line(0, 1);
    hdp_profile *profile = made(&model, 1);
    char below[160];

    (void)snprintf(below, sizeof below, "%s/no/such", folder);
    load_fails(below, HDP_ERR_NOT_FOUND, "no such file");
    assert_int_equal(hdp_profile_save(profile, below), HDP_ERR_SYSTEM);
    assert_non_null(strstr(hdp_last_error(), "No such file"));
    load_fails(folder, HDP_ERR_SYSTEM, "not a regular file");
    load_fails("", HDP_ERR_ARGUMENT, "empty");
    load_fails(NULL, HDP_ERR_ARGUMENT, "NULL");
    write_text("");
    load_fails(path, HDP_ERR_ARGUMENT, "");
    write_text("{\n  \"members\": [,]\n}");
    load_fails(path, HDP_ERR_ARGUMENT, "line 2");
    assert_int_equal(hdp_profile_save(profile, folder), HDP_ERR_SYSTEM);
    assert_int_equal(hdp_profile_save(profile, ""), HDP_ERR_ARGUMENT);
    assert_int_equal(hdp_profile_save(NULL, path), HDP_ERR_ARGUMENT);
    hdp_profile_destroy(profile);
}

/* With the standard three closed a file must not take their place. */
static void test_low_descriptors(void **state)
{
    (void)state;
    hdp_model model = line(0, 1);
    hdp_profile *profile = made(&model, 1), *read = NULL;
    int kept = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);

    assert_true(kept >= 0);
    (void)close(STDIN_FILENO);
    hdp_status saved = hdp_profile_save(profile, path);
    hdp_status loaded = hdp_profile_load(&read, path);
    int open_still = fcntl(STDIN_FILENO, F_GETFD);
    (void)dup2(kept, STDIN_FILENO);
    (void)close(kept);
    assert_int_equal(saved, HDP_OK);
    assert_int_equal(loaded, HDP_OK);
    assert_int_equal(open_still, -1);
    hdp_profile_destroy(read);
    hdp_profile_destroy(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line),
        cmocka_unit_test(test_dips),
        cmocka_unit_test(test_beyond),
        cmocka_unit_test(test_random_curves),
        cmocka_unit_test(test_inverse_of_huge),
        cmocka_unit_test(test_figures_refused),
        cmocka_unit_test(test_points_refused),
        cmocka_unit_test(test_questions),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_low_descriptors),
    };
    return cmocka_run_group_tests_name("profiles", tests, make_folder,
                                       remove_folder);
}
