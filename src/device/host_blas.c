/* OpenBLAS, opened at run time: the serial flavour, because a member brings
 * its own threads and two callers of a threaded one starve each other. What
 * was found is believed only after its products agreed with our own kernel. */
#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/symbols.h"
#include "device/host.h"
#include "kernels.h"

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111 };

/* Folders of the serial flavour first, by distribution; then whatever the
 * loader finds under the name, if that is serial too. */
static const char *const candidates[] = {
    "/usr/lib/x86_64-linux-gnu/openblas-serial/libopenblas.so.0",
    "/usr/lib/aarch64-linux-gnu/openblas-serial/libopenblas.so.0",
    "/usr/lib/powerpc64le-linux-gnu/openblas-serial/libopenblas.so.0",
    "/usr/lib64/openblas-serial/libopenblas.so.0",
    "libopenblas.so.0",
};
enum { CANDIDATES = sizeof candidates / sizeof *candidates };

/* What a copy says of itself, and its products; NULL: it has no such function. */
struct functions {
    int (*parallel)(void);
    char *(*core)(void);
    char *(*config)(void);
    hdpi_sgemm_fn sgemm;
    hdpi_dgemm_fn dgemm;
};

#define AT(field) offsetof(struct functions, field)
static const struct hdpi_symbol symbols[] = {
    { "openblas_get_parallel", AT(parallel), 0 },
    { "openblas_get_corename", AT(core), 0 },
    { "openblas_get_config", AT(config), 0 },
    { "cblas_sgemm", AT(sgemm), 0 },
    { "cblas_dgemm", AT(dgemm), 0 },
};
#undef AT

/* ---- the self-check ------------------------------------------------------ */

/* Ragged sizes: below, at and beyond what kernels unroll by. */
static const int32_t sizes[][3] = {
    { 1, 1, 1 }, { 3, 5, 7 }, { 16, 16, 16 }, { 9, 33, 13 }, { 17, 19, 21 }
};
enum { SIZES = sizeof sizes / sizeof *sizes, CELLS_MAX = 13 * 33 };

union cells {
    struct {
        float a[CELLS_MAX], b[CELLS_MAX], got[CELLS_MAX], want[CELLS_MAX];
    } f32;
    struct {
        double a[CELLS_MAX], b[CELLS_MAX], got[CELLS_MAX], want[CELLS_MAX];
    } f64;
};

/* Two sums of k products of magnitude at most 1, in any order, differ by at
 * most 2 k^2 units of half an ulp. */
static int agrees_f32(union cells *cells, hdpi_sgemm_fn gemm, int32_t m,
                      int32_t n, int32_t k)
{
    float *a = cells->f32.a, *b = cells->f32.b;
    float *got = cells->f32.got, *want = cells->f32.want;
    float bound = FLT_EPSILON * (float)k * (float)k;

    for (int32_t i = 0; i < m * k; ++i)
        a[i] = (float)(i * 37 % 101 - 50) / 51.0f;
    for (int32_t i = 0; i < k * n; ++i)
        b[i] = (float)(i * 53 % 97 - 48) / 49.0f;
    memset(got, 0x7f, CELLS_MAX * sizeof *got);
    gemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, m, n, k, 1, a, k, b, n, 0, got,
         n);
    hdpk_gemm_f32(m, n, k, a, k, b, n, want, n);
    for (int32_t i = 0; i < m * n; ++i)
        if (!(fabsf(got[i] - want[i]) <= bound))
            return 0;
    return 1;
}

static int agrees_f64(union cells *cells, hdpi_dgemm_fn gemm, int32_t m,
                      int32_t n, int32_t k)
{
    double *a = cells->f64.a, *b = cells->f64.b;
    double *got = cells->f64.got, *want = cells->f64.want;
    double bound = DBL_EPSILON * (double)k * (double)k;

    for (int32_t i = 0; i < m * k; ++i)
        a[i] = (i * 37 % 101 - 50) / 51.0;
    for (int32_t i = 0; i < k * n; ++i)
        b[i] = (i * 53 % 97 - 48) / 49.0;
    memset(got, 0x7f, CELLS_MAX * sizeof *got);
    gemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, m, n, k, 1, a, k, b, n, 0, got,
         n);
    hdpk_gemm_f64(m, n, k, a, k, b, n, want, n);
    for (int32_t i = 0; i < m * n; ++i)
        if (!(fabs(got[i] - want[i]) <= bound))
            return 0;
    return 1;
}

/* What is wrong with its products; NULL: nothing. */
static const char *check(const struct hdpi_host_blas *blas)
{
    hdp_error before = *hdpi_error();
    union cells *cells = hdpi_alloc(1, sizeof *cells, "a check of products");
    int good = cells != NULL;

    for (size_t i = 0; good && i < SIZES; ++i) {
        const int32_t *s = sizes[i];
        good = agrees_f32(cells, blas->sgemm, s[0], s[1], s[2]) &&
               agrees_f64(cells, blas->dgemm, s[0], s[1], s[2]);
    }
    if (!cells) {
        *hdpi_error() = before; /* one library less is no failure */
        return "no memory to check its products";
    }
    free(cells);
    return good ? NULL : "its products differ from ours";
}

