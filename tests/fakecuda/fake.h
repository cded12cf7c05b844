/* What tests see of the fake CUDA: a machine described in words, faults
 * planted in it, and what was done to it. The functions of CUDA themselves
 * have their genuine headers. */
#ifndef FAKE_H
#define FAKE_H
#include <stddef.h>
#include <stdint.h>

/**
 * A new process on the described machine: every handle of before is gone,
 * counters are 0, visibility is read again. Without this call the variable
 * FAKE_CUDA holds the words, read at the first call of CUDA.
 *
 *   machine=NAME|PATH     one of examples/machines, or a file (default: twin)
 *   copies=K              each device K times, with UUIDs of their own
 *   clock=virtual|real    own time of each stream, or work takes real time
 *   run=inline|threads    effects at the call, or on a thread a stream
 *   driver=12040|nodriver version the driver says; no driver: error 35
 *   fail=CALL:N[-][:CODE] the Nth call fails, with - from then on
 *   sticky=CALL:N:CODE    it fails and poisons the process
 *   late=CALL:N:TIME      it returns only after so long (real time)
 *   hang=KERNEL:N         the Nth launch of a kernel never ends; cublasGemmEx:
 *                         of a product
 *   busy=I                device I is in exclusive mode, and another process
 *                         has it
 *   mode=I:prohibited|exclusive|default
 *                         its compute mode: no process may use it (error 46), or
 *                         one at a time: this one, if it is not busy
 *   mig=I:2+3|none        device I is cut into instances of so many sevenths (1,
 *                         2, 3, 4 or 7), or into none. It is no device of CUDA
 *                         then, its number means its first instance, and each
 *                         has a UUID (MIG-) and, for the words here, a number
 *                         behind those of all devices. CUDA shows one instance
 *                         and nothing else where a mask, or none, leaves any;
 *                         NVML all whole devices by number, and instances by
 *                         UUID. A slice that stands in a machine file is a
 *                         device like another.
 *   tenant=I:BYTES        somebody else has so much of its memory
 *   sick=I:CODE           kernels and products on it poison the process
 *   peer=refuse:I-J       no peer access between the two;  lie: access is
 *                         granted and copies lose bytes;   hang: they never end
 *   firstproduct=TIME     more for a device's first product
 *   nccl=2.28.3           version that NCCL says, and has the faults of: calls
 *                         newer than it are invalid usage, and before 2.29.7
 *                         one rank's average or weighted sum leaves the last
 *                         bytes (count in 16 bytes, the rest) as they were. No
 *                         word hides a function from dlsym: that is what
 *                         libfakenccl_VERSION.so are for
 *   nonccl                all calls of NCCL fail with a system error
 *   shmfull               communicators of more than one rank cannot be made,
 *                         for want of shared memory; until fake_calm()
 *   hang=nccl:RANK        that rank (they count from 0) takes no part in its
 *                         next operation: nobody goes on before its own
 *                         communicator is aborted, or fake_calm() is called.
 *                         hang=ncclCommAbort:N, or any call of NCCL: the Nth
 *                         does not return until fake_calm()
 *   ncclerror=RANK:CODE   as hang=nccl, and polling says CODE from then on
 *   seed=N                of noise
 *   keys=I:KEYS           what goes wrong on a device, as in machine files:
 *                         keys=0:slow=10x@3/slow=1x@4/ramp=30%@1s/noise=2%
 *
 * 0, or -1 with the reason in fake_words().
 */
int fake_start(const char *words);
const char *fake_words(void);

/* More faults, in the same words, without a new process; N counts from here.
 * Words of the machine, the clock and the driver are refused: -1. */
int fake_plant(const char *words);
/** Faults planted and not yet spent are forgotten; hanging work ends. It and
 *  what was queued behind it have no effect. */
void fake_calm(void);

/** Calls of one function so far; NULL: of all that hdp may make. */
int64_t fake_calls(const char *function);
/** The i-th function ever called, in order of name; NULL after the last. For
 *  drivers of torture; *fallible says that fail= can name it. */
const char *fake_site(int i, int64_t *calls, int *fallible);
/** Primary contexts ever made on a device (its number before any mask), and
 *  how often any call named it; -1: all devices. */
int64_t fake_contexts(int device);
int64_t fake_touched(int device);
/** How often one was refused, since the device is taken or closed. */
int64_t fake_refused(int device);

/** What is alive: "3 streams, 1 event, 4096 bytes of device 1"; "" is nothing.
 *  The text lives until the next call. */
const char *fake_alive(void);
/** The first rule that was broken, in words; NULL: none. */
const char *fake_breach(void);

/** Bytes free of a device now. */
int64_t fake_free_bytes(int device);
/** The fake's own pointer to the bytes of device or pinned memory; NULL where
 *  `bytes` from there are not one live allocation. */
void *fake_reach(const void *device_pointer, size_t bytes);
#endif
