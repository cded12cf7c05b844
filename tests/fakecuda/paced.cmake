# The scenarios of learning, on the fake's GPUs: their times are the test's
# (scenario/paced.h), so they start the fake themselves and run nowhere else.
# Those that start every machine by name have one test.
#
# Not here, since no GPU can change them:
#   balancer dynamic balance_changes balance_memory
#                     make no group: a profile in numbers, times told
#   balance_work      the same; it takes curves from machine files
#   machines recorded described machines, whose members are simulated ones; GPUs
#                     of the same files: cuda.calibrate, cuda.listed
#   changing          sim's arithmetic of its keys; the fake's of the same keys:
#                     fakecuda.selftest_clock
#   ring              what a reduce costs on virtual clocks, which GPUs have not
set(hdp_paced_scenarios
    causes executor executor_learn executor_lives executor_memory
    executor_observe select)
set(hdp_described_scenarios sums)
foreach(name IN LISTS hdp_paced_scenarios hdp_described_scenarios)
    hdp_fake_program(fake_${name} ${hdp_test_dir}/scenario/${name}.c)
    target_compile_definitions(fake_${name} PRIVATE HDP_TEST_FAKE=1)
    set(machines ${hdp_fake_machines})
    if(name IN_LIST hdp_described_scenarios)
        set(machines desk:3)
    endif()
    foreach(machine IN LISTS machines)
        string(REPLACE ":" ";" words ${machine})
        list(GET words 0 file)
        list(GET words 1 copies)
        set(labels fake)
        if(NOT file STREQUAL "desk") # once is enough under a sanitizer
            list(APPEND labels machines)
        endif()
        hdp_test(NAME fake.${file}.${name} LABELS ${labels}
            COMMAND fake_${name})
        set_property(TEST fake.${file}.${name} APPEND PROPERTY ENVIRONMENT
            "FAKE_CUDA=machine=${file} copies=${copies}"
            "LD_LIBRARY_PATH=${CMAKE_CURRENT_BINARY_DIR}/fakecuda/names")
    endforeach()
endforeach()
