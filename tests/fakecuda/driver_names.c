/* What the driver calls its errors, of those that hdp meets or tests plant. */
#include "driver.h"

static const struct {
    CUresult code;
    const char *name, *words;
} names[] = {
#define NAME(code, words)                                                      \
    {                                                                          \
        code, #code, words                                                     \
    }
    NAME(CUDA_SUCCESS, "no error"),
    NAME(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    NAME(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    NAME(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    NAME(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
    NAME(CUDA_ERROR_STUB_LIBRARY, "CUDA driver is a stub library"),
#if CUDA_VERSION >= 13000
    NAME(CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER,
         "API call is not supported in the installed CUDA driver"),
#endif
    NAME(CUDA_ERROR_DEVICE_UNAVAILABLE,
         "CUDA-capable device(s) is/are busy or unavailable"),
    NAME(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    NAME(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    NAME(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    NAME(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    NAME(CUDA_ERROR_NO_BINARY_FOR_GPU,
         "no kernel image is available for execution on the device"),
    NAME(CUDA_ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error encountered"),
    NAME(CUDA_ERROR_UNSUPPORTED_LIMIT,
         "limit is not supported on this architecture"),
    NAME(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
         "peer access is not supported between these two devices"),
    NAME(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
    NAME(CUDA_ERROR_NVLINK_UNCORRECTABLE,
         "uncorrectable NVLink error detected during the execution"),
    NAME(CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
         "PTX JIT compiler library not found"),
    NAME(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
         "the provided PTX was compiled with an unsupported toolchain."),
    NAME(CUDA_ERROR_JIT_COMPILATION_DISABLED,
         "PTX JIT compilation was disabled"),
    NAME(CUDA_ERROR_CONTAINED,
         "Invalid access of peer GPU memory over nvlink or a hardware error"),
    NAME(CUDA_ERROR_INVALID_SOURCE, "device kernel image is invalid"),
    NAME(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
    NAME(CUDA_ERROR_OPERATING_SYSTEM,
         "OS call failed or operation not supported on this OS"),
    NAME(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    NAME(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    NAME(CUDA_ERROR_NOT_READY, "device not ready"),
    NAME(CUDA_ERROR_ILLEGAL_ADDRESS,
         "an illegal memory access was encountered"),
    NAME(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
         "too many resources requested for launch"),
    NAME(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
    NAME(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
         "peer access is already enabled"),
    NAME(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED,
         "peer access has not been enabled"),
    NAME(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE,
         "cannot set while device is active in this process"),
    NAME(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
    NAME(CUDA_ERROR_ASSERT, "device-side assert triggered"),
    NAME(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
         "part or all of the requested memory range is already mapped"),
    NAME(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
         "pointer does not correspond to a registered memory region"),
    NAME(CUDA_ERROR_HARDWARE_STACK_ERROR, "hardware stack error"),
    NAME(CUDA_ERROR_ILLEGAL_INSTRUCTION,
         "an illegal instruction was encountered"),
    NAME(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address"),
    NAME(CUDA_ERROR_INVALID_ADDRESS_SPACE,
         "operation not supported on global/shared address space"),
    NAME(CUDA_ERROR_INVALID_PC, "invalid program counter"),
    NAME(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    NAME(CUDA_ERROR_TENSOR_MEMORY_LEAK, "tensor memory not completely freed"),
    NAME(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
    NAME(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    NAME(CUDA_ERROR_SYSTEM_NOT_READY, "system not yet initialized"),
    NAME(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
         "system has unsupported display driver / cuda driver combination"),
    NAME(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
         "operation not permitted when stream is capturing"),
    NAME(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
         "operation failed due to a previous error during capture"),
    NAME(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
         "operation would make the legacy stream depend on a capturing "
         "blocking stream"),
    NAME(CUDA_ERROR_CAPTURED_EVENT, "operation not permitted on an event last "
                                    "recorded in a capturing stream"),
    NAME(CUDA_ERROR_TIMEOUT, "wait operation timed out"),
    NAME(CUDA_ERROR_EXTERNAL_DEVICE,
         "an async error has occured in external entity outside of CUDA"),
    NAME(CUDA_ERROR_INVALID_RESOURCE_TYPE,
         "one or more resources passed in are not valid resource types for the "
         "operation"),
    NAME(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
         "one or more resources are insufficient or non-applicable for the "
         "operation"),
    NAME(CUDA_ERROR_UNKNOWN, "unknown error"),
#undef NAME
};

static const char *find(CUresult code, int words)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        if (names[i].code == code)
            return words ? names[i].words : names[i].name;
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
