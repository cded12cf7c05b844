/* One full document of each noun, as its writer spells it, for the tests that
 * damage texts or read them under other locales. */
#ifndef JSON_SAMPLES_H
#define JSON_SAMPLES_H

#define TOPOLOGY_SAMPLE                                                        \
    "{\"schema\":\"hdp.topology\",\"schema_version\":1,\"devices\":["          \
    "{\"spec\":\"sim:0/fixed=500us/item=10us\",\"backend\":\"sim\","           \
    "\"logical_id\":0,\"uuid\":\"SIM-0\",\"pci\":\"\",\"name\":\"first\","     \
    "\"simulated\":true,\"slowdown\":null,\"duty_percent\":100,\"sms\":0,"     \
    "\"threads\":0,\"memory_bytes\":80000000000,\"free_bytes\":0,"             \
    "\"partition_sms\":0,\"compute_major\":0,\"compute_minor\":0,"             \
    "\"runnable\":true,\"display\":false,\"native_dtypes\":[\"f32\",\"f64\"]," \
    "\"slow_dtypes\":[\"bf16\"],"                                              \
    "\"ask\":\"sim:0/fixed=500us/item=10us/noise=2.5%/fail=alloc:3-\"},"       \
    "{\"spec\":\"host:1/duty=50\",\"backend\":\"host\",\"logical_id\":1,"      \
    "\"uuid\":\"\",\"pci\":\"\",\"name\":\"a core\",\"simulated\":false,"      \
    "\"slowdown\":2,\"duty_percent\":50,\"sms\":0,\"threads\":1,"              \
    "\"memory_bytes\":0,\"free_bytes\":0,\"partition_sms\":0,"                 \
    "\"compute_major\":0,\"compute_minor\":0,\"runnable\":true,"               \
    "\"display\":false,\"native_dtypes\":[],\"slow_dtypes\":[],"               \
    "\"ask\":\"host:1/duty=50\"}],"                                            \
    "\"visibility\":{\"mask_set\":true,\"mask_changed\":false,\"entries\":["   \
    "{\"text\":\"0\",\"verdict\":\"accepted\",\"device\":\"SIM-0\","           \
    "\"index\":0},{\"text\":\"7\",\"verdict\":\"range\",\"device\":null,"      \
    "\"index\":null}],\"visible\":[3],\"error\":null},"                        \
    "\"links\":[{\"from\":0,\"to\":1,\"peer\":false,\"kind\":2,"               \
    "\"bytes_per_second\":800000000}],"                                        \
    "\"notes\":[\"cuda: libcuda.so.1: cannot open \\\"it\\\"\"]}"

#define PROFILE_SAMPLE                                                         \
    "{\"schema\":\"hdp.profile\",\"schema_version\":1,\"members\":["           \
    "{\"key\":\"SIM-0\",\"probe\":\"work\",\"dtype\":\"bf16\","                \
    "\"compute\":\"f32\",\"provenance\":\"steps\",\"weight\":5,"               \
    "\"doubted\":2.5,"                                                         \
    "\"reliable\":false,\"simulated\":true,"                                   \
    "\"duty_percent\":100,\"lacks_dtype\":false,\"rate\":40000,"               \
    "\"rate_flops\":1234500000.5,\"ratio\":0.8,\"spread\":0.0125,"             \
    "\"fixed_ns\":0,\"item_ns\":0,"                                            \
    "\"points\":[[1,500000.25],[8,200000],[16,400000]],"                       \
    "\"point_provenance\":[\"measured\",\"steps\",\"measured\"],"              \
    "\"in_bytes_per_second\":0,\"out_bytes_per_second\":0,"                    \
    "\"reduce_bytes_per_second\":0,\"copy_bytes_per_second\":0,"               \
    "\"launch_ns\":0,\"memory_bytes\":80000000000,"                            \
    "\"memory_domain\":3,\"samples\":[399999.5,400000.5]},"                    \
    "{\"key\":\"\",\"probe\":\"work\",\"dtype\":\"bf16\","                     \
    "\"compute\":\"f32\",\"provenance\":\"model\",\"weight\":2,"               \
    "\"doubted\":0,"                                                           \
    "\"reliable\":true,\"simulated\":false,"                                   \
    "\"duty_percent\":50,\"lacks_dtype\":false,\"rate\":0,\"rate_flops\":0,"   \
    "\"ratio\":0.2,\"spread\":0,\"fixed_ns\":1500000,\"item_ns\":100000,"      \
    "\"points\":[],\"point_provenance\":[],"                                   \
    "\"in_bytes_per_second\":1e20,"                                            \
    "\"out_bytes_per_second\":0.125,\"reduce_bytes_per_second\":0,"            \
    "\"copy_bytes_per_second\":2e21,\"launch_ns\":9400.5,"                     \
    "\"memory_bytes\":0,\"memory_domain\":0,\"samples\":[]}],"                 \
    "\"elapsed_ns\":300000000,\"warmup_ns\":1,\"ended_by\":\"budget\","        \
    "\"drifting\":true,\"fingerprint\":\"fedcba9876543210\"}"

