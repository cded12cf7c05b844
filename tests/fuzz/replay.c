/* A driver without libFuzzer, for every compiler and as an ordinary test: runs
 * the target on each file, then on random changes of them for a while.
 *
 *   fuzz_NAME [--seconds S] [--seed N] FILE-OR-FOLDER...
 *
 * The input that ends the process stays behind in fuzz_NAME.crash. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "fuzz/fuzz.h"
#include "fuzz/mutate.h"

enum { FILES_MAX = 4096, INPUT_MAX = 1 << 16, LONGEST_RUN_S = 20 };

struct input {
    uint8_t *data;
    size_t size;
};

static struct input files[FILES_MAX];
static size_t file_count;
static char crash_path[256];

/* what runs now, for the handlers */
static const uint8_t *volatile running;
static volatile size_t running_size;

/* ---- the end of a bad run ------------------------------------------------- */

static void say(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written;
}

static void keep_input(void)
{
    static volatile sig_atomic_t kept;

    if (kept || !running)
        return;
    kept = 1;
    int file = open(crash_path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0)
        return;
    ssize_t written = write(file, running, running_size);
    (void)written;
    close(file);
    say("the input is in ");
    say(crash_path);
    say("\n");
}

static void on_signal(int number)
{
    if (number == SIGALRM)
        say("this input takes too long\n");
    keep_input();
    signal(number, SIG_DFL);
    raise(number == SIGALRM ? SIGABRT : number);
}

/* There when a sanitizer is: it ends the process without a signal. */
void __sanitizer_set_death_callback(void (*callback)(void))
    __attribute__((weak));

static void watch(const char *program)
{
    static const int numbers[] = { SIGABRT, SIGALRM, SIGBUS,
                                   SIGFPE,  SIGILL,  SIGSEGV };
    const char *slash = strrchr(program, '/');

    snprintf(crash_path, sizeof crash_path, "%.200s.crash",
             slash ? slash + 1 : program);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        signal(numbers[i], on_signal);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(keep_input);
}

static void run(const uint8_t *data, size_t size)
{
    running_size = size;
    running = data;
    alarm(LONGEST_RUN_S);
    LLVMFuzzerTestOneInput(data, size);
    running = NULL;
}

/* ---- files --------------------------------------------------------------- */

_Noreturn static void give_up(const char *path, const char *what)
{
    fprintf(stderr, "%s: %s\n", path, what);
    exit(2);
}

static void read_file(const char *path)
{
    static uint8_t buffer[INPUT_MAX];
    FILE *file = fopen(path, "rb");

    if (!file)
        give_up(path, strerror(errno));
    if (file_count == FILES_MAX)
        give_up(path, "too many files");
    struct input *input = &files[file_count++];
    input->size = fread(buffer, 1, sizeof buffer, file);
    if (ferror(file) || fgetc(file) != EOF)
        give_up(path, "cannot be read, or is longer than 64 KiB");
    fclose(file);
    input->data = malloc(input->size + 1);
    if (!input->data)
        give_up(path, "no memory");
    memcpy(input->data, buffer, input->size);
}

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* In order of their names, so that a seed means the same everywhere. */
static void read_path(const char *path)
{
    struct stat info;
    struct dirent **entries;
    char name[4096];

    if (stat(path, &info) != 0)
        give_up(path, strerror(errno));
    if (!S_ISDIR(info.st_mode)) {
        read_file(path);
        return;
    }
    int count = scandir(path, &entries, not_hidden, alphasort);
    if (count < 0)
        give_up(path, strerror(errno));
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
        read_file(name);
        free(entries[i]);
    }
    free(entries);
}

/* ---- random changes ------------------------------------------------------- */

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* A file, at times with the end of another one; then changed. */
static size_t draw_input(uint8_t *out, uint64_t *random)
{
    const struct input *input = &files[fuzz_random(random) % file_count];
    size_t size = input->size;

    memcpy(out, input->data, size);
    if (fuzz_random(random) % 8 == 0 && size > 0) {
        const struct input *other = &files[fuzz_random(random) % file_count];
        size_t keep = fuzz_random(random) % size;
        size_t from = fuzz_random(random) % (other->size + 1);
        size_t more = other->size - from;
        if (more > INPUT_MAX - keep)
            more = INPUT_MAX - keep;
        memcpy(out + keep, other->data + from, more);
        size = keep + more;
    }
    return fuzz_mutate(out, size, INPUT_MAX, random);
}

static void run_changes(double seconds, uint64_t seed)
{
    static uint8_t input[INPUT_MAX];
    double begin = now();
    uint64_t random = seed, runs = 0;

    while (now() - begin < seconds) {
        run(input, draw_input(input, &random));
        runs++;
    }
    printf("%zu files, %llu changes of them, seed %llu\n", file_count,
           (unsigned long long)runs, (unsigned long long)seed);
}

int main(int argc, char **argv)
{
    double seconds = 0;
    uint64_t seed = 1;

    watch(argv[0]);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            seconds = strtod(argv[++i], NULL);
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 10);
        else
            read_path(argv[i]);
    }
    if (file_count == 0)
        give_up(argv[0], "no files; say fuzz_NAME [--seconds S] FOLDER");
    for (size_t i = 0; i < file_count; i++)
        run(files[i].data, files[i].size);
    run_changes(seconds, seed);
    for (size_t i = 0; i < file_count; i++)
        free(files[i].data);
    return 0;
}
