/* What the kernels' tests hold against the host's forms: the kernels as plain
 * C++ (kernels_twin.cpp), or on a GPU where there is one (kernels/gpu.c). */
#ifndef KERNELS_TWIN_H
#define KERNELS_TWIN_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
/** Launches hdpk_kernels[kernel] and waits for it. As plain C++ threads run one
 *  after another, the last first, since none may need another. */
void twin_run(int32_t kernel, const void *args, unsigned blocks,
              unsigned threads);

/** Memory that kernels may use, aligned to 16 bytes; ends the test when there is
 *  none. NULL may be freed. */
void *twin_alloc(size_t bytes);
void twin_free(void *memory);
#ifdef __cplusplus
}
#endif
#endif
