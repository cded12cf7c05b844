/* The words that describe a machine and its faults: key=value, separated by
 * spaces, each read by the row of one table. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/units.h"
#include "fake_kernels.h"
#include "state.h"

struct reading {
    struct fake_config *config;
    const char *value; /* NUL-terminated, of the word */
    char *more; /* FAKE_TEXT_MAX bytes: why not, if there is more to say */
};

/* ---- parts of a value ---------------------------------------------------- */

static int read_int(const char **at, int64_t *out)
{
    struct hdpi_text text = { *at, strlen(*at), 0 };

    if (!hdpi_text_int(&text, out))
        return 0;
    *at += text.at;
    return 1;
}

static int read_mark(const char **at, char mark)
{
    if (**at != mark)
        return 0;
    ++*at;
    return 1;
}

static int read_index(const char **at, int *out)
{
    int64_t number;

    if (!read_int(at, &number) || number >= FAKE_DEVICES_MAX)
        return 0;
    *out = (int)number;
    return 1;
}

static int read_time(const char *at, int64_t *out)
{
    struct hdpi_text text = { at, strlen(at), 0 };
    double ns;

    if (!hdpi_read_duration(&ns, &text))
        return 0;
    *out = (int64_t)ns;
    return 1;
}

/* ---- rows ---------------------------------------------------------------- */

static int read_machine(struct reading *self)
{
    return self->value[0] &&
           hdpi_text_copy(self->config->machine, sizeof self->config->machine,
                          self->value);
}

static int read_copies(struct reading *self)
{
    const char *at = self->value;

    return read_index(&at, &self->config->copies) && *at == '\0' &&
           self->config->copies > 0;
}

static int read_choice(const char *value, const char *no, const char *yes,
                       int *out)
{
    *out = strcmp(value, yes) == 0;
    return *out || strcmp(value, no) == 0;
}

static int read_clock(struct reading *self)
{
    return read_choice(self->value, "virtual", "real",
                       &self->config->real_clock);
}

static int read_run(struct reading *self)
{
    return read_choice(self->value, "inline", "threads",
                       &self->config->threads);
}

static int read_driver(struct reading *self)
{
    const char *at = self->value;
    int64_t version;

    if (!read_int(&at, &version) || *at != '\0' || version > 99999)
        return 0;
    self->config->driver = (int)version;
    return 1;
}

static int read_nodriver(struct reading *self)
{
    self->config->driver = 0;
    return self->value[0] == '\0';
}

static int read_seed(struct reading *self)
{
    const char *at = self->value;
    int64_t seed;

    if (!read_int(&at, &seed) || *at != '\0')
        return 0;
    self->config->seed = (uint64_t)seed;
    return 1;
}

static int read_first(struct reading *self)
{
    return read_time(self->value, &self->config->first_product_ns);
}

static int read_busy(struct reading *self)
{
    const char *at = self->value;
    int index;

    if (!read_index(&at, &index) || *at != '\0')
        return 0;
    self->config->busy |= UINT64_C(1) << index;
    return 1;
}

static int read_mode(struct reading *self)
{
    static const char *const names[] = { "default", "exclusive", "prohibited" };
    const char *at = self->value;
    int index;

    if (!read_index(&at, &index) || !read_mark(&at, ':'))
        return 0;
    for (int i = 0; i < 3; i++)
        if (strcmp(at, names[i]) == 0) {
            self->config->modes[index] = (enum fake_mode)i;
            return 1;
        }
    return 0;
}

/* Sevenths, each 1, 2, 3, 4 or 7, seven at most. */
static int read_mig(struct reading *self)
{
    const char *at = self->value;
    struct fake_mig *mig;
    int index, sum = 0;

    if (!read_index(&at, &index) || !read_mark(&at, ':'))
        return 0;
    mig = &self->config->migs[index];
    memset(mig, 0, sizeof *mig);
    mig->on = 1;
    if (strcmp(at, "none") == 0)
        return 1;
    do {
        int64_t sevenths;
        if (!read_int(&at, &sevenths) || sevenths < 1 || sevenths > 7 ||
            sevenths == 5 || sevenths == 6 || (sum += (int)sevenths) > 7)
            return 0;
        mig->sevenths[mig->count++] = (int)sevenths;
    } while (read_mark(&at, '+'));
    return *at == '\0';
}

static int read_tenant(struct reading *self)
{
    const char *at = self->value;
    int index;

    if (!read_index(&at, &index) || !read_mark(&at, ':'))
        return 0;
    struct hdpi_text text = { at, strlen(at), 0 };
    return hdpi_read_size(&self->config->tenant_bytes[index], &text);
}

