/* What the driver calls its errors, of those that hdp meets or tests plant. It
 * says what the runtime says of the same number. */
#include "driver.h"

static const struct {
    CUresult code;
    const char *name, *words; /* words NULL: the runtime's */
} names[] = {
#define NAME(code, words)                                                      \
    {                                                                          \
        code, #code, words                                                     \
    }
    NAME(CUDA_SUCCESS, NULL),
    NAME(CUDA_ERROR_INVALID_VALUE, NULL),
    NAME(CUDA_ERROR_OUT_OF_MEMORY, NULL),
    NAME(CUDA_ERROR_NOT_INITIALIZED, NULL),
    NAME(CUDA_ERROR_DEINITIALIZED, NULL),
    NAME(CUDA_ERROR_STUB_LIBRARY, "CUDA driver is a stub library"),
#if CUDA_VERSION >= 13000
    NAME(CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, NULL),
#endif
    NAME(CUDA_ERROR_DEVICE_UNAVAILABLE, NULL),
    NAME(CUDA_ERROR_NO_DEVICE, NULL),
    NAME(CUDA_ERROR_INVALID_DEVICE, NULL),
    NAME(CUDA_ERROR_INVALID_IMAGE, NULL),
    NAME(CUDA_ERROR_INVALID_CONTEXT, NULL),
    NAME(CUDA_ERROR_NO_BINARY_FOR_GPU, NULL),
    NAME(CUDA_ERROR_ECC_UNCORRECTABLE, NULL),
    NAME(CUDA_ERROR_UNSUPPORTED_LIMIT, NULL),
    NAME(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, NULL),
    NAME(CUDA_ERROR_INVALID_PTX, NULL),
    NAME(CUDA_ERROR_NVLINK_UNCORRECTABLE, NULL),
    NAME(CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
         "PTX JIT compiler library not found"),
    NAME(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
         "the provided PTX was compiled with an unsupported toolchain."),
    NAME(CUDA_ERROR_JIT_COMPILATION_DISABLED,
         "PTX JIT compilation was disabled"),
    NAME(CUDA_ERROR_CONTAINED, NULL),
    NAME(CUDA_ERROR_INVALID_SOURCE, "device kernel image is invalid"),
    NAME(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
    NAME(CUDA_ERROR_OPERATING_SYSTEM, NULL),
    NAME(CUDA_ERROR_INVALID_HANDLE, NULL),
    NAME(CUDA_ERROR_NOT_FOUND, NULL),
    NAME(CUDA_ERROR_NOT_READY, NULL),
    NAME(CUDA_ERROR_ILLEGAL_ADDRESS, NULL),
    NAME(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, NULL),
    NAME(CUDA_ERROR_LAUNCH_TIMEOUT, NULL),
    NAME(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, NULL),
    NAME(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, NULL),
    NAME(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE,
         "cannot set while device is active in this process"),
    NAME(CUDA_ERROR_CONTEXT_IS_DESTROYED, NULL),
    NAME(CUDA_ERROR_ASSERT, NULL),
    NAME(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, NULL),
    NAME(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, NULL),
    NAME(CUDA_ERROR_HARDWARE_STACK_ERROR, NULL),
    NAME(CUDA_ERROR_ILLEGAL_INSTRUCTION, NULL),
    NAME(CUDA_ERROR_MISALIGNED_ADDRESS, NULL),
    NAME(CUDA_ERROR_INVALID_ADDRESS_SPACE, NULL),
    NAME(CUDA_ERROR_INVALID_PC, NULL),
    NAME(CUDA_ERROR_LAUNCH_FAILED, NULL),
    NAME(CUDA_ERROR_TENSOR_MEMORY_LEAK, NULL),
    NAME(CUDA_ERROR_NOT_PERMITTED, NULL),
    NAME(CUDA_ERROR_NOT_SUPPORTED, NULL),
    NAME(CUDA_ERROR_SYSTEM_NOT_READY, NULL),
    NAME(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, NULL),
    NAME(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, NULL),
    NAME(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, NULL),
    NAME(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
         "operation would make the legacy stream depend on a capturing "
         "blocking stream"),
    NAME(CUDA_ERROR_CAPTURED_EVENT, "operation not permitted on an event last "
                                    "recorded in a capturing stream"),
    NAME(CUDA_ERROR_TIMEOUT, NULL),
    NAME(CUDA_ERROR_EXTERNAL_DEVICE, NULL),
    NAME(CUDA_ERROR_INVALID_RESOURCE_TYPE,
         "one or more resources passed in are not valid resource types for the "
         "operation"),
    NAME(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
         "one or more resources are insufficient or non-applicable for the "
         "operation"),
    NAME(CUDA_ERROR_UNKNOWN, NULL),
#undef NAME
};

static const char *find(CUresult code, int words)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        if (names[i].code != code)
            continue;
        if (!words)
            return names[i].name;
        return names[i].words ? names[i].words
                              : cudaGetErrorString((cudaError_t)code);
    }
    return NULL;
}

/* Both leave NULL for a number that is no error. */
static CUresult tell(CUresult error, const char **out, int words)
{
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = find(error, words);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

FAKE_API CUresult cuGetErrorName(CUresult error, const char **out)
{
    DRIVER_ENTER("cuGetErrorName", CUDA_ERROR_INVALID_VALUE,
                 FAKE_ALWAYS | FAKE_SAFE);
    DRIVER_LEAVE(tell(error, out, 0));
}

FAKE_API CUresult cuGetErrorString(CUresult error, const char **out)
{
    DRIVER_ENTER("cuGetErrorString", CUDA_ERROR_INVALID_VALUE,
                 FAKE_ALWAYS | FAKE_SAFE);
    DRIVER_LEAVE(tell(error, out, 1));
}
