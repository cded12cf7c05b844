# The library: its objects once, then a shared and a static library of them.

set(hdp_src ${PROJECT_SOURCE_DIR}/src)
file(GLOB hdp_verbs CONFIGURE_DEPENDS ${hdp_src}/*.c)
file(GLOB hdp_posix CONFIGURE_DEPENDS
    ${hdp_src}/base/*.c ${hdp_src}/device/*.c ${hdp_src}/comm/*.c)
file(GLOB hdp_pure CONFIGURE_DEPENDS ${hdp_src}/core/*.c ${hdp_src}/json/*.c)
file(GLOB hdp_kernel_sources CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/kernels/*.[ch])
if(NOT HDP_WITH_CUDA)
    list(FILTER hdp_posix EXCLUDE REGEX "/device/cuda[^/]*\\.c$")
endif()
if(NOT HDP_WITH_NCCL)
    list(FILTER hdp_posix EXCLUDE REGEX "/comm/nccl[^/]*\\.c$")
endif()

# Core and json stay free of POSIX: they see strict C11 only.
set_property(SOURCE ${hdp_verbs} ${hdp_posix} ${hdp_kernel_sources}
    APPEND PROPERTY COMPILE_DEFINITIONS _GNU_SOURCE)
set_property(SOURCE ${hdp_kernel_sources} APPEND PROPERTY
    COMPILE_OPTIONS $<$<NOT:$<CONFIG:Debug>>:-O3>)
# Whoever links needs --coverage. Each process writes a file a source at its end,
# so no more are counted than asked about.
if(HDP_COVERAGE)
    set(counted ${hdp_verbs} ${hdp_posix} ${hdp_pure})
    list(FILTER counted INCLUDE REGEX "${HDP_COVERAGE}")
    set_property(SOURCE ${counted} APPEND PROPERTY
        COMPILE_OPTIONS --coverage -fprofile-update=atomic)
endif()
# The adapter tables alone ask what was compiled in.
set_property(SOURCE ${hdp_src}/device/device.c ${hdp_src}/comm/comm.c
    APPEND PROPERTY COMPILE_DEFINITIONS
    HDP_WITH_CUDA=${HDP_WITH_CUDA} HDP_WITH_NCCL=${HDP_WITH_NCCL})

include(HdpMachines)
include(HdpKernels)

# The kernels know nothing of the library: hdp_bench's workloads use them too.
add_library(hdp_kernels OBJECT ${hdp_kernel_sources})
add_library(hdp_objects OBJECT ${hdp_verbs} ${hdp_posix} ${hdp_pure}
    ${HDP_MACHINES_SOURCE})
hdp_commit_for(hdp_objects ${hdp_verbs})
foreach(target IN ITEMS hdp_kernels hdp_objects)
    hdp_flags(${target})
    set_target_properties(${target} PROPERTIES
        POSITION_INDEPENDENT_CODE ON LINKER_LANGUAGE C)
endforeach()
target_include_directories(hdp_kernels PUBLIC
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/kernels)
target_include_directories(hdp_objects PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${hdp_src} ${PROJECT_SOURCE_DIR}/kernels)
target_link_libraries(hdp_objects PRIVATE Threads::Threads Jansson::hidden)

# Per file, and as system headers: nccl.h does not pass our warnings.
function(hdp_vendor_headers pattern dirs)
    foreach(source IN LISTS hdp_posix)
        if(source MATCHES "${pattern}")
            foreach(dir IN LISTS dirs)
                set_property(SOURCE ${source} APPEND PROPERTY
                    COMPILE_OPTIONS -isystem ${dir})
            endforeach()
        endif()
    endforeach()
endfunction()
if(HDP_WITH_CUDA)
    hdp_vendor_headers("/device/cuda[^/]*\\.c$" "${CUDAToolkit_INCLUDE_DIRS}")
endif()
if(HDP_WITH_NCCL)
    hdp_vendor_headers("/comm/nccl[^/]*\\.c$"
        "${HDP_NCCL_INCLUDE_DIR};${CUDAToolkit_INCLUDE_DIRS}")
endif()

# hdp_library(TARGET KIND IMAGE RUNTIME): the objects with an image of kernels
# and a CUDA runtime; tests link them a second time with stand-ins for both.
function(hdp_library target kind image runtime)
    add_library(${target} ${kind}
        $<TARGET_OBJECTS:hdp_objects> $<TARGET_OBJECTS:hdp_kernels>)
    if(TARGET ${image})
        target_sources(${target} PRIVATE $<TARGET_OBJECTS:${image}>)
    endif()
    target_include_directories(${target} INTERFACE
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${target}
        PRIVATE ${runtime} Jansson::hidden Threads::Threads ${CMAKE_DL_LIBS} m)
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
    if(kind STREQUAL "SHARED")
        # nodelete: a parked thread must not wake in unmapped code after a
        # dlclose.
        target_link_options(${target} PRIVATE
            LINKER:--version-script=${hdp_src}/hdp.map
            LINKER:--exclude-libs,ALL LINKER:-z,nodelete
            LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
        if(HDP_SANITIZE)
            target_link_options(${target} PRIVATE ${hdp_sanitize_flags})
        else()
            target_link_options(${target} PRIVATE LINKER:-z,defs)
        endif()
    endif()
endfunction()

# Static, so that one binary runs with and without CUDA installed; it opens the
# driver itself.
set(hdp_cuda_runtime "")
if(HDP_WITH_CUDA)
    set(hdp_cuda_runtime CUDA::cudart_static)
endif()
hdp_library(hdp SHARED hdp_image "${hdp_cuda_runtime}")
hdp_library(hdp_static STATIC hdp_image "${hdp_cuda_runtime}")
add_library(hdp::hdp ALIAS hdp)
add_library(hdp::hdp_static ALIAS hdp_static)
set_target_properties(hdp_static PROPERTIES OUTPUT_NAME hdp)
# Until 1.0 each minor version may break the ABI, so the soname carries it.
set_target_properties(hdp PROPERTIES
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    LINK_DEPENDS ${hdp_src}/hdp.map)
if(HDP_SANITIZE)
    target_link_options(hdp_static INTERFACE
        $<BUILD_INTERFACE:${hdp_sanitize_flags}>)
endif()
