/* What hdp_bench on the fake CUDA has beside main(). The workloads' kernels are
 * told to the fake: which memory each goes to, and that kernels_net.c says what
 * it does. At the end the program's own exit code becomes FAULT where a rule was
 * broken, or where all went well and something of CUDA is still alive. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <hdp/hdp.h>
#include "../fake.h"
#include "../fake_kernels.h"
#include "kernels.h"
#include "workkernels.h"

#define SPAN(type, field, length)                                              \
    (struct fake_span)                                                         \
    {                                                                          \
        offsetof(struct hdpw_##type, field), 0, (length)                       \
    }

static int64_t block(int64_t rows, int32_t width, int32_t dtype)
{
    return rows * width * (int64_t)hdpk_dtype_bytes(dtype);
}

/* Rows that begin again past the last one: all of them may be read. */
static int64_t strided(int64_t rows, int64_t stride, int64_t bytes)
{
    return rows > 0 ? (rows - 1) * stride + bytes : 0;
}

static int spans_pixels(struct fake_span *out, const void *argument)
{
    const struct hdpw_pixels *job = argument;

    out[0] = SPAN(pixels, target, block(job->rows, job->width, job->dtype));
    out[1] = SPAN(pixels, pixels, strided(job->count, job->stride, job->width));
    return 2;
}

static int spans_activate(struct fake_span *out, const void *argument)
{
    const struct hdpw_activate *job = argument;

    out[0] = SPAN(activate, target, block(job->rows, job->width, job->dtype));
    out[1] = SPAN(activate, sums, block(job->rows, job->width, HDP_F32));
    out[2] = SPAN(activate, bias, block(1, job->width, HDP_F32));
    return 3;
}

static int spans_loss(struct fake_span *out, const void *argument)
{
    const struct hdpw_loss *job = argument;

    out[0] = SPAN(loss, target, block(job->rows, job->width, job->dtype));
    out[1] = SPAN(loss, sums, block(job->rows, job->width, HDP_F32));
    out[2] = SPAN(loss, bias, block(1, job->width, HDP_F32));
    out[3] = SPAN(loss, labels, strided(job->count, job->stride, 1));
    return 4;
}

static int spans_backward(struct fake_span *out, const void *argument)
{
    const struct hdpw_backward *job = argument;

    out[0] = SPAN(backward, target, block(job->rows, job->width, job->dtype));
    out[1] = SPAN(backward, sums, block(job->rows, job->width, HDP_F32));
    out[2] = SPAN(backward, active, block(job->rows, job->width, job->dtype));
    return 3;
}

static int spans_columns(struct fake_span *out, const void *argument)
{
    const struct hdpw_columns *job = argument;
    int64_t chunks = (job->rows + job->chunk - 1) / job->chunk;

    out[0] = SPAN(columns, target, block(chunks, job->width, HDP_F32));
    out[1] = SPAN(columns, source, block(job->rows, job->width, job->dtype));
    return 2;
}

static int spans_update(struct fake_span *out, const void *argument)
{
    const struct hdpw_update *job = argument;

    out[0] = SPAN(update, weights, block(job->count, 1, HDP_F32));
    out[1] = SPAN(update, velocity, block(job->count, 1, HDP_F32));
    out[2] = SPAN(update, gradient, block(job->count, 1, HDP_F32));
    return 3;
}

static int spans_lower(struct fake_span *out, const void *argument)
{
    const struct hdpw_lower *job = argument;

    out[0] = SPAN(lower, target, block(job->rows, job->width, job->dtype));
    out[1] =
        SPAN(lower, source,
             strided(job->rows, job->stride, block(1, job->width, HDP_F32)));
    return 2;
}

static int spans_noise(struct fake_span *out, const void *argument)
{
    const struct hdpw_noise *job = argument;

    out[0] = SPAN(noise, target, block(job->rows, job->width, job->dtype));
    return 1;
}

static int spans_gate(struct fake_span *out, const void *argument)
{
    const struct hdpw_gate *job = argument;

    out[0] = SPAN(gate, target, block(job->count, 1, job->dtype));
    out[1] = SPAN(gate, gate, block(job->count, 1, job->dtype));
    return 2;
}

/* The rest of the image are hdp's own kernels, which the fake has. */
static int (*const spans[HDPW_KERNELS])(struct fake_span *, const void *) = {
    [HDPW_PIXELS] = spans_pixels,   [HDPW_ACTIVATE] = spans_activate,
    [HDPW_LOSS] = spans_loss,       [HDPW_BACKWARD] = spans_backward,
    [HDPW_COLUMNS] = spans_columns, [HDPW_UPDATE] = spans_update,
    [HDPW_LOWER] = spans_lower,     [HDPW_NOISE] = spans_noise,
    [HDPW_GATE] = spans_gate,
};

enum { FAULT = 99 };

static void look(int status, void *nothing)
{
    const char *broken = fake_breach();
    const char *alive = status == 0 ? fake_alive() : "";

    (void)nothing;
    if (!broken && !*alive)
        return;
    fprintf(stderr, "fake CUDA: %s%s%s\n", broken ? broken : "",
            broken && *alive ? "; " : "", alive);
    _exit(FAULT);
}

__attribute__((constructor)) static void tell(void)
{
    if (on_exit(look, NULL) != 0)
        abort();
    for (int i = 0; i < HDPW_KERNELS; ++i) {
        struct fake_kernel kernel = {
            .name = hdpw_kernels[i].name,
            .bytes = hdpw_kernels[i].bytes,
            .run = hdpw_kernels[i].host,
            .spans = spans[i],
        };
        if (spans[i] && fake_kernel_register(&kernel) != 0)
            abort(); /* a table that is too small is a fault of the tests */
    }
}