/* Without "hash": what it is made of is the core's matter. */
#define PLAN_SAMPLE                                                            \
    "{\"schema\":\"hdp.plan\",\"schema_version\":1,\"rule\":\"finish\","       \
    "\"total\":256,\"quantum\":1,\"shares\":[230,26],\"offsets\":[0,230],"     \
    "\"weights\":[0.8984375,0.1015625],\"rank_ns\":[2800000,2800000],"         \
    "\"predicted_ns\":2800000,\"lower_bound_ns\":2800000,\"gap\":0,"           \
    "\"equal_ns\":7900000,\"best_single_ns\":3060000,"                         \
    "\"state\":[\"active\",\"active\"],\"bound_by\":[\"speed\",\"speed\"],"    \
    "\"fingerprint\":\"00000000000000ff\"}"

#define REPORT_SAMPLE                                                          \
    "{\"schema\":\"hdp.report\",\"schema_version\":1,\"step\":3,"              \
    "\"step_ns\":2800000,\"reduce_engine\":\"local\",\"items\":[230,26],"      \
    "\"compute_ns\":[2800000,null],\"held_bytes\":[4096,null],"                \
    "\"peak_bytes\":[8192,null],\"free_bytes\":[null,null],"                   \
    "\"first_at_share\":[true,false],\"cause\":[\"none\",\"heat\"],"           \
    "\"spans\":[{\"rank\":0,\"lane\":\"compute\",\"phase\":\"compute\","       \
    "\"piece\":0,\"start_ns\":-5,\"end_ns\":2800000},"                         \
    "{\"rank\":1,\"lane\":\"reduce\",\"phase\":\"wait\",\"piece\":1,"          \
    "\"start_ns\":1,\"end_ns\":1}]}"

/* Keys in another order than the devices, and none: by place. */
#define MACHINE_SAMPLE                                                         \
    "{\"schema\":\"hdp.machine\",\"schema_version\":1,\"name\":\"pair\","      \
    "\"text\":\"two cards, by "                                                \
    "hand\",\"topology\":{\"schema\":\"hdp.topology\","                        \
    "\"schema_version\":1,\"devices\":[{\"spec\":\"cuda:0\",\"backend\":"      \
    "\"cuda\","                                                                \
    "\"logical_id\":0,\"uuid\":\"GPU-a\",\"name\":\"a card\",\"sms\":82,"      \
    "\"memory_bytes\":24000000000,\"compute_major\":8,\"compute_minor\":6,"    \
    "\"runnable\":true,\"display\":true,\"native_dtypes\":[\"f32\",\"bf16\"]," \
    "\"slow_dtypes\":[\"f64\"]},{\"spec\":\"cuda:1\",\"backend\":\"cuda\","    \
    "\"logical_id\":1,\"uuid\":\"GPU-b\",\"name\":\"an old "                   \
    "card\",\"runnable\":true,"                                                \
    "\"native_dtypes\":[\"f32\"]}],\"links\":[{\"from\":0,\"to\":1,\"peer\":"  \
    "true,"                                                                    \
    "\"kind\":0,\"bytes_per_second\":6000000000}]},\"profiles\":[{"            \
    "\"schema\":\"hdp.profile\",\"schema_version\":1,\"members\":["            \
    "{\"key\":\"GPU-b\",\"dtype\":\"f32\",\"fixed_ns\":1000,\"item_ns\":250."  \
    "5,"                                                                       \
    "\"in_bytes_per_second\":3000000000},{\"key\":\"GPU-a\","                  \
    "\"points\":[[1,500.25],[192,32600],[256,26000]]}]},"                      \
    "{\"dtype\":\"bf16\",\"members\":[{\"item_ns\":10},{\"lacks_dtype\":true}" \
    "]}],"                                                                     \
    "\"faults\":[{\"device\":1,\"keys\":\"noise=2%/slow=2x@100/"               \
    "fail=alloc:3\"}]}"
#endif
