/* The builder's members beyond json.h: what the nouns need. */
#ifndef HDPI_JSON_WRITER_H
#define HDPI_JSON_WRITER_H
#include "base/text.h"
#include "json/json.h"
#include "json/names.h"

/** A builder whose document begins with the envelope of one schema. */
hdp_status hdpi_json_new_document(struct hdpi_json **out, const char *schema);

/* The members of a noun's document but for its envelope, into the object that
 * is open. */
void hdpi_topology_put_json(struct hdpi_json *json,
                            const hdp_topology *topology);
void hdpi_profile_put_json(struct hdpi_json *json, const hdp_profile *profile);

/** Like hdpi_json_int(): key NULL inside an array. A double that is not finite
 *  is null; any other reads back as the same double. */
void hdpi_json_real(struct hdpi_json *json, const char *key, double value);
void hdpi_json_bool(struct hdpi_json *json, const char *key, int32_t value);

/** An integer where -1 stands for not known: null then. */
void hdpi_json_known(struct hdpi_json *json, const char *key, int64_t value);

/** 64 bits as 16 hexadecimal digits in a string: JSON's integers end sooner. */
void hdpi_json_bits(struct hdpi_json *json, const char *key, uint64_t value);

/** The name of `value`; null when the table has none for it. */
void hdpi_json_name(struct hdpi_json *json, const char *key,
                    const struct hdpi_names *names, int32_t value);

/* One array of `count` elements each; those of knowns as hdpi_json_known(). */
void hdpi_json_knowns(struct hdpi_json *json, const char *key,
                      const int64_t *values, int64_t count);
void hdpi_json_reals(struct hdpi_json *json, const char *key,
                     const double *values, int64_t count);
void hdpi_json_bools(struct hdpi_json *json, const char *key,
                     const int32_t *values, int64_t count);
void hdpi_json_all_names(struct hdpi_json *json, const char *key,
                         const struct hdpi_names *names, const int32_t *values,
                         int64_t count);

enum { HDPI_REAL_ROOM = HDPI_TEXT_DOUBLE_MAX + 1 };

/** The shortest decimal that reads back as `value`, whatever the locale;
 *  "null" when it is not finite. */
void hdpi_json_format_real(char out[HDPI_REAL_ROOM], double value);
#endif
