# The scenarios of measuring, on the fake's GPUs of each shipped machine. Not
# among hdp_fake_scenarios, since on a real GPU what is measured is not known.
#
# Not here, since no GPU can change them:
#   calibrate, calibrate_failing
#               models, noise and hooks that keys of sim describe; the same of
#               GPUs is said by cuda/calibrate*.c
#   cache_kept  figures that sim makes unreliable, or that lack an identity
#   calibrate_host
#               real clocks and cores of the host
#   cache_children, cache_planted
#               files, users and locks; what was measured is a name to them
#   discover, visibility
#               make no group of devices: texts, masks, described machines;
#               GPUs that a driver lists: cuda/listed.c, cuda/visible.c
set(hdp_measured_scenarios cache calibrate_refused calibrate_work)
foreach(name IN LISTS hdp_measured_scenarios)
    hdp_fake_program(fake_${name} ${hdp_test_dir}/scenario/${name}.c)
endforeach()
foreach(machine IN LISTS hdp_fake_machines)
    string(REPLACE ":" ";" words ${machine})
    list(GET words 0 file)
    set(labels fake)
    if(NOT file STREQUAL "desk") # once is enough under a sanitizer
        list(APPEND labels machines)
    endif()
    foreach(name IN LISTS hdp_measured_scenarios)
        hdp_test(NAME fake.${file}.${name} LABELS ${labels}
            COMMAND fake_${name})
        set_property(TEST fake.${file}.${name} APPEND PROPERTY ENVIRONMENT
            "FAKE_CUDA=machine=${file} copies=2"
            "LD_LIBRARY_PATH=${hdp_fake_names}")
    endforeach()
endforeach()
