/* Machine files: the shipped ones as they stand, what a text may not say and
 * the path in each refusal, figures as a simulated device asks for them, and
 * mutations of the shipped texts, seeded. */
#include "unit/json_draw.h"
#include <stdio.h>
#include "internal.h"
#include "json/json.h"
#include "unit/json_samples.h"

static struct hdpi_machine *read_text(const char *text, size_t length)
{
    struct hdpi_machine *machine = NULL;

    if (hdpi_machine_read_json(&machine, text, length) != HDP_OK)
        fail_msg("expected a machine, got %s", hdp_last_error());
    assert_true(hdpi_machine_is_valid(machine));
    return machine;
}

static struct hdpi_machine *shipped(const char *name)
{
    struct hdpi_machine *machine = NULL;

    if (hdpi_machine_find(&machine, name) != HDP_OK)
        fail_msg("expected @%s, got %s", name, hdp_last_error());
    return machine;
}

/* ---- the shipped ones ---------------------------------------------------- */

static char *read_file(const char *name, size_t *length)
{
    const char *source = getenv("HDP_SOURCE_DIR");
    char path[512];
    char *text = calloc(1, 1 << 20);

    assert_non_null(text);
    (void)snprintf(path, sizeof path, "%s/examples/machines/%s.json",
                   source ? source : ".", name);
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("%s: expected a file", path);
    *length = fread(text, 1, 1 << 20, file);
    (void)fclose(file);
    return text;
}

/* What is embedded is the file in the tree, byte for byte. */
static void the_library_has_the_files_inside(void **state)
{
    static const char *const names[] = { "desk", "turing", "twin", "laptop",
                                         "lab" };

    (void)state;
    for (size_t i = 0; i < 5; ++i) {
        const struct hdpi_shipped *at = &hdpi_shipped_machines[i];
        size_t length;
        char *text = read_file(names[i], &length);
        assert_string_equal(at->name, names[i]);
        assert_int_equal(at->length, length);
        assert_memory_equal(at->text, text, length);
        free(text);
    }
    assert_null(hdpi_shipped_machines[5].name);
}

static const struct {
    const char *name;
    int32_t devices;
    const char *says; /* in the text: a model never looks measured */
} expected[] = {
    { "desk", 3, "simulated, from published figures, never measured" },
    { "turing", 2, "simulated, from published figures, never measured" },
    { "twin", 2, "simulated, from published figures, never measured" },
    { "laptop", 1, "simulated, from published figures, never measured" },
    { "lab", 3, "simulated, from published figures, never measured" },
};

/* A GPU of a file tells all that a driver would tell. */
static void check_device(const char *name, const hdp_device *info)
{
    int mig = strncmp(info->uuid, "MIG-", 4) == 0;

    if (info->kind != HDP_CUDA || info->sm_count < 8 ||
        info->compute_major < 6 || info->memory_bytes < INT64_C(8) << 30 ||
        info->free_bytes > info->memory_bytes || info->free_bytes <= 0 ||
        strlen(info->uuid) != 40 ||
        (!mig && strncmp(info->uuid, "GPU-", 4) != 0) ||
        strlen(info->pci) != 12 || !info->name[0] || !info->runnable ||
        !(info->native_dtypes & 1u << HDP_F32))
        fail_msg("@%s: \"%s\": expected a whole GPU, got sms %d, uuid \"%s\", "
                 "pci \"%s\", %lld bytes",
                 name, info->name, (int)info->sm_count, info->uuid, info->pci,
                 (long long)info->memory_bytes);
}

/* Every dtype of products that a device says it has has figures, no other. */
static void check_figures(const struct hdpi_machine *machine, int32_t device)
{
    const hdp_device *info = &machine->topology->devices[device].info;
    uint32_t dtypes = info->native_dtypes | info->slow_dtypes;
    struct hdpi_figures figures;

    for (int32_t dtype = HDP_F32; dtype <= HDP_F64; ++dtype) {
        int found = hdpi_model_find(&figures, &machine->models[device],
                                    HDP_PROBE_GEMM, dtype);
        if (found != (int)(dtypes >> dtype & 1u))
            fail_msg("%s, dtype %d: expected figures: %d, got %d", info->name,
                     (int)dtype, (int)(dtypes >> dtype & 1u), found);
        if (found && !(figures.item_flops > 0))
            fail_msg("%s: no flops of an item", info->name);
    }
    assert_true(hdpi_model_find(&figures, &machine->models[device],
                                HDP_PROBE_COPY, HDP_F32));
    assert_true(hdpi_model_find(&figures, &machine->models[device],
                                HDP_PROBE_LAUNCH, HDP_F32));
}

