/* The rooms of the host adapter: the machine as found, the declared slowdown,
 * OpenBLAS or our own products, the team of threads, the probes. */
#ifndef HDPI_HOST_H
#define HDPI_HOST_H
#include <pthread.h>
#include "base/park.h"
#include "device/adapter.h"

/* ---- machine: what /proc and the control groups say ---------------------- */

struct hdpi_host_machine {
    int32_t has_avx2;     /* x86 with vectors of 256 bits and more */
    int32_t cores;        /* this process may use */
    int64_t memory_bytes; /* of the machine, or of the control group */
    int64_t free_bytes;   /* now */
    char model[128];      /* of the processor; printable ASCII */
    char identity[32];    /* "HOST-" and 16 hex digits; no host name in it */
};

/** Never fails: what cannot be read is 0 or "processor". */
void hdpi_host_machine_read(struct hdpi_host_machine *out);

/* ---- duty: a member declared slower than it is --------------------------- */

/* A segment of computing that took c is followed by c * (100 / percent - 1)
 * of waiting. Waiting inside a reduce is not computing and costs nothing. */
struct hdpi_host_duty {
    int32_t percent;  /* 1..100; 100: no clock is ever read */
    int32_t inside;   /* 1: between begin and end */
    int32_t charging; /* 1: computing since since_ns */
    int64_t since_ns;
};

void hdpi_host_duty_begin(struct hdpi_host_duty *duty);
void hdpi_host_duty_pause(struct hdpi_host_duty *duty);
void hdpi_host_duty_resume(struct hdpi_host_duty *duty);
void hdpi_host_duty_end(struct hdpi_host_duty *duty);

/* ---- blas: OpenBLAS when there is a serial one --------------------------- */

typedef void (*hdpi_sgemm_fn)(int order, int trans_a, int trans_b, int m, int n,
                              int k, float alpha, const float *a, int lda,
                              const float *b, int ldb, float beta, float *c,
                              int ldc);
typedef void (*hdpi_dgemm_fn)(int order, int trans_a, int trans_b, int m, int n,
                              int k, double alpha, const double *a, int lda,
                              const double *b, int ldb, double beta, double *c,
                              int ldc);

struct hdpi_host_blas {
    void *handle;        /* one reference of the loader's; NULL: own kernel */
    hdpi_sgemm_fn sgemm; /* NULL: own kernel */
    hdpi_dgemm_fn dgemm;
    struct hdpi_library about;
};

/** Opens the first serial OpenBLAS whose products agree with hdpk_gemm; none
 *  is no error, `about.note` says why. Release with _close (zeroed allowed). */
void hdpi_host_blas_open(struct hdpi_host_blas *out);
void hdpi_host_blas_close(struct hdpi_host_blas *blas);

/** c[m x n] = a[m x k] b[k x n], contiguous rows, on this thread. */
void hdpi_host_gemm_f32(const struct hdpi_host_blas *blas, int32_t m, int32_t n,
                        int32_t k, const float *a, const float *b, float *c);
void hdpi_host_gemm_f64(const struct hdpi_host_blas *blas, int32_t m, int32_t n,
                        int32_t k, const double *a, const double *b, double *c);

/* ---- team: the other threads of a member --------------------------------- */

typedef void (*hdpi_host_part_fn)(void *arg, int32_t index, int32_t count);

struct hdpi_host_team {
    int32_t count; /* threads at work, the caller's included; 0: not made */
    int32_t made;
    pthread_t *threads; /* made */
    struct hdpi_patience patience;
    struct hdpi_park start, finish;
    hdpi_host_part_fn fn;
    void *arg;
    _Atomic uint32_t round; /* a new number is a new job */
    _Atomic int32_t left;   /* workers not yet through it */
    _Atomic int32_t quit;
};

/**
 * Makes count - 1 threads that block all signals and wait. One thread or fewer
 * makes none. Does nothing when the team is there.
 * @return HDP_ERR_SYSTEM with errno as vendor code, HDP_ERR_MEMORY; the team
 *         is then as before.
 */
hdp_status hdpi_host_team_make(struct hdpi_host_team *team, int32_t count);
/** Joins the threads; a zeroed team is allowed. */
void hdpi_host_team_end(struct hdpi_host_team *team);
/** Runs fn(arg, 0..count-1, count), index 0 on this thread; returns when all
 *  are through. */
void hdpi_host_team_run(struct hdpi_host_team *team, hdpi_host_part_fn fn,
                        void *arg);

/* ---- probe, and the whole ------------------------------------------------ */

/* The workload that is open, and its buffers. */
struct hdpi_host_probe {
    int32_t kind, dtype; /* dtype 0: none is open */
    int32_t width;
    int32_t block_rows; /* a thread's rows in one product */
    void *a, *c;        /* a block of rows a thread; 16-bit types: as stored */
    void *b;            /* width x width, in the type of computing */
    float *wide;        /* 16-bit types: a and c of each thread in f32 */
    char *source, *target; /* copies */
};

struct hdpi_host {
    struct hdpi_device base;
    struct hdpi_host_duty duty;
    struct hdpi_host_blas blas;
    struct hdpi_host_team team;
    struct hdpi_host_probe probe;
};

struct hdpi_host *hdpi_host_from(struct hdpi_device *device);

hdp_status hdpi_host_probe_open(struct hdpi_device *device,
                                struct hdpi_probe *probe);
hdp_status hdpi_host_probe(struct hdpi_device *device,
                           const struct hdpi_probe *probe);
void hdpi_host_probe_close(struct hdpi_device *device);
#endif
