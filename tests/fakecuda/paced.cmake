# The scenarios of learning, on the fake's GPUs and nowhere else: their times are
# the test's (scenario/paced.h), and so is the start of the fake. select knows
# the fake's GPUs by name and takes them as they are. Those that start every
# machine by name have one test.
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
    if(name IN_LIST hdp_described_scenarios)
        hdp_fake_tests(${name} DESK)
    else()
        hdp_fake_tests(${name})
    endif()
endforeach()
