/* The round trip that every noun's reader must stand: what it takes is valid,
 * and the text written of it reads back as the same text. */
#ifndef FUZZ_NOUN_H
#define FUZZ_NOUN_H
#include <stdlib.h>
#include <string.h>
#include "fuzz/same.h"
#include "json/json.h"

/* Defines `static TYPE *NOUN_taken(data, size)`: the noun of a text, for the
 * target's own checks, which frees it; NULL when the text was refused. */
#define FUZZ_NOUN(TYPE, NOUN)                                                  \
    static TYPE *NOUN##_taken(const uint8_t *data, size_t size)                \
    {                                                                          \
        TYPE *read = NULL, *back = NULL;                                       \
        char *first = NULL, *second = NULL;                                    \
        char *text = fuzz_copy(data, size, 0);                                 \
        hdp_status status = hdpi_##NOUN##_read_json(&read, text, size);        \
        free(text);                                                            \
        if (!fuzz_taken(status, read))                                         \
            return NULL;                                                       \
        FUZZ_CHECK(hdpi_##NOUN##_is_valid(read), "taken, but not valid");      \
        FUZZ_CHECK(hdpi_##NOUN##_write_json(&first, read) == HDP_OK,           \
                   "taken, but not written: %s", hdp_last_error());            \
        status = hdpi_##NOUN##_read_json(&back, first, strlen(first));         \
        FUZZ_CHECK(status == HDP_OK, "its own text is refused: %s\n%s",        \
                   hdp_last_error(), first);                                   \
        FUZZ_CHECK(hdpi_##NOUN##_is_valid(back), "not valid any more");        \
        NOUN##_same(read, back);                                               \
        FUZZ_CHECK(hdpi_##NOUN##_write_json(&second, back) == HDP_OK,          \
                   "not written again: %s", hdp_last_error());                 \
        FUZZ_CHECK(strcmp(first, second) == 0,                                 \
                   "two texts of one noun:\n%s\n%s", first, second);           \
        free(first);                                                           \
        free(second);                                                          \
        hdpi_##NOUN##_free(back);                                              \
        return read;                                                           \
    }
#endif
