/* Topologies from any text. Beyond the round trip: what was asked of each
 * device can be asked again. */
#include "core/spec.h"
#include "fuzz/noun.h"

FUZZ_NOUN(hdp_topology, topology)

static void check_ask(const struct hdpi_ask *ask)
{
    struct hdpi_spec spec = { 0 };
    char text[4096];

    if (ask->kind == 0)
        return; /* the text had no ask */
    hdpi_spec_write(text, sizeof text, ask);
    FUZZ_CHECK(hdpi_spec_parse(&spec, text) == HDP_OK, "\"%s\" is refused: %s",
               text, hdp_last_error());
    FUZZ_CHECK(spec.count == 1, "\"%s\" is %d devices", text, (int)spec.count);
    hdpi_spec_finish(&spec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hdp_topology *topology = topology_taken(data, size);

    if (!topology)
        return 0;
    for (int32_t i = 0; i < topology->info.device_count; i++) {
        char key[HDPI_NAME_MAX * 2];
        check_ask(&topology->devices[i].ask);
        hdpi_device_key(key, sizeof key, &topology->devices[i].info);
        FUZZ_CHECK(fuzz_is_clean(key), "key of device %d: %s", (int)i, key);
    }
    hdpi_topology_free(topology);
    return 0;
}
