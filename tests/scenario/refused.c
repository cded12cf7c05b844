/* A work that is wrong anywhere is refused before any function runs, and the
 * message names the place. */
#include "job.h"

enum { MEMBERS = 3, ROWS = 11 };

static const int64_t shares[MEMBERS] = { 7, 0, 4 };

struct bad {
    const char *name, *text;
    void (*spoil)(struct job *job);
};

static void no_memory(struct job *job)
{
    job->arrays[0].data = NULL;
}

static void no_rows(struct job *job)
{
    job->arrays[1].row_bytes = 0;
}

static void short_stride(struct job *job)
{
    job->arrays[0].row_stride_bytes = 23;
}

static void both_kinds(struct job *job)
{
    job->arrays[1].member_data = job->means;
}

static void too_large(struct job *job)
{
    job->arrays[0].row_bytes = INT64_MAX / 2;
}

static void unknown_memory(struct job *job)
{
    job->arrays[0].memory = 3;
}

static void foreign_member(struct job *job)
{
    job->arrays[0].memory = HDP_MEMORY_MEMBER;
    job->arrays[0].member = MEMBERS;
}

static void a_stream(struct job *job)
{
    job->arrays[0].stream = job;
}

static void negative_count(struct job *job)
{
    job->work.input_count = -1;
}

static void missing_list(struct job *job)
{
    job->work.outputs = NULL;
}

static void unknown_flag(struct job *job)
{
    job->work.flags = 8;
}

static void negative_piece(struct job *job)
{
    job->work.max_piece_items = -1;
}

static void negative_time(struct job *job)
{
    job->work.timeout_ns = -1;
}

static void no_function(struct job *job)
{
    job->work.host = job->work.cuda = NULL;
}

static void unknown_dtype(struct job *job)
{
    job->buckets[1].dtype = 10;
}

static void null_tensor(struct job *job)
{
    job->means[2] = NULL;
}

static void no_size(struct job *job)
{
    job->work.size = 3;
}

static const struct bad bads[] = {
    { "no memory", "inputs[0]", no_memory },
    { "no row bytes", "outputs[0]", no_rows },
    { "stride below the row", "inputs[0]", short_stride },
    { "data and member_data", "outputs[0]", both_kinds },
    { "rows past 64 bits", "inputs[0]", too_large },
    { "unknown memory", "inputs[0]", unknown_memory },
    { "foreign member", "inputs[0]", foreign_member },
    { "a stream on the host", "inputs[0]", a_stream },
    { "negative count", "input_count", negative_count },
    { "missing list", "output_count", missing_list },
    { "unknown flag", "flags", unknown_flag },
    { "negative piece", "max_piece_items", negative_piece },
    { "negative deadline", "timeout_ns", negative_time },
    { "no function", "member 0", no_function },
    { "unknown dtype", "bucket 1", unknown_dtype },
    { "tensor without memory", "member 2", null_tensor },
    { "size of no struct", "size", no_size },
};

/* Whatever is wrong is seen before any function runs, and named. */
static void bad_work_is_refused_whole(void **state)
{
    size_t i;
    int w;

    (void)state;
    for (w = 0; w < WAY_COUNT; ++w) {
        struct scene scene;
        struct job job;
        hdp_plan *other = NULL;
        uint64_t step = 77;
        scene_open_way(&scene, &ways[w], shares, MEMBERS);
        for (i = 0; i < sizeof bads / sizeof *bads; ++i) {
            hdp_status status;
            if (bads[i].spoil == a_stream && on_real_gpu())
                continue; /* no stream at all */
            job_open(&job, ROWS, MEMBERS);
            bads[i].spoil(&job);
            status = hdp_run_async(&step, scene.group, scene.plan, &job.work);
            if (status != HDP_ERR_ARGUMENT ||
                !strstr(hdp_last_error(), bads[i].text))
                fail_msg("%s, %s: expected an argument error naming \"%s\", "
                         "got %s (%s)",
                         bads[i].name, ways[w].name, bads[i].text,
                         hdp_status_string(status), hdp_last_error());
            expect_number(0, (int64_t)step, "%s: step", bads[i].name);
            expect_number(0, atomic_load(&job.calls), "%s: calls",
                          bads[i].name);
        }
        job_open(&job, ROWS, MEMBERS);
        expect_ok(hdp_plan_create(&other, shares, 2));
        expect_status(HDP_ERR_ARGUMENT,
                      hdp_run(NULL, scene.group, other, &job.work));
        hdp_plan_destroy(other);
        expect_ok(hdp_run(NULL, scene.group, scene.plan, &job.work));
        expect_right(&job, "%s, after all refusals", ways[w].name);
        scene_close(&scene);
    }
}

/* A benched rank must be left out of the reduce, which nobody can yet: to take
 * it for an empty one would let it keep a replica that the plan calls stale. */
static void benched_ranks_are_refused(void **state)
{
    struct scene scene;
    struct job job;
    hdp_plan *benched = NULL;
    char text[4096], *word;
    uint64_t step;

    (void)state;
    scene_open_way(&scene, &ways[0], shares, MEMBERS);
    job_open(&job, ROWS, MEMBERS);
    expect_ok(hdp_plan_to_json(scene.plan, text, sizeof text, NULL));
    word = strstr(text, "\"empty\"");
    assert_non_null(word);
    memmove(word + 9, word + 7, strlen(word + 7) + 1);
    memcpy(word, "\"benched\"", 9);
    expect_ok(hdp_plan_from_json(&benched, text, strlen(text)));
    expect_status(HDP_ERR_UNSUPPORTED,
                  hdp_run_async(&step, scene.group, benched, &job.work));
    assert_non_null(strstr(hdp_last_error(), "rank 1"));
    expect_number(0, atomic_load(&job.calls), "functions called");
    expect_status(HDP_ERR_UNSUPPORTED,
                  hdp_all_reduce(scene.group, benched, job.buckets));
    expect_ok(hdp_run(NULL, scene.group, scene.plan, &job.work));
    hdp_plan_destroy(benched);
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_work_is_refused_whole),
        cmocka_unit_test(benched_ranks_are_refused),
    };

    return cmocka_run_group_tests_name("refused", tests, NULL, NULL);
}
