/* The /key=value part of a device specification: one table says which adapter
 * takes which key, how its value is read and how it is written. */
#ifndef HDPI_SPEC_KEYS_H
#define HDPI_SPEC_KEYS_H
#include "base/text.h"
#include "core/spec.h"

/** HDP_ERR_ARGUMENT about text[start..end): quotes it (cut when long) with
 *  its 1-based position, then the reason. */
hdp_status hdpi_spec_refuse(const char *text, size_t start, size_t end,
                            const char *format, ...) HDPI_PRINTF(4, 5);

/**
 * Reads text[start..end), one "key=value", into the fields of ask->kind.
 *
 * @param seen  Keys of this item so far, zero at first; repeats are refused.
 * @return HDP_ERR_ARGUMENT with the position.
 */
hdp_status hdpi_spec_read_key(struct hdpi_ask *ask, uint32_t *seen,
                              const char *text, size_t start, size_t end);

/** "host", "cuda", "sim"; NULL for another kind. */
const char *hdpi_spec_kind_name(int32_t kind);
#endif
