# What the vendors' headers and nvcc allow. The libraries are opened at run
# time, so one binary runs with and without a GPU.

set(HDP_WITH_CUDA 0)
set(HDP_WITH_NCCL 0)
set(HDP_CUDA_VERSION "")
set(HDP_NCCL_VERSION "")

if(HDP_CUDA)
    find_package(CUDAToolkit QUIET)
    if(CUDAToolkit_FOUND AND CUDAToolkit_VERSION VERSION_GREATER_EQUAL 12.0
            AND CUDAToolkit_NVCC_EXECUTABLE)
        set(HDP_WITH_CUDA 1)
        set(HDP_CUDA_VERSION ${CUDAToolkit_VERSION})
    elseif(NOT HDP_CUDA STREQUAL "AUTO")
        message(FATAL_ERROR "HDP_CUDA=${HDP_CUDA}, but no CUDA Toolkit of 12.0 "
            "or newer was found that has nvcc, which compiles the kernels; name "
            "one with -DCUDAToolkit_ROOT=DIR")
    endif()
endif()

if(HDP_NCCL)
    find_path(HDP_NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
    mark_as_advanced(HDP_NCCL_INCLUDE_DIR)
    if(HDP_NCCL_INCLUDE_DIR AND HDP_WITH_CUDA)
        set(HDP_WITH_NCCL 1)
        file(STRINGS ${HDP_NCCL_INCLUDE_DIR}/nccl.h hdp_nccl_lines
            REGEX "^#define NCCL_(MAJOR|MINOR|PATCH) ")
        foreach(line IN LISTS hdp_nccl_lines)
            string(REGEX REPLACE ".* " "" number "${line}")
            list(APPEND HDP_NCCL_VERSION ${number})
        endforeach()
        list(JOIN HDP_NCCL_VERSION "." HDP_NCCL_VERSION)
    elseif(NOT HDP_NCCL STREQUAL "AUTO")
        message(FATAL_ERROR "HDP_NCCL=${HDP_NCCL}, but it needs nccl.h "
            "(-DHDP_NCCL_INCLUDE_DIR=DIR) and the CUDA Toolkit")
    endif()
endif()