static void each_shipped_machine_is_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; ++i) {
        struct hdpi_machine *machine = shipped(expected[i].name);
        char *first, *second;
        assert_true(hdpi_machine_is_valid(machine));
        assert_string_equal(machine->name, expected[i].name);
        assert_non_null(strstr(machine->text, expected[i].says));
        assert_int_equal(machine->topology->info.device_count,
                         expected[i].devices);
        for (int32_t d = 0; d < expected[i].devices; ++d) {
            check_device(machine->name, &machine->topology->devices[d].info);
            check_figures(machine, d);
        }
        assert_int_equal(hdpi_machine_write_json(&first, machine), HDP_OK);
        struct hdpi_machine *again = read_text(first, strlen(first));
        assert_int_equal(hdpi_machine_write_json(&second, again), HDP_OK);
        same_text(first, second);
        hdpi_machine_free(again);
        hdpi_machine_free(machine);
    }
}

static const hdp_device *device_of(const struct hdpi_machine *machine,
                                   int32_t d)
{
    return &machine->topology->devices[d].info;
}

/* What the design says of each. */
static void the_machines_are_those_of_the_design(void **state)
{
    struct hdpi_machine *desk = shipped("desk"), *turing = shipped("turing");
    struct hdpi_machine *twin = shipped("twin"), *laptop = shipped("laptop");
    struct hdpi_machine *lab = shipped("lab");
    static const double links[] = { 24e9, 6.5e9, 3e9 };
    static const double flops[] = { 25e12, 33e12, 10.5e12 };
    struct hdpi_figures figures;

    (void)state;
    for (int32_t d = 0; d < 3; ++d) {
        assert_true(hdpi_model_find(&figures, &desk->models[d], HDP_PROBE_GEMM,
                                    HDP_F32));
        assert_true(figures.rank->in_bytes_per_second == links[d]);
        assert_true(figures.rank->out_bytes_per_second == links[d]);
        assert_true(figures.rank->reduce_bytes_per_second == links[d]);
        /* 256 items take the first 400 ms, the others by their rates */
        double want = 400e6 * 25e12 / flops[d];
        double got = hdpi_figures_ns(&figures, 256);
        if (fabs(got - want) > 1000)
            fail_msg("desk, device %d: expected %f ns, got %f", (int)d, want,
                     got);
    }
    assert_int_equal(device_of(desk, 1)->display, 1);
    assert_int_equal(device_of(desk, 0)->display, 0);
    assert_false(device_of(desk, 2)->native_dtypes & 1u << HDP_BF16);
    assert_false(device_of(desk, 2)->slow_dtypes & 1u << HDP_BF16);
    for (int32_t d = 0; d < 2; ++d) {
        assert_false(device_of(turing, d)->native_dtypes & 1u << HDP_BF16);
        assert_true(device_of(turing, d)->slow_dtypes & 1u << HDP_BF16);
    }
    assert_int_equal(twin->topology->links[1].peer, 0);
    assert_true(twin->topology->links[1].bytes_per_second > 0);
    assert_true(laptop->faults[0].ramp > 0);
    assert_memory_equal(device_of(lab, 2)->uuid, "MIG-", 4);
    assert_int_equal(device_of(lab, 0)->compute_major, 8);
    assert_int_equal(device_of(lab, 1)->compute_major, 9);
    assert_int_equal(lab->topology->links[1].peer, 1);
    hdpi_machine_free(desk);
    hdpi_machine_free(turing);
    hdpi_machine_free(twin);
    hdpi_machine_free(laptop);
    hdpi_machine_free(lab);
}

/* ---- figures ------------------------------------------------------------- */

static double raw(const struct hdpi_machine *machine, int32_t device,
                  int32_t dtype, int64_t items)
{
    struct hdpi_figures figures;

    assert_true(hdpi_model_find(&figures, &machine->models[device],
                                HDP_PROBE_GEMM, dtype));
    return hdpi_figures_raw_ns(&figures, items);
}

