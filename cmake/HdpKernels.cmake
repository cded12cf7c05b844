# The CUDA kernels as data: one fatbin of all x.cu, which nvcc makes and gcc
# takes in by .incbin, so that CUDA is no language of this project and its
# compiler links nothing. What else the image says stands in kernels/image.h.

set(HDP_CUDA_ARCHS "" CACHE STRING
    "Architectures of the CUDA kernels (75;90); empty: hdp's list")
mark_as_advanced(HDP_CUDA_ARCHS)

set(hdp_generated ${PROJECT_BINARY_DIR}/generated)
set(hdp_archs_known 60 61 70 75 80 86 89 90 100 120)

# An object library TARGET that defines PREFIX_image_*: the bytes of FILE, and
# the architectures that it stands for, ascending; PTX is of the last.
function(hdp_image target prefix file)
    set(HDP_IMAGE_PREFIX ${prefix})
    set(HDP_IMAGE_FILE ${file})
    list(JOIN ARGN ", " HDP_IMAGE_ARCHS)
    list(GET ARGN -1 HDP_IMAGE_PTX)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/image.c.in
        ${hdp_generated}/${target}.c @ONLY)
    set_property(SOURCE ${hdp_generated}/${target}.c
        APPEND PROPERTY OBJECT_DEPENDS ${file})
    add_library(${target} OBJECT ${hdp_generated}/${target}.c)
    hdp_flags(${target})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/kernels)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# Of hdp's list, or of the one asked for, what this nvcc can make.
function(hdp_image_archs out)
    execute_process(COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} --list-gpu-code
        OUTPUT_VARIABLE text ERROR_VARIABLE words RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "${CUDAToolkit_NVCC_EXECUTABLE} --list-gpu-code "
            "failed (${status}): ${words}")
    endif()
    string(REGEX MATCHALL "sm_[0-9]+" offered "${text}")
    list(TRANSFORM offered REPLACE "sm_" "")
    set(found "")
    foreach(arch IN LISTS HDP_CUDA_ARCHS)
        if(NOT arch IN_LIST offered)
            list(JOIN offered " " offered)
            message(FATAL_ERROR "HDP_CUDA_ARCHS=${HDP_CUDA_ARCHS}: nvcc "
                "${CUDAToolkit_VERSION} has no ${arch}, but ${offered}")
        endif()
        list(APPEND found ${arch})
    endforeach()
    if(NOT found)
        foreach(arch IN LISTS hdp_archs_known)
            if(arch IN_LIST offered)
                list(APPEND found ${arch})
            endif()
        endforeach()
    endif()
    list(SORT found COMPARE NATURAL)
    set(${out} ${found} PARENT_SCOPE)
endfunction()

# hdp_fatbin(OUT SOURCE DEPENDS...): SOURCE for all of HDP_IMAGE_ARCH_LIST.
# Nothing is fused: the bytes are those of x.c. Only the device's half is
# compiled, so the age of the host's compiler does not matter.
function(hdp_fatbin out source)
    get_filename_component(folder ${source} DIRECTORY)
    set(codes "")
    foreach(arch IN LISTS HDP_IMAGE_ARCH_LIST)
        list(APPEND codes -gencode arch=compute_${arch},code=sm_${arch})
    endforeach()
    list(GET HDP_IMAGE_ARCH_LIST -1 last)
    list(APPEND codes -gencode arch=compute_${last},code=compute_${last})
    add_custom_command(OUTPUT ${out}
        COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} -fatbin -std=c++14 -fmad=false
            -Xfatbin=-compress-all -allow-unsupported-compiler -t 2
            "$<$<BOOL:${HDP_WERROR}>:-Werror=all-warnings>"
            -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/kernels
            -I${folder} ${codes} -o ${out} ${source}
        DEPENDS ${source} ${ARGN}
        COMMENT "Compiling the CUDA kernels" VERBATIM COMMAND_EXPAND_LISTS)
endfunction()

if(HDP_WITH_CUDA)
    hdp_image_archs(HDP_IMAGE_ARCH_LIST)
    file(GLOB hdp_device_sources CONFIGURE_DEPENDS
        ${PROJECT_SOURCE_DIR}/kernels/*.cu)
    file(GLOB hdp_device_headers CONFIGURE_DEPENDS
        ${PROJECT_SOURCE_DIR}/kernels/*.h ${PROJECT_SOURCE_DIR}/include/hdp/*.h)
    set(unit "")
    foreach(source IN LISTS hdp_device_sources)
        get_filename_component(name ${source} NAME)
        string(APPEND unit "#include \"${name}\"\n")
    endforeach()
    file(CONFIGURE OUTPUT ${hdp_generated}/image.cu CONTENT "${unit}" @ONLY)
    hdp_fatbin(${hdp_generated}/image.fatbin ${hdp_generated}/image.cu
        ${hdp_device_sources} ${hdp_device_headers})
    hdp_image(hdp_image hdpk ${hdp_generated}/image.fatbin
        ${HDP_IMAGE_ARCH_LIST})
endif()

# What the fake CUDA is linked with: the lists of a build with CUDA 12 and of
# one with 13, whatever nvcc is here, and words in place of machine code.
if(HDP_BUILD_TESTS)
    foreach(version IN ITEMS 12 13)
        set(archs ${hdp_archs_known})
        if(version EQUAL 13)
            list(REMOVE_ITEM archs 60 61 70)
        endif()
        list(JOIN archs "," text)
        set(file ${hdp_generated}/fake${version}.image)
        file(CONFIGURE OUTPUT ${file}
            CONTENT "FAKEIMAGE archs=${text} ptx=120\n" @ONLY)
        hdp_image(hdp_image_fake${version} hdpk ${file} ${archs})
        hdp_image(hdp_work_image_fake${version} hdpw ${file} ${archs})
    endforeach()
endif()
