# The objects of the library linked a second time, to the fake CUDA: once with
# the image list that a build with CUDA 12 has, once with that of CUDA 13. An
# undefined function is one that the fake does not list, and an error.
foreach(major IN ITEMS 12 13)
    hdp_library(hdp_fake${major} SHARED hdp_image_fake${major} fakecuda)
    target_compile_options(hdp_fake${major} INTERFACE
        -isystem ${CUDAToolkit_INCLUDE_DIRS})
    target_include_directories(hdp_fake${major} INTERFACE ${hdp_test_dir})
    if(TARGET hdp_bench)
        add_executable(hdp_bench_fake${major} ${PROJECT_SOURCE_DIR}/bench/main.c
            ${hdp_test_dir}/fakecuda/work/registered.c
            $<TARGET_OBJECTS:hdp_work_image_fake${major}>)
        hdp_flags(hdp_bench_fake${major})
        target_compile_definitions(hdp_bench_fake${major} PRIVATE _GNU_SOURCE)
        target_include_directories(hdp_bench_fake${major} PRIVATE
            ${PROJECT_SOURCE_DIR}/bench ${PROJECT_SOURCE_DIR}/bench/work
            ${PROJECT_SOURCE_DIR}/include)
        target_link_libraries(hdp_bench_fake${major} PRIVATE
            hdp_bench_parts hdp_kernels hdp_fake${major} fakecuda Jansson::hidden
            Threads::Threads ${CMAKE_DL_LIBS} m)
        list(APPEND hdp_test_environment
            HDP_BENCH_FAKE${major}=$<TARGET_FILE:hdp_bench_fake${major}>)
    endif()
endforeach()
list(APPEND hdp_test_environment HDP_FAKE_CUDA=$<TARGET_FILE:fakecuda>)
# The fake CUDA is its NCCL too; these are older ones, beside it.
foreach(version IN ITEMS 2.18.5 2.28.3)
    if(TARGET fakenccl_${version})
        string(REPLACE "." "_" name HDP_FAKE_NCCL_${version})
        list(APPEND hdp_test_environment
            ${name}=$<TARGET_FILE:fakenccl_${version}>)
    endif()
endforeach()

# hdp_fake_program(TARGET SOURCE [LIBRARY]): a test of the shared library on the
# fake, with CUDA 12's images where none is named; one that reaches inner symbols
# links the objects: hdp_fake_inner_program().
function(hdp_fake_program target source)
    add_executable(${target} ${source})
    hdp_flags(${target})
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE HDP_TEST_CUDA=1)
    target_compile_options(${target} PRIVATE
        -isystem ${CUDAToolkit_INCLUDE_DIRS})
    target_include_directories(${target} PRIVATE ${hdp_test_dir}
        ${PROJECT_SOURCE_DIR}/kernels ${PROJECT_SOURCE_DIR}/bench)
    if(TARGET hdp_bench_parts)
        target_link_libraries(${target} PRIVATE hdp_bench_parts hdp_kernels)
    endif()
    set(library hdp_fake12)
    if(ARGC GREATER 2)
        set(library ${ARGV2})
    endif()
    target_link_libraries(${target} PRIVATE ${library} fakecuda Cmocka::cmocka
        Jansson::hidden Threads::Threads ${CMAKE_DL_LIBS} m)
endfunction()
function(hdp_fake_inner_program target source)
    add_executable(${target} ${source} $<TARGET_OBJECTS:hdp_objects>
        $<TARGET_OBJECTS:hdp_kernels> $<TARGET_OBJECTS:hdp_image_fake12>)
    hdp_flags(${target})
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE HDP_TEST_CUDA=1)
    target_compile_options(${target} PRIVATE
        -isystem ${CUDAToolkit_INCLUDE_DIRS})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include
        ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/kernels ${hdp_test_dir})
    target_link_libraries(${target} PRIVATE fakecuda Cmocka::cmocka
        Jansson::hidden Threads::Threads ${CMAKE_DL_LIBS} m)
endfunction()