/* ---- the generation ------------------------------------------------------ */

/* On a processor younger than itself OpenBLAS may fall back to kernels of 2004,
 * and ours are then more than twice as fast. Judged by name and not by a race,
 * so that no two members of a machine come to different ends. */
static int is_outdated(const char *core)
{
    static const char *const before_avx[] = {
        "Prescott", "Core2",        "Penryn",    "Nehalem", "Atom",
        "Opteron",  "Opteron_SSE3", "Barcelona", "Bobcat",  "Generic"
    };
    struct hdpi_host_machine machine;
    size_t i = 0;

    while (i < sizeof before_avx / sizeof *before_avx &&
           strcmp(core, before_avx[i]) != 0)
        ++i;
    if (i == sizeof before_avx / sizeof *before_avx)
        return 0;
    hdpi_host_machine_read(&machine);
    return machine.has_avx2;
}

/* ---- opening ------------------------------------------------------------- */

static const char *core_of(const struct functions *found)
{
    return found->core ? found->core() : "processor it does not name";
}

static void describe(struct hdpi_host_blas *blas, const struct functions *found)
{
    hdpi_symbol_file(blas->about.path, sizeof blas->about.path, &blas->sgemm,
                     "");
    snprintf(blas->about.note, sizeof blas->about.note,
             "serial, kernels for %s, %s", core_of(found),
             found->config ? found->config() : "version unknown");
}

/* Loading takes some 5 ms, so a serial one stays mapped for the next member;
 * a threaded one would leave its threads behind. */
static void keep_mapped(const char *name)
{
    void *again = dlopen(name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);

    if (again)
        dlclose(again);
}

static int is_serial(const struct functions *found, const char *name)
{
    if (!found->parallel || found->parallel() != 0)
        return 0;
    keep_mapped(name);
    return 1;
}

static void refuse(struct hdpi_host_blas *blas, const char *name,
                   const char *why)
{
    hdpi_host_blas_close(blas);
    *blas = (struct hdpi_host_blas){ .about.name = "openblas" };
    snprintf(blas->about.note, sizeof blas->about.note,
             "own kernel used: %s%s%s", name, *name ? ": " : "", why);
}

/* 1 when this one is taken; otherwise about.note says what is wrong. */
static int try_candidate(struct hdpi_host_blas *blas, const char *name)
{
    struct functions found = { 0 };
    const char *wrong;
    char why[96];

    blas->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!blas->handle) {
        const char *text = dlerror(); /* names the file itself */
        refuse(blas, "", text ? text : "cannot be loaded");
        return 0;
    }
    (void)hdpi_symbols_find(&found, blas->handle, symbols,
                            sizeof symbols / sizeof *symbols);
    blas->sgemm = found.sgemm;
    blas->dgemm = found.dgemm;
    if (!is_serial(&found, name)) {
        refuse(blas, name, "a threaded flavour; install the serial one");
    } else if (!blas->sgemm || !blas->dgemm) {
        refuse(blas, name, "lacks a function that is needed");
    } else if ((wrong = check(blas)) != NULL) {
        refuse(blas, name, wrong);
    } else if (is_outdated(core_of(&found))) {
        snprintf(why, sizeof why, "took this processor for a %s",
                 core_of(&found));
        refuse(blas, name, why);
    } else {
        describe(blas, &found);
        return 1;
    }
    return 0;
}

void hdpi_host_blas_open(struct hdpi_host_blas *out)
{
    *out = (struct hdpi_host_blas){ .about.name = "openblas" };
    for (size_t i = 0; i < CANDIDATES; ++i) {
        /* The last note stays unless an earlier one told more than "no such
         * file": a library that is there and wrong. */
        struct hdpi_host_blas next = { .about.name = "openblas" };
        if (try_candidate(&next, candidates[i])) {
            *out = next;
            return;
        }
        if (!strstr(next.about.note, "No such file") || i == CANDIDATES - 1)
            *out = next;
    }
}

void hdpi_host_blas_close(struct hdpi_host_blas *blas)
{
    if (blas->handle)
        dlclose(blas->handle);
    blas->handle = NULL;
    blas->sgemm = NULL;
    blas->dgemm = NULL;
}

void hdpi_host_blas_describe(struct hdpi_library *out)
{
    struct hdpi_host_blas blas;

    hdpi_host_blas_open(&blas);
    *out = blas.about;
    hdpi_host_blas_close(&blas);
}

/* ---- products ------------------------------------------------------------ */

void hdpi_host_gemm_f32(const struct hdpi_host_blas *blas, int32_t m, int32_t n,
                        int32_t k, const float *a, const float *b, float *c)
{
    if (blas->sgemm)
        blas->sgemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, m, n, k, 1, a, k, b,
                    n, 0, c, n);
    else
        hdpk_gemm_f32(m, n, k, a, k, b, n, c, n);
}

void hdpi_host_gemm_f64(const struct hdpi_host_blas *blas, int32_t m, int32_t n,
                        int32_t k, const double *a, const double *b, double *c)
{
    if (blas->dgemm)
        blas->dgemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, m, n, k, 1, a, k, b,
                    n, 0, c, n);
    else
        hdpk_gemm_f64(m, n, k, a, k, b, n, c, n);
}
