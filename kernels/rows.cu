/* Rows on the device. A thread takes 16 bytes that lie on 16 bytes of the
 * target, writes them at once where the row covers them, and reads them in the
 * largest pieces that the source's address allows. */
#include "grid.h"

/* Pieces of T from a source that lies on sizeof(T). */
template <typename T> DEVICE void rows_read(uint8_t *x, const uint8_t *source)
{
    UNROLL
    for (int i = 0; i < 16; i += (int)sizeof(T))
        memcpy(x + i, __builtin_assume_aligned(source + i, sizeof(T)),
               sizeof(T));
}

/* Bytes `at` to `at` + 16 of a row of `bytes`; cut at both of its ends. */
DEVICE void rows_move(uint8_t *target, const uint8_t *source, int64_t at,
                      int64_t bytes)
{
    uintptr_t address = (uintptr_t)source + (uintptr_t)at;
    uint8_t x[16];
    if (at < 0 || bytes - at < 16) {
        int64_t end = bytes - at < 16 ? bytes : at + 16;
        for (int64_t i = at < 0 ? 0 : at; i < end; ++i)
            target[i] = source[i];
        return;
    }
    if (address % 16 == 0)
        memcpy(x, __builtin_assume_aligned(source + at, 16), 16);
    else if (address % 8 == 0)
        rows_read<uint64_t>(x, source + at);
    else if (address % 4 == 0)
        rows_read<uint32_t>(x, source + at);
    else if (address % 2 == 0)
        rows_read<uint16_t>(x, source + at);
    else
        rows_read<uint8_t>(x, source + at);
    memcpy(__builtin_assume_aligned(target + at, 16), x, 16);
}

extern "C" __global__ void hdpk_cuda_rows(struct hdpk_launch_rows job)
{
    /* A row touches at most so many windows, wherever it begins. */
    int64_t windows = job.row_bytes / 16 + 2, all = job.rows * windows;
    if (job.row_bytes <= 0)
        return;
    for (int64_t n = grid_thread(); n < all; n += grid_threads()) {
        /* Division of 64 bits costs more than moving the bytes does. */
        int64_t row =
            all <= UINT32_MAX ? (uint32_t)n / (uint32_t)windows : n / windows;
        uint8_t *target = (uint8_t *)job.target + row * job.target_stride;
        int64_t skew = (int64_t)((uintptr_t)target & 15);
        int64_t at = (n - row * windows) * 16 - skew;
        if (at < job.row_bytes)
            rows_move(target,
                      (const uint8_t *)job.source + row * job.source_stride, at,
                      job.row_bytes);
    }
}