# One program an idea; inner_ ones reach inner symbols, those that end in _13
# have CUDA 13's images.
file(GLOB sources CONFIGURE_DEPENDS ${hdp_test_dir}/cuda/*.c)
if(NOT HDP_WITH_NCCL)
    list(FILTER sources EXCLUDE REGEX "/(inner_)?nccl[^/]*\\.c$")
endif()
foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    if(name MATCHES "^inner_")
        hdp_fake_inner_program(cuda_${name} ${source})
    elseif(name MATCHES "_13$")
        hdp_fake_program(cuda_${name} ${source} hdp_fake13)
    else()
        hdp_fake_program(cuda_${name} ${source})
    endif()
    hdp_test(NAME cuda.${name} LABELS cuda COMMAND cuda_${name})
endforeach()

# Every call instead of a few, which takes many minutes: `ctest -L long`.
hdp_test(NAME cuda.torture_whole LABELS "cuda;long;by_hand"
    COMMAND cuda_torture --all)
set_tests_properties(cuda.torture_whole PROPERTIES TIMEOUT 3600)

# The scenarios that work on any group, on the GPUs of each shipped machine. A
# machine's devices stand several times where a scenario wants eight. The same
# objects run on the GPUs of the machine that builds them, if it has any, as
# scenario.NAME.cuda; allocation does not, since a driver's own malloc is not
# ours to refuse.
#
# Not here, since no GPU can change them:
#   inject              fails the hooks of sim by its keys; cuda.torture fails
#                       those of GPUs, call by call
#   clock               the deadline is watched by the core, on one clock
#   lease, lease_*      files and locks; a GPU is a name to them (cuda.leased)
set(hdp_fake_scenarios
    allocation arguments arrays environment faults group host_program inside
    leaving manners reduce refused run steps stuck threads)
set(hdp_fake_machines desk:3 turing:4 twin:4 laptop:8 lab:3)
add_executable(scenario_gpu_present ${hdp_test_dir}/scenario/gpu/present.c)
hdp_flags(scenario_gpu_present)
target_compile_definitions(scenario_gpu_present PRIVATE _GNU_SOURCE)
target_include_directories(scenario_gpu_present PRIVATE ${hdp_test_dir})
target_link_libraries(scenario_gpu_present PRIVATE hdp::hdp_static)
# Programs that name no library find the fake's by the names of CUDA's own.
set(hdp_fake_names ${CMAKE_CURRENT_BINARY_DIR}/fakecuda/names)
file(MAKE_DIRECTORY ${hdp_fake_names})
foreach(name IN ITEMS
    libcublas.so.12 libcublas.so.13 libnccl.so.2 libnvidia-ml.so.1)
    file(CREATE_LINK ../libfakecuda.so ${hdp_fake_names}/${name} SYMBOLIC)
endforeach()

# hdp_fake_tests(NAME [DESK] [COPIES N]): fake_NAME on every shipped machine, or
# on the desk alone; with N of each device, or as many as a scenario may want.
function(hdp_fake_tests name)
    cmake_parse_arguments(arg "DESK" "COPIES" "" ${ARGN})
    foreach(machine IN LISTS hdp_fake_machines)
        string(REPLACE ":" ";" words ${machine})
        list(GET words 0 file)
        list(GET words 1 copies)
        if(arg_COPIES)
            set(copies ${arg_COPIES})
        endif()
        set(labels fake)
        if(NOT file STREQUAL "desk") # once is enough under a sanitizer
            list(APPEND labels machines)
        endif()
        if(arg_DESK AND NOT file STREQUAL "desk")
            continue()
        endif()
        hdp_test(NAME fake.${file}.${name} LABELS ${labels}
            COMMAND fake_${name})
        set_property(TEST fake.${file}.${name} APPEND PROPERTY ENVIRONMENT
            "FAKE_CUDA=machine=${file} copies=${copies}"
            "HDP_LIBRARY=$<TARGET_FILE:hdp_fake12>"
            "LD_LIBRARY_PATH=${hdp_fake_names}")
    endforeach()
endfunction()

foreach(name IN LISTS hdp_fake_scenarios)
    set(source ${hdp_test_dir}/scenario/${name}.c)
    hdp_test_objects(scenario_on_gpu_${name} ${source} HDP_TEST_CUDA=1)
    set(objects $<TARGET_OBJECTS:scenario_on_gpu_${name}>)
    hdp_fake_program(fake_${name} ${objects})
    if(NOT name STREQUAL "allocation")
        hdp_test_program(gpu_scenario_${name} ${objects})
        hdp_test(NAME scenario.${name}.cuda LABELS scenario
            COMMAND scenario_gpu_present $<TARGET_FILE:gpu_scenario_${name}>)
        set_tests_properties(scenario.${name}.cuda PROPERTIES RESOURCE_LOCK gpu)
    endif()
    if(name MATCHES "^(allocation|stuck)$") # thousands of lives; long waits
        hdp_fake_tests(${name} DESK)
    else()
        hdp_fake_tests(${name})
    endif()
endforeach()

# Tests of real GPUs that a fake one can stand for as well.
foreach(name IN ITEMS capture rounds)
    hdp_fake_program(fake_real_${name} ${hdp_test_dir}/gpu/${name}.c)
    hdp_test(NAME fake.twin.real_${name} LABELS fake
        COMMAND fake_real_${name})
    set_property(TEST fake.twin.real_${name} APPEND PROPERTY ENVIRONMENT
        "FAKE_CUDA=machine=twin" "REAL_CUBLAS=$<TARGET_FILE:fakecuda>")
endforeach()
include(${CMAKE_CURRENT_LIST_DIR}/paced.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/measured.cmake)
