/* The kernels by name, and hdp's own among them: their meaning is that of
 * kernels/x.c, and here stands which memory each one goes to. */
#include <pthread.h>
#include <string.h>
#include "fake_kernels.h"
#include "inner.h"
#include "../../kernels/kernels.h"
#include "../../kernels/launch.h"

enum { KERNELS_MAX = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fake_kernel kernels[KERNELS_MAX];
static int kernel_count;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

/* ---- spans ---------------------------------------------------------------- */

static struct fake_span span_of(size_t offset, int64_t first, int64_t count,
                                int64_t size)
{
    return (struct fake_span){ offset, first * size, count * size };
}

static int64_t size_of(int32_t dtype)
{
    return (int64_t)hdpk_dtype_bytes(dtype);
}

static int spans_combine(struct fake_span *out, const void *argument)
{
    const struct hdpk_launch_combine *job = argument;
    int64_t size = size_of(job->dtype);
    int count = 0;

    for (int32_t i = 0; i < job->source_count && i < HDPK_LAUNCH_SOURCES; ++i)
        out[count++] = span_of(offsetof(struct hdpk_launch_combine, sources) +
                                   (size_t)i * sizeof(void *),
                               job->first, job->count, size);
    for (int32_t i = 0; i < job->target_count && i < HDPK_LAUNCH_TARGETS; ++i)
        out[count++] = span_of(offsetof(struct hdpk_launch_combine, targets) +
                                   (size_t)i * sizeof(void *),
                               job->first, job->count, size);
    return count;
}

static int spans_accumulate(struct fake_span *out, const void *argument)
{
    const struct hdpk_launch_accumulate *job = argument;
    int64_t size = size_of(job->dtype);

    out[0] = span_of(offsetof(struct hdpk_launch_accumulate, target),
                     job->first, job->count, size);
    out[1] = span_of(offsetof(struct hdpk_launch_accumulate, source),
                     job->first, job->count, size);
    return 2;
}

static int spans_scale(struct fake_span *out, const void *argument)
{
    const struct hdpk_launch_scale *job = argument;

    out[0] = span_of(offsetof(struct hdpk_launch_scale, data), job->first,
                     job->count, size_of(job->dtype));
    return 1;
}

static int spans_convert(struct fake_span *out, const void *argument)
{
    const struct hdpk_launch_convert *job = argument;

    out[0] = span_of(offsetof(struct hdpk_launch_convert, target), job->first,
                     job->count, size_of(job->target_dtype));
    out[1] = span_of(offsetof(struct hdpk_launch_convert, source), job->first,
                     job->count, size_of(job->source_dtype));
    return 2;
}

static int spans_fill(struct fake_span *out, const void *argument)
{
    const struct hdpk_launch_fill *job = argument;

    out[0] = span_of(offsetof(struct hdpk_launch_fill, data), job->first,
                     job->count, job->bytes);
    return 1;
}

static int spans_pattern(struct fake_span *out, const void *argument)
{
    const struct hdpk_launch_pattern *job = argument;

    out[0] = span_of(offsetof(struct hdpk_launch_pattern, data), job->first,
                     job->count, size_of(job->dtype));
    return 1;
}

static int spans_check(struct fake_span *out, const void *argument)
{
    const struct hdpk_launch_check *job = argument;

    out[0] = span_of(offsetof(struct hdpk_launch_check, data), job->first,
                     job->count, size_of(job->dtype));
    out[1] = span_of(offsetof(struct hdpk_launch_check, out), 0,
                     job->count > 0 ? 2 : 0, sizeof(int64_t));
    return 2;
}

static int spans_rows(struct fake_span *out, const void *argument)
{
    const struct hdpk_launch_rows *job = argument;
    int64_t rows = job->row_bytes > 0 ? job->rows : 0;

    out[0] = span_of(
        offsetof(struct hdpk_launch_rows, target), 0,
        rows > 0 ? (rows - 1) * job->target_stride + job->row_bytes : 0, 1);
    out[1] = span_of(
        offsetof(struct hdpk_launch_rows, source), 0,
        rows > 0 ? (rows - 1) * job->source_stride + job->row_bytes : 0, 1);
    return 2;
}

/* ---- spin, whose time is the clock's here --------------------------------- */

static int64_t spin_ns(const struct hdpk_launch_spin *job)
{
    int64_t ns = job->ns < HDPK_SPIN_NS_MAX ? job->ns : HDPK_SPIN_NS_MAX;

    return ns > 0 ? ns : 0;
}

static void run_spin(const void *argument)
{
    const struct hdpk_launch_spin *job = argument;

    if (job->out_ns)
        *job->out_ns = spin_ns(job);
}

static int spans_spin(struct fake_span *out, const void *argument)
{
    const struct hdpk_launch_spin *job = argument;

    out[0] = span_of(offsetof(struct hdpk_launch_spin, out_ns), 0,
                     job->out_ns ? 1 : 0, sizeof(int64_t));
    return 1;
}

static double cost_spin(const void *argument)
{
    return (double)spin_ns(argument);
}

/* ---- by name -------------------------------------------------------------- */

static const struct {
    int (*spans)(struct fake_span *out, const void *argument);
    void (*run)(const void *argument);
    double (*cost_ns)(const void *argument);
} own[HDPK_KERNELS] = {
    [HDPK_COMBINE] = { spans_combine, NULL, NULL },
    [HDPK_ACCUMULATE] = { spans_accumulate, NULL, NULL },
    [HDPK_SCALE] = { spans_scale, NULL, NULL },
    [HDPK_CONVERT] = { spans_convert, NULL, NULL },
    [HDPK_FILL] = { spans_fill, NULL, NULL },
    [HDPK_PATTERN] = { spans_pattern, NULL, NULL },
    [HDPK_CHECK] = { spans_check, NULL, NULL },
    [HDPK_ROWS] = { spans_rows, NULL, NULL },
    [HDPK_SPIN] = { spans_spin, run_spin, cost_spin },
};

static struct fake_kernel *place_of(const char *name)
{
    for (int i = 0; i < kernel_count; ++i)
        if (strcmp(kernels[i].name, name) == 0)
            return &kernels[i];
    return NULL;
}

static int add(const struct fake_kernel *kernel)
{
    struct fake_kernel *place = place_of(kernel->name);

    if (!place && kernel_count == KERNELS_MAX)
        return -1;
    if (!place)
        place = &kernels[kernel_count++];
    *place = *kernel;
    return 0;
}

static void add_own(void)
{
    for (int i = 0; i < HDPK_KERNELS; ++i) {
        const struct hdpk_kernel *table = &hdpk_kernels[i];
        struct fake_kernel kernel = {
            .name = table->name,
            .bytes = table->bytes,
            .run = own[i].run ? own[i].run : table->host,
            .spans = own[i].spans,
            .cost_ns = own[i].cost_ns,
            .brief = 1,
        };
        (void)add(&kernel);
    }
}

FAKE_API int fake_kernel_register(const struct fake_kernel *kernel)
{
    int result;

    (void)pthread_once(&own_once, add_own);
    if (kernel->bytes > FAKE_ARGUMENT_MAX)
        return -1;
    pthread_mutex_lock(&lock);
    result = add(kernel);
    pthread_mutex_unlock(&lock);
    return result;
}

FAKE_API const struct fake_kernel *fake_kernel_find(const char *name)
{
    const struct fake_kernel *found;

    (void)pthread_once(&own_once, add_own);
    pthread_mutex_lock(&lock);
    found = place_of(name);
    pthread_mutex_unlock(&lock);
    return found;
}

const struct fake_kernel *fake_kernel_at(int i)
{
    const struct fake_kernel *found;

    (void)pthread_once(&own_once, add_own);
    pthread_mutex_lock(&lock);
    found = i < kernel_count ? &kernels[i] : NULL;
    pthread_mutex_unlock(&lock);
    return found;
}
