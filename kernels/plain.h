/* What g++ lacks to read x.cu as plain C++: tests run a grid thread by thread,
 * which serves every kernel that has no barrier. The test defines the rest. */
#ifndef HDPK_PLAIN_H
#define HDPK_PLAIN_H
#define __global__
#define __device__
#define __forceinline__ inline
struct plain_place {
    unsigned x;
};
extern plain_place gridDim, blockDim, blockIdx, threadIdx;
long long plain_now(); /* nanoseconds */
#endif
