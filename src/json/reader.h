/* Reading with a path: every value knows the way to it, so that every refusal
 * can name it. Private to the readers of the nouns. */
#ifndef HDPI_JSON_READER_H
#define HDPI_JSON_READER_H
#include <jansson.h>
#include "json/json.h"
#include "json/names.h"

enum { HDPI_JSON_RANKS_MAX = 1 << 20, HDPI_JSON_POINTS_MAX = 1 << 16 };

/* A value and where it stands; on the stack, each pointing to the one around
 * it. value NULL: not there. */
struct hdpi_json_at {
    const struct hdpi_json_at *up; /* NULL: the document */
    const char *key;               /* NULL: an element, at `index` */
    size_t index;
    const json_t *value;
};

/**
 * Parses a document and checks its envelope.
 *
 * @param out  Receives the document's object; release with json_decref().
 * @return HDP_ERR_ARGUMENT: malformed, passes a limit, repeats a key, is of
 *         another schema or of a newer version; HDP_ERR_MEMORY.
 */
hdp_status hdpi_json_load(json_t **out, const char *text, size_t length,
                          const char *schema);

/** The two halves of it, for a document of several schemas and for documents
 *  inside another. */
hdp_status hdpi_json_parse(json_t **out, const char *text, size_t length);
hdp_status hdpi_json_need_schema(const struct hdpi_json_at *document,
                                 const char *schema);

/* The noun of an object in a document, its envelope not looked at. */
hdp_status hdpi_topology_read_at(hdp_topology **out,
                                 const struct hdpi_json_at *at);
hdp_status hdpi_profile_read_at(hdp_profile **out,
                                const struct hdpi_json_at *at);

/** HDP_ERR_ARGUMENT "PATH: expected EXPECTED, got ..." for that value. */
hdp_status hdpi_json_refuse(const struct hdpi_json_at *at,
                            const char *expected);

/** The same with a sentence of its own: "PATH: WHAT". */
hdp_status hdpi_json_complain(const struct hdpi_json_at *at, const char *what);

/** A member of an object (null counts as not there) or element of an array. */
struct hdpi_json_at hdpi_json_member(const struct hdpi_json_at *object,
                                     const char *key);
struct hdpi_json_at hdpi_json_element(const struct hdpi_json_at *array,
                                      size_t index);

/** HDP_ERR_ARGUMENT unless it is an object. */
hdp_status hdpi_json_need_object(const struct hdpi_json_at *at);

/** An array's length, checked; an array that is not there has length 0 and is
 *  refused only when low > 0. */
hdp_status hdpi_json_need_array(const struct hdpi_json_at *at, size_t low,
                                size_t high, size_t *out_count);

/* What follows reads one value into *out, which stays as it is when the value
 * is not there. One of another type or outside its range is refused; the noun
 * may then be half-read. null reads as -1 where low is -1. */
hdp_status hdpi_json_read_int(const struct hdpi_json_at *at, int64_t low,
                              int64_t high, int64_t *out);
hdp_status hdpi_json_read_name(const struct hdpi_json_at *at,
                               const struct hdpi_names *names, int32_t *out);
/** A number from `low` >= 0 to `high`; DBL_MAX: any finite one. */
hdp_status hdpi_json_read_real(const struct hdpi_json_at *at, double low,
                               double high, double *out);
/** A string without control bytes that fits into out[capacity]. */
hdp_status hdpi_json_read_text(const struct hdpi_json_at *at, char *out,
                               size_t capacity);

/* The same for one member of an object. */
hdp_status hdpi_json_take_int(const struct hdpi_json_at *object,
                              const char *key, int64_t low, int64_t high,
                              int64_t *out);
hdp_status hdpi_json_take_int32(const struct hdpi_json_at *object,
                                const char *key, int32_t low, int32_t high,
                                int32_t *out);
hdp_status hdpi_json_take_real(const struct hdpi_json_at *object,
                               const char *key, double low, double high,
                               double *out);
hdp_status hdpi_json_take_bool(const struct hdpi_json_at *object,
                               const char *key, int32_t *out);
/** 16 hexadecimal digits in a string, as hdpi_json_bits() writes them. */
hdp_status hdpi_json_take_bits(const struct hdpi_json_at *object,
                               const char *key, uint64_t *out);
hdp_status hdpi_json_take_name(const struct hdpi_json_at *object,
                               const char *key, const struct hdpi_names *names,
                               int32_t *out);
hdp_status hdpi_json_take_text(const struct hdpi_json_at *object,
                               const char *key, char *out, size_t capacity);

/* And for a member that is an array of exactly `count`. */
hdp_status hdpi_json_take_ints(const struct hdpi_json_at *object,
                               const char *key, int64_t low, size_t count,
                               int64_t *out);
hdp_status hdpi_json_take_bools(const struct hdpi_json_at *object,
                                const char *key, size_t count, int32_t *out);
hdp_status hdpi_json_take_names(const struct hdpi_json_at *object,
                                const char *key, const struct hdpi_names *names,
                                size_t count, int32_t *out);
#endif
