/* The tables. A value's place in its table is its number, so a new public
 * value goes to the end here too; texts never change within a schema. */
#include <string.h>
#include "json/json.h"
#include "json/names.h"

#define TABLE(name, ...)                                                       \
    static const char *const name##_texts[] = { __VA_ARGS__ };                 \
    const struct hdpi_names hdpi_##name##_names = {                            \
        name##_texts, (int32_t)(sizeof name##_texts / sizeof *name##_texts)    \
    }

TABLE(backend, NULL, "host", "cuda", "sim");
TABLE(dtype, NULL, "f32", "tf32", "f16", "bf16", "f64", "i32", "i64", "u8",
      "i8");
TABLE(verdict, "accepted", "range", "not_a_number", "repeat", "ambiguous",
      "after_cut", "other_kind");
TABLE(probe, "gemm", "copy", "launch", "link", "work", "all");
TABLE(ended, "spread", "budget", "given");
TABLE(origin, "model", "measured", "steps", "assumed");
TABLE(rule, "finish", "proportional", "equal", "single", "manual");
TABLE(state, "active", "empty", "benched");
TABLE(bound, "speed", "memory", "quantum", "min", "max", "link", "dtype",
      "dropped");
TABLE(cause, "none", "heat", "power", "link", "neighbour", "shape");
TABLE(engine, "none", "local", "nccl", "world");
TABLE(lane, "compute", "copy", "reduce");
TABLE(phase, "in", "compute", "out", "reduce", "wait");

const char *hdpi_names_text(const struct hdpi_names *names, int32_t value)
{
    return value >= 0 && value < names->count ? names->texts[value] : NULL;
}

int32_t hdpi_names_value(const struct hdpi_names *names, const char *text)
{
    for (int32_t i = 0; i < names->count; i++)
        if (names->texts[i] && strcmp(names->texts[i], text) == 0)
            return i;
    return -1;
}
