/* What the codes of the runtime are called. Sentences are the fake's own. */
#include <cuda_runtime_api.h>
#include <stddef.h>

#define NAMED(code, sentence)                                                  \
    {                                                                          \
        code, #code, sentence                                                  \
    }

static const struct {
    cudaError_t code;
    const char *name, *sentence;
} rows[] = {
    NAMED(cudaSuccess, "no error"),
    NAMED(cudaErrorInvalidValue, "invalid argument"),
    NAMED(cudaErrorMemoryAllocation, "out of memory"),
    NAMED(cudaErrorInitializationError, "initialization error"),
    NAMED(cudaErrorCudartUnloading, "driver shutting down"),
    NAMED(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    NAMED(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    NAMED(cudaErrorInvalidMemcpyDirection, "invalid copy direction"),
    NAMED(cudaErrorInsufficientDriver,
          "CUDA driver version is insufficient for CUDA runtime version"),
    NAMED(cudaErrorCallRequiresNewerDriver,
          "API call is not supported in the installed CUDA driver"),
    NAMED(cudaErrorDevicesUnavailable,
          "CUDA-capable device(s) is/are busy or unavailable"),
    NAMED(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    NAMED(cudaErrorInvalidDevice, "invalid device ordinal"),
    NAMED(cudaErrorStartupFailure, "startup failure"),
    NAMED(cudaErrorInvalidKernelImage, "device kernel image is invalid"),
    NAMED(cudaErrorDeviceUninitialized, "invalid device context"),
    NAMED(cudaErrorAlreadyMapped, "resource already mapped"),
    NAMED(cudaErrorNoKernelImageForDevice,
          "no kernel image is available for execution on the device"),
    NAMED(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered"),
    NAMED(cudaErrorUnsupportedLimit, "limit is not supported"),
    NAMED(cudaErrorPeerAccessUnsupported,
          "peer access is not supported between these two devices"),
    NAMED(cudaErrorInvalidPtx, "a PTX compilation failed"),
    NAMED(cudaErrorNvlinkUncorrectable, "uncorrectable NVLink error"),
    NAMED(cudaErrorContained, "invalid access of peer GPU memory over NVLink "
                              "or a hardware error"),
    NAMED(cudaErrorSharedObjectInitFailed,
          "shared object initialization failed"),
    NAMED(cudaErrorOperatingSystem, "OS call failed or operation not "
                                    "supported on this OS"),
    NAMED(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    NAMED(cudaErrorIllegalState, "the operation cannot be performed in the "
                                 "present state"),
    NAMED(cudaErrorSymbolNotFound, "named symbol not found"),
    NAMED(cudaErrorNotReady, "device not ready"),
    NAMED(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    NAMED(cudaErrorLaunchOutOfResources,
          "too many resources requested for launch"),
    NAMED(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    NAMED(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    NAMED(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    NAMED(cudaErrorContextIsDestroyed, "context is destroyed"),
    NAMED(cudaErrorAssert, "device-side assert triggered"),
    NAMED(cudaErrorTooManyPeers, "peer mapping resources exhausted"),
    NAMED(cudaErrorHostMemoryAlreadyRegistered,
          "part or all of the requested memory range is already mapped"),
    NAMED(cudaErrorHostMemoryNotRegistered,
          "pointer does not correspond to a registered memory region"),
    NAMED(cudaErrorHardwareStackError, "hardware stack error"),
    NAMED(cudaErrorIllegalInstruction,
          "an illegal instruction was encountered"),
    NAMED(cudaErrorMisalignedAddress, "misaligned address"),
    NAMED(cudaErrorInvalidAddressSpace,
          "operation not supported on global/shared address space"),
    NAMED(cudaErrorInvalidPc, "invalid program counter"),
    NAMED(cudaErrorLaunchFailure, "unspecified launch failure"),
    NAMED(cudaErrorTensorMemoryLeak, "tensor memory was not freed"),
    NAMED(cudaErrorNotPermitted, "operation not permitted"),
    NAMED(cudaErrorNotSupported, "operation not supported"),
    NAMED(cudaErrorSystemNotReady, "system not yet initialized"),
    NAMED(cudaErrorSystemDriverMismatch,
          "system has unsupported display driver / cuda driver combination"),
    NAMED(cudaErrorMpsConnectionFailed, "MPS client failed to connect"),
    NAMED(cudaErrorStreamCaptureUnsupported,
          "operation not permitted when stream is capturing"),
    NAMED(cudaErrorStreamCaptureInvalidated,
          "operation failed due to a previous error during capture"),
    NAMED(cudaErrorStreamCaptureWrongThread,
          "attempt to terminate a thread-local capture sequence from another "
          "thread"),
    NAMED(cudaErrorTimeout, "wait operation timed out"),
    NAMED(cudaErrorExternalDevice, "an error of a device outside of CUDA"),
    NAMED(cudaErrorUnknown, "unknown error"),
};

const char *cudaGetErrorName(cudaError_t error)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].code == error)
            return rows[i].name;
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].code == error)
            return rows[i].sentence;
    return "unrecognized error code";
}