/* The sample: 500.25 ns for 1, 32,600 for 192, 26,000 for 256 items. */
static void figures_are_raw_or_padded(void **state)
{
    struct hdpi_machine *machine =
        read_text(MACHINE_SAMPLE, strlen(MACHINE_SAMPLE));
    struct hdpi_figures figures;

    (void)state;
    same_real("first", 500.25, raw(machine, 0, HDP_F32, 1));
    same_real("a dip", 32600, raw(machine, 0, HDP_F32, 192));
    same_real("halfway down", 29300, raw(machine, 0, HDP_F32, 224));
    same_real("the last", 26000, raw(machine, 0, HDP_F32, 256));
    same_real("nothing", 0, raw(machine, 0, HDP_F32, 0));
    /* beyond a falling last segment as many items a time as at its end */
    same_real("beyond", 52000, raw(machine, 0, HDP_F32, 512));
    same_real("a line", 1000 + 4 * 250.5, raw(machine, 1, HDP_F32, 4));
    assert_true(hdpi_model_find(&figures, &machine->models[0], HDP_PROBE_GEMM,
                                HDP_F32));
    same_real("padded up", 26000, hdpi_figures_ns(&figures, 192));
    assert_int_equal(figures.size_count, 3);
    assert_int_equal(figures.sizes[1], 192);
    hdpi_machine_free(machine);
}

static void figures_are_found_by_dtype(void **state)
{
    struct hdpi_machine *machine =
        read_text(MACHINE_SAMPLE, strlen(MACHINE_SAMPLE));
    struct hdpi_model *first = &machine->models[0];
    struct hdpi_figures figures;

    (void)state;
    same_real("bf16", 50, raw(machine, 0, HDP_BF16, 5));
    assert_false(hdpi_model_find(&figures, first, HDP_PROBE_GEMM, HDP_F64));
    assert_false(hdpi_model_find(&figures, first, HDP_PROBE_COPY, HDP_F32));
    assert_true(hdpi_model_find(&figures, first, HDP_PROBE_WORK, HDP_BF16));
    /* the second lacks bf16 and says so */
    assert_false(hdpi_model_find(&figures, &machine->models[1], HDP_PROBE_GEMM,
                                 HDP_BF16));
    /* a caller's function follows the first profile */
    assert_true(hdpi_model_find(&figures, first, -1, 0));
    same_real("own work", 500.25, hdpi_figures_ns(&figures, 1));
    assert_true(machine->faults[1].noise == 0.02);
    assert_int_equal(machine->faults[1].slow_count, 1);
    assert_int_equal(machine->faults[1].faults[0].hook, HDPI_HOOK_ALLOC);
    hdpi_machine_free(machine);
}

/* ---- refusals ------------------------------------------------------------ */

/* One change of the sample: the first `old` becomes `new`. */
static const struct {
    const char *old, *new, *message; /* NULL: still good */
} changes[] = {
    { "hdp.machine", "hdp.profile",
      "schema: expected \"hdp.machine\", got \"hdp.profile\"" },
    { "\"schema_version\":1,\"name\"", "\"schema_version\":2,\"name\"",
      "schema_version: expected 1 at most (the text is newer than this "
      "library), got 2" },
    { "hdp.topology", "hdp.plan",
      "topology.schema: expected \"hdp.topology\", got \"hdp.plan\"" },
    { "\"schema\":\"hdp.topology\",\"schema_version\":1,", "", NULL },
    { "\"topology\"", "\"other\"",
      "topology: expected an object, got nothing" },
    { "\"name\":\"pair\"", "\"name\":7",
      "name: expected a string of at most 63 bytes, got 7" },
    { "\"name\":\"pair\",", "", NULL },
    { "\"sms\":82", "\"sms\":-1",
      "topology.devices[0].sms: expected an integer from 0 to 65536, got -1" },
    { "\"uuid\":\"GPU-b\"", "\"uuid\":\"GPU-a\"",
      "topology.devices[1].uuid: devices[0] bears \"GPU-a\" already" },
    { "\"to\":1", "\"to\":2",
      "topology.links[0].to: expected an integer from 0 to 1, got 2" },
    { "\"peer\":true", "\"peer\":1",
      "topology.links[0].peer: expected true or false, got 1" },
    { "\"schema\":\"hdp.profile\"", "\"schema\":\"hdp.machine\"",
      "profiles[0].schema: expected \"hdp.profile\", got \"hdp.machine\"" },
    { "\"profiles\":[", "\"profiles\":[1,",
      "profiles[0]: expected an object, got 1" },
    { "\"key\":\"GPU-b\"", "\"key\":\"GPU-c\"",
      "profiles[0].members[0].key: no device of this machine is \"GPU-c\"" },
    { "\"key\":\"GPU-b\"", "\"key\":\"GPU-a\"",
      "profiles[0].members[1].key: members[0] is devices[0] already" },
    { "[192,32600]", "[1,32600]",
      "profiles[0].members[1].points[1][0]: expected more items than the point "
      "before, got 1" },
    { "[192,32600]", "[192,0]",
      "profiles[0].members[1].points[1][1]: expected a number from 1e-9 to "
      "1e18, got 0" },
    { "{\"lacks_dtype\":true}", "{\"lacks_dtype\":true},{\"item_ns\":1}",
      "profiles[1].members[2].key: no device of this machine is \"\"" },
    { "\"device\":1", "\"device\":2",
      "faults[0].device: expected an integer from 0 to 1, got 2" },
    { "\"device\":1", "\"device\":null",
      "faults[0].device: expected the index of a device, got nothing" },
    { "\"keys\"", "\"kees\"",
      "faults[0].keys: expected the keys of a simulated device, got nothing" },
    { "slow=2x@100", "slow=2x",
      "faults[0].keys: devices: \"2x\" at 15: slow is Fx@N: from launch N "
      "(from "
      "1) on F times the time, 0.001 to 1000000" },
    { "slow=2x@100", "item=2us",
      "faults[0].keys: only noise, seed, drift, ramp, newshape, slow and fail "
      "go wrong" },
    { "\"faults\":[", "\"faults\":[{\"device\":1,\"keys\":\"seed=3\"},",
      "faults[1].device: its faults were given before" },
    { "\"faults\":[{\"device\":1,\"keys\":\"noise=2%/slow=2x@100/"
      "fail=alloc:3\"}]",
      "\"faults\":[]", NULL },
};

