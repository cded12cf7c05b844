/* What launchers' variables make of a world. Values are what torchrun 2.11, Open
 * MPI 4.1, srun and Hydra set for the processes named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <hdp/hdp.h>

enum { SET_MAX = 6 };

struct variable {
    const char *name, *value;
};

struct line {
    const char *what;
    struct variable set[SET_MAX];
    int32_t index, count, local_index, local_count;
    const char *wrong; /* a part of the error; NULL: none */
};

static const struct line lines[] = {
    { "no launcher", { { NULL, NULL } }, 0, 1, 0, 1, NULL },
    { "torchrun, the last of 2 x 4",
      { { "RANK", "7" },
        { "WORLD_SIZE", "8" },
        { "LOCAL_RANK", "3" },
        { "LOCAL_WORLD_SIZE", "4" } },
      7,
      8,
      3,
      4,
      NULL },
    { "a rank without a size is no launcher's",
      { { "RANK", "7" } },
      0,
      1,
      0,
      1,
      NULL },
    { "nor is an empty one",
      { { "RANK", "" }, { "WORLD_SIZE", "8" } },
      0,
      1,
      0,
      1,
      NULL },
    { "mpirun, the second of three",
      { { "OMPI_COMM_WORLD_RANK", "1" },
        { "OMPI_COMM_WORLD_SIZE", "3" },
        { "OMPI_COMM_WORLD_LOCAL_RANK", "0" },
        { "OMPI_COMM_WORLD_LOCAL_SIZE", "1" } },
      1,
      3,
      0,
      1,
      NULL },
    { "srun, the third of four on one host; it gives no local count",
      { { "SLURM_PROCID", "2" },
        { "SLURM_NTASKS", "4" },
        { "SLURM_LOCALID", "2" },
        { "SLURM_JOB_ID", "17" },
        { "SLURM_STEP_ID", "0" } },
      2,
      4,
      2,
      0,
      NULL },
    { "sbatch: the script is alone, whatever its job may start",
      { { "SLURM_PROCID", "0" },
        { "SLURM_NTASKS", "4" },
        { "SLURM_LOCALID", "0" },
        { "SLURM_JOB_ID", "17" } },
      0,
      1,
      0,
      1,
      NULL },
    { "torchrun inside a Slurm job goes before Slurm",
      { { "SLURM_PROCID", "0" },
        { "SLURM_NTASKS", "2" },
        { "RANK", "5" },
        { "WORLD_SIZE", "16" },
        { "LOCAL_RANK", "5" } },
      5,
      16,
      5,
      0,
      NULL },
    { "Hydra",
      { { "PMI_RANK", "1" },
        { "PMI_SIZE", "2" },
        { "MPI_LOCALRANKID", "1" },
        { "MPI_LOCALNRANKS", "2" } },
      1,
      2,
      1,
      2,
      NULL },
    { "a rank beyond the size",
      { { "RANK", "8" }, { "WORLD_SIZE", "8" } },
      0,
      0,
      0,
      0,
      "RANK is 8, but WORLD_SIZE is 8" },
    { "no processes at all",
      { { "PMI_RANK", "0" }, { "PMI_SIZE", "0" } },
      0,
      0,
      0,
      0,
      "PMI_RANK is 0, but PMI_SIZE is 0" },
    { "a local rank beyond its count",
      { { "RANK", "0" },
        { "WORLD_SIZE", "8" },
        { "LOCAL_RANK", "4" },
        { "LOCAL_WORLD_SIZE", "4" } },
      0,
      0,
      0,
      0,
      "LOCAL_RANK is 4, but LOCAL_WORLD_SIZE is 4" },
    { "more here than everywhere",
      { { "RANK", "0" },
        { "WORLD_SIZE", "2" },
        { "LOCAL_RANK", "0" },
        { "LOCAL_WORLD_SIZE", "4" } },
      0,
      0,
      0,
      0,
      "LOCAL_WORLD_SIZE is 4, but WORLD_SIZE is 2" },
    { "no number",
      { { "RANK", "1x" }, { "WORLD_SIZE", "2" } },
      0,
      0,
      0,
      0,
      "RANK is '1x', not a number" },
    { "a negative one",
      { { "RANK", "-1" }, { "WORLD_SIZE", "2" } },
      0,
      0,
      0,
      0,
      "RANK is '-1', not a number" },
    { "one too large",
      { { "RANK", "0" }, { "WORLD_SIZE", "2147483648" } },
      0,
      0,
      0,
      0,
      "WORLD_SIZE is '2147483648', not a number" },
};

static void detect(const struct line *line)
{
    hdp_world world = { .size = sizeof world, .run_id = "mine" };
    hdp_status status;

    for (int i = 0; i < SET_MAX && line->set[i].name; ++i)
        (void)setenv(line->set[i].name, line->set[i].value, 1);
    status = hdp_world_detect(&world);
    for (int i = 0; i < SET_MAX && line->set[i].name; ++i)
        (void)unsetenv(line->set[i].name);
    if (line->wrong) {
        if (status != HDP_ERR_ARGUMENT ||
            !strstr(hdp_last_error(), line->wrong))
            fail_msg("%s: expected '%s', got %s (%s)", line->what, line->wrong,
                     hdp_status_string(status), hdp_last_error());
        assert_int_equal(world.process_count, 0); /* nothing was written */
        return;
    }
    if (status != HDP_OK || world.process_index != line->index ||
        world.process_count != line->count ||
        world.local_index != line->local_index ||
        world.local_count != line->local_count)
        fail_msg("%s: expected %d of %d, here %d of %d; got %d of %d, here %d "
                 "of %d (%s)",
                 line->what, (int)line->index, (int)line->count,
                 (int)line->local_index, (int)line->local_count,
                 (int)world.process_index, (int)world.process_count,
                 (int)world.local_index, (int)world.local_count,
                 hdp_status_string(status));
    assert_string_equal(world.run_id, "mine");
}

static void worlds_of_launchers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i)
        detect(&lines[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(worlds_of_launchers) };

    /* this test may itself run under a launcher */
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i)
        for (int k = 0; k < SET_MAX && lines[i].set[k].name; ++k)
            (void)unsetenv(lines[i].set[k].name);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