static int read_sick(struct reading *self)
{
    const char *at = self->value;
    int64_t code;
    int index;

    if (!read_index(&at, &index) || !read_mark(&at, ':') ||
        !read_int(&at, &code) || *at != '\0' || code > 99999)
        return 0;
    self->config->sick[index] = (int)code;
    return 1;
}

static int read_peer(struct reading *self)
{
    static const char *const kinds[] = { "refuse:", "lie:", "hang:" };
    struct fake_config *config = self->config;
    struct fake_peer_row row = { 0 };
    const char *at = self->value;

    for (int i = 0; i < 3; i++) {
        if (strncmp(at, kinds[i], strlen(kinds[i])) != 0)
            continue;
        at += strlen(kinds[i]);
        row.kind = (enum fake_peering)i;
        if (config->peer_count == FAKE_PEERS_MAX ||
            !read_index(&at, &row.one) || !read_mark(&at, '-') ||
            !read_index(&at, &row.other) || *at != '\0')
            return 0;
        config->peers[config->peer_count++] = row;
        return 1;
    }
    return 0;
}

static int read_keys(struct reading *self)
{
    struct fake_config *config = self->config;
    struct fake_keys_row row;
    const char *at = self->value;

    if (config->keys_count == FAKE_KEYS_MAX || !read_index(&at, &row.device) ||
        !read_mark(&at, ':') || !hdpi_text_copy(row.keys, sizeof row.keys, at))
        return 0;
    config->keys[config->keys_count++] = row;
    return 1;
}

/* ---- NCCL ---------------------------------------------------------------- */

/* "2.28.3" is 22803. */
static int read_nccl(struct reading *self)
{
    const char *at = self->value;
    int64_t parts[3] = { 0 };

    for (int i = 0; i < 3; i++)
        if ((i > 0 && !read_mark(&at, '.')) || !read_int(&at, &parts[i]) ||
            parts[i] > 99)
            return 0;
    self->config->nccl_version =
        (int)(parts[0] * 10000 + parts[1] * 100 + parts[2]);
    return *at == '\0' && parts[0] == 2 && parts[1] > 8;
}

static int read_nonccl(struct reading *self)
{
    self->config->no_nccl = 1;
    return self->value[0] == '\0';
}

static int read_full(struct reading *self)
{
    self->config->shm_full = 1;
    return self->value[0] == '\0';
}

/* ---- faults of calls ------------------------------------------------------ */

/* A misspelt name would plant nothing. Some have a version behind them. */
static int is_function(const char *name)
{
    static const char *const versions[] = { "", "_v2", "_v3" };
    char symbol[FAKE_NAME_MAX + 4];
    int found = 0;
    Dl_info self;
    void *library;

    if (!dladdr(&fake, &self) ||
        !(library = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD)))
        return 1;
    for (int i = 0; i < 3; i++) {
        snprintf(symbol, sizeof symbol, "%s%s", name, versions[i]);
        found |= dlsym(library, symbol) != NULL;
    }
    dlclose(library);
    return found;
}

/* "cudaMalloc:3" and what follows. */
static int read_call(struct fake_plant_row *row, const char **at)
{
    size_t length = strcspn(*at, ":");

    if (length == 0 || length >= sizeof row->name)
        return 0;
    memcpy(row->name, *at, length);
    *at += length;
    return (row->kind == FAKE_HANG || is_function(row->name)) &&
           read_mark(at, ':') && read_int(at, &row->nth) && row->nth > 0;
}

static int read_code(struct fake_plant_row *row, const char **at)
{
    int64_t code;

    if (!read_mark(at, ':') || !read_int(at, &code) || code > 99999)
        return 0;
    row->code = (int)code;
    return 1;
}

static int plant(struct reading *self, const struct fake_plant_row *row,
                 const char *at)
{
    struct fake_config *config = self->config;

    if (*at != '\0')
        return 0;
    for (int i = 0; i < config->plant_count; i++)
        if (config->plants[i].spent) {
            config->plants[i] = *row;
            return 1;
        }
    if (config->plant_count == FAKE_PLANTS_MAX)
        return 0;
    config->plants[config->plant_count++] = *row;
    return 1;
}

static int read_fail(struct reading *self)
{
    struct fake_plant_row row = { .kind = FAKE_FAIL, .code = -1 };
    const char *at = self->value;

    if (!read_call(&row, &at))
        return 0;
    row.lasting = read_mark(&at, '-');
    if (*at != '\0' && !read_code(&row, &at))
        return 0;
    return plant(self, &row, at);
}