static void refusals_name_the_place(void **state)
{
    char text[sizeof MACHINE_SAMPLE + 256];

    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; ++i) {
        struct hdpi_machine *machine = NULL;
        const char *at = strstr(MACHINE_SAMPLE, changes[i].old);
        if (!at)
            fail_msg("the sample has no %s", changes[i].old);
        size_t before = (size_t)(at - MACHINE_SAMPLE);
        memcpy(text, MACHINE_SAMPLE, before);
        strcpy(text + before, changes[i].new);
        strcat(text, at + strlen(changes[i].old));
        hdp_status status =
            hdpi_machine_read_json(&machine, text, strlen(text));
        hdp_status want = changes[i].message ? HDP_ERR_ARGUMENT : HDP_OK;
        if (status != want || (changes[i].message &&
                               strcmp(hdp_last_error(), changes[i].message)))
            fail_msg("%s: expected %s, got %d %s", changes[i].new,
                     changes[i].message ? changes[i].message : "success",
                     (int)status, hdp_last_error());
        assert_int_equal(machine != NULL, status == HDP_OK);
        hdpi_machine_free(machine);
    }
}

/* More points than a calibration can take are refused, not thinned out. */
static void points_are_limited(void **state)
{
    static const char head[] =
        "{\"schema\":\"hdp.machine\",\"schema_version\":1,\"topology\":{"
        "\"devices\":[{\"backend\":\"cuda\"}]},\"profiles\":[{\"members\":[{"
        "\"points\":[";
    char text[sizeof head + 257 * 16];
    struct hdpi_machine *machine;

    (void)state;
    for (int count = 256; count <= 257; ++count) {
        strcpy(text, head);
        for (int i = 1; i <= count; ++i)
            (void)sprintf(text + strlen(text), "[%d,%d]%s", i, i,
                          i < count ? "," : "]}]}]}");
        hdp_status status =
            hdpi_machine_read_json(&machine, text, strlen(text));
        assert_int_equal(status, count <= 256 ? HDP_OK : HDP_ERR_ARGUMENT);
        hdpi_machine_free(machine);
    }
    assert_string_equal(hdp_last_error(),
                        "profiles[0].members[0].points: expected 256 at most, "
                        "got 257");
}

/* A topology's own document is a machine of which no speed is known. */
static void a_topology_is_a_machine(void **state)
{
    struct hdpi_machine *machine =
        read_text(TOPOLOGY_SAMPLE, strlen(TOPOLOGY_SAMPLE));

    (void)state;
    assert_int_equal(machine->profile_count, 0);
    assert_int_equal(machine->topology->info.device_count, 2);
    hdpi_machine_free(machine);
}

static void who_keeps_a_machine_has_it(void **state)
{
    struct hdpi_machine *machine = shipped("desk");

    (void)state;
    hdpi_machine_keep(machine);
    hdpi_machine_free(machine);
    assert_true(hdpi_machine_is_valid(machine));
    hdpi_machine_free(machine);
    hdpi_machine_free(NULL);
}

