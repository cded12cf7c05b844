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
    hdp_fake_tests(${name} COPIES 2)
endforeach()