static int read_sticky(struct reading *self)
{
    struct fake_plant_row row = { .kind = FAKE_STICKY };
    const char *at = self->value;

    return read_call(&row, &at) && read_code(&row, &at) &&
           plant(self, &row, at);
}

static int read_late(struct reading *self)
{
    struct fake_plant_row row = { .kind = FAKE_LATE };
    const char *at = self->value;

    if (!read_call(&row, &at))
        return 0;
    row.lasting = read_mark(&at, '-');
    return read_mark(&at, ':') && read_time(at, &row.late_ns) &&
           plant(self, &row, "");
}

/* Products of every function of cuBLAS have one name. */
static void say_kernels(char *out)
{
    size_t used = (size_t)snprintf(out, FAKE_TEXT_MAX,
                                   " (no such kernel; there are cublasGemmEx");
    const struct fake_kernel *kernel;

    for (int i = 0; (kernel = fake_kernel_at(i)) && used < FAKE_TEXT_MAX; i++)
        used += (size_t)snprintf(out + used, FAKE_TEXT_MAX - used, " %s",
                                 kernel->name);
    if (used < FAKE_TEXT_MAX)
        snprintf(out + used, FAKE_TEXT_MAX - used, ")");
}

/* A rank's part of its next operation; ranks count from 0, calls from 1. */
static int read_rank(struct reading *self, const char *at, int code)
{
    struct fake_plant_row row = { .kind = FAKE_HANG, .name = "nccl" };
    int64_t rank;

    if (!read_int(&at, &rank) || rank < 0 ||
        (code >= 0 && !read_code(&row, &at)))
        return 0;
    row.nth = rank + 1;
    return plant(self, &row, at);
}

static int read_ncclerror(struct reading *self)
{
    return read_rank(self, self->value, 0);
}

static int read_hang(struct reading *self)
{
    struct fake_plant_row row = { .kind = FAKE_HANG };
    const char *at = self->value;

    if (strncmp(at, "nccl:", 5) == 0)
        return read_rank(self, at + 5, -1);
    if (!read_call(&row, &at) || !plant(self, &row, at))
        return 0;
    if (strcmp(row.name, "cublasGemmEx") == 0 || fake_kernel_find(row.name) ||
        (strncmp(row.name, "nccl", 4) == 0 && is_function(row.name)))
        return 1;
    say_kernels(self->more);
    return 0;
}

/* ---- the table ----------------------------------------------------------- */

static const struct {
    const char *key;
    int first; /* 1: only before the process has started */
    int (*read)(struct reading *self);
} rows[] = {
    { "machine", 1, read_machine },     { "copies", 1, read_copies },
    { "clock", 1, read_clock },         { "run", 1, read_run },
    { "driver", 1, read_driver },       { "nodriver", 1, read_nodriver },
    { "seed", 1, read_seed },           { "keys", 1, read_keys },
    { "mode", 1, read_mode },           { "mig", 1, read_mig },
    { "busy", 0, read_busy },           { "tenant", 0, read_tenant },
    { "peer", 0, read_peer },           { "fail", 0, read_fail },
    { "sticky", 0, read_sticky },       { "late", 0, read_late },
    { "sick", 0, read_sick },           { "hang", 0, read_hang },
    { "firstproduct", 0, read_first },  { "nccl", 1, read_nccl },
    { "nonccl", 1, read_nonccl },       { "shmfull", 0, read_full },
    { "ncclerror", 0, read_ncclerror },
};

static int read_word(struct fake_config *config, char *word, int started,
                     char more[FAKE_TEXT_MAX])
{
    char *value = strchr(word, '=');
    struct reading self = { config, "", more };

    if (value) {
        *value = '\0';
        self.value = value + 1;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(word, rows[i].key) == 0) {
            int fine = !(started && rows[i].first) && rows[i].read(&self);
            if (value)
                *value = '=';
            return fine;
        }
    if (value)
        *value = '=';
    return 0;
}

int fake_words_read(struct fake_config *config, const char *words, int started,
                    char why[FAKE_TEXT_MAX])
{
    char copy[FAKE_TEXT_MAX], more[FAKE_TEXT_MAX] = "", *rest = copy, *word;

    if (!hdpi_text_copy(copy, sizeof copy, words)) {
        snprintf(why, FAKE_TEXT_MAX, "more than %d bytes of words",
                 FAKE_TEXT_MAX - 1);
        return -1;
    }
    while ((word = strtok_r(rest, " \t\n", &rest)))
        if (!read_word(config, word, started, more)) {
            snprintf(why, FAKE_TEXT_MAX, "not understood: %.200s%.800s", word,
                     more);
            return -1;
        }
    return 0;
}