/* ---- references ---------------------------------------------------------- */

static void what_is_no_machine_says_why(void **state)
{
    struct hdpi_machine *machine = (void *)1;

    (void)state;
    assert_int_equal(hdpi_machine_find(&machine, "desktop"), HDP_ERR_NOT_FOUND);
    assert_null(machine);
    assert_string_equal(hdp_last_error(),
                        "no machine \"@desktop\" is shipped; there are desk, "
                        "turing, twin, laptop, lab (a file is @./FILE)");
    assert_int_equal(hdpi_machine_find(&machine, "./no/such.json"),
                     HDP_ERR_NOT_FOUND);
    assert_string_equal(hdp_last_error(), "./no/such.json: no such file");
    assert_int_equal(hdpi_machine_find(&machine, "/"), HDP_ERR_SYSTEM);
    assert_string_equal(hdp_last_error(), "/: not a regular file");
    assert_int_equal(hdpi_machine_find(&machine, "/dev/zero"), HDP_ERR_SYSTEM);
    assert_string_equal(hdp_last_error(), "/dev/zero: not a regular file");
    assert_int_equal(hdpi_machine_find(&machine, "/proc/self/cmdline"),
                     HDP_ERR_ARGUMENT); /* a file of 0 bytes */
    assert_memory_equal(hdp_last_error(), "/proc/self/cmdline: line 1", 26);
    assert_null(machine);
}

/* ---- mutations ----------------------------------------------------------- */

/* Bytes changed, taken out, put in; pieces doubled and cut out. */
static size_t mutate(char *text, size_t length)
{
    static const char alphabet[] = "0123456789-,:.[]{}\"\\eE ntfx@%/\x01\xff";
    size_t at = bits() % length, piece = 1 + bits() % 64;

    if (at + piece > length)
        piece = length - at;
    switch (draw(0, 3)) {
    case 0:
        text[at] = alphabet[draw(0, (int32_t)sizeof alphabet - 2)];
        return length;
    case 1:
        memmove(text + at, text + at + piece, length - at - piece);
        return length - piece;
    case 2:
        memmove(text + at + piece, text + at, length - at);
        return length + piece;
    default:
        memmove(text + at + 1, text + at, length - at);
        text[at] = alphabet[draw(0, (int32_t)sizeof alphabet - 2)];
        return length + 1;
    }
}

static void mutations_are_taken_or_refused(void **state)
{
    enum { MUTATIONS = 3000 };
    int taken = 0;

    (void)state;
    seed = 41;
    for (int round = 0; round < MUTATIONS; ++round) {
        const struct hdpi_shipped *from = &hdpi_shipped_machines[draw(0, 4)];
        char *text = malloc(from->length + 1024);
        struct hdpi_machine *machine = NULL;
        size_t length = from->length;
        assert_non_null(text);
        memcpy(text, from->text, length);
        for (int32_t i = draw(1, 4); i > 0; --i)
            length = mutate(text, length);
        text = realloc(text, length); /* the sanitizer sees one too far */
        hdp_status status = hdpi_machine_read_json(&machine, text, length);
        if (status == HDP_OK && !hdpi_machine_is_valid(machine))
            fail_msg("round %d: expected a valid machine", round);
        if (status != HDP_OK && status != HDP_ERR_ARGUMENT)
            fail_msg("round %d: expected a refusal, got %d %s", round,
                     (int)status, hdp_last_error());
        taken += status == HDP_OK;
        hdpi_machine_free(machine);
        free(text);
    }
    print_message("%d of %d taken\n", taken, MUTATIONS);
    assert_in_range(taken, MUTATIONS / 50, MUTATIONS - MUTATIONS / 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_library_has_the_files_inside),
        cmocka_unit_test(each_shipped_machine_is_whole),
        cmocka_unit_test(the_machines_are_those_of_the_design),
        cmocka_unit_test(figures_are_raw_or_padded),
        cmocka_unit_test(figures_are_found_by_dtype),
        cmocka_unit_test(refusals_name_the_place),
        cmocka_unit_test(points_are_limited),
        cmocka_unit_test(a_topology_is_a_machine),
        cmocka_unit_test(who_keeps_a_machine_has_it),
        cmocka_unit_test(what_is_no_machine_says_why),
        cmocka_unit_test(mutations_are_taken_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
