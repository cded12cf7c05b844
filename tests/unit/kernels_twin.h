/* The kernels of the device as plain C++ (kernels/plain.h): their twins run
 * here, a grid thread by thread. */
#ifndef KERNELS_TWIN_H
#define KERNELS_TWIN_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
/** Launches hdpk_kernels[kernel]; threads run one after another, the last
 *  first, since none may need another. */
void twin_run(int32_t kernel, const void *args, unsigned blocks,
              unsigned threads);
#ifdef __cplusplus
}
#endif
#endif
