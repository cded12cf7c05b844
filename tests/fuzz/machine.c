/* Machine files from any text. Beyond the round trip: what is found of a device
 * is a time, padded never above raw, and a member of the machine. */
#include <float.h>
#include "core/machine.h"
#include "fuzz/noun.h"

typedef struct hdpi_machine hdpi_machine;
FUZZ_NOUN(hdpi_machine, machine)

static void check_figures(const struct hdpi_figures *figures)
{
    static const int64_t counts[] = { 1, 2, 64, 65, 4096, INT64_C(1) << 40 };
    double before = 0;

    FUZZ_CHECK(figures->rank && !figures->rank->lacks_dtype,
               "figures of a dtype that is lacking");
    FUZZ_CHECK(figures->item_flops >= 0 && figures->item_flops <= DBL_MAX,
               "%g operations an item", figures->item_flops);
    for (int64_t i = 0; figures->sizes && i < figures->size_count; i++)
        FUZZ_CHECK(figures->sizes[i] > (i > 0 ? figures->sizes[i - 1] : 0),
                   "size %lld is out of order", (long long)i);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        double padded = hdpi_figures_ns(figures, counts[i]);
        double raw = hdpi_figures_raw_ns(figures, counts[i]);
        FUZZ_CHECK(padded >= before && padded <= DBL_MAX,
                   "%lld items take %a ns, fewer took %a", (long long)counts[i],
                   padded, before);
        FUZZ_CHECK(raw >= padded && raw <= DBL_MAX,
                   "%lld items take %a ns raw, %a padded", (long long)counts[i],
                   raw, padded);
        before = padded;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hdpi_machine *machine = machine_taken(data, size);

    if (!machine)
        return 0;
    FUZZ_CHECK(machine->topology->info.device_count <= HDPI_MACHINE_DEVICES_MAX,
               "%d devices", (int)machine->topology->info.device_count);
    for (int32_t i = 0; i < machine->topology->info.device_count; i++)
        for (int32_t probe = -1; probe < HDP_PROBE_ALL; probe++)
            for (int32_t dtype = 0; dtype <= HDP_F64; dtype++) {
                struct hdpi_figures figures;
                if (hdpi_model_find(&figures, &machine->models[i], probe,
                                    dtype))
                    check_figures(&figures);
            }
    hdpi_machine_free(machine);
    return 0;
}
