/* What every fuzz target shares: the door libFuzzer knows, checks that end the
 * process, and a cursor that turns input bytes into numbers. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H
#include <stddef.h>
#include <stdint.h>
#include <hdp/hdp.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Prints the place and what is wrong there, then aborts. */
_Noreturn void fuzz_failed(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define FUZZ_CHECK(holds, ...)                                                 \
    do {                                                                       \
        if (!(holds))                                                          \
            fuzz_failed(__FILE__, __LINE__, __VA_ARGS__);                      \
    } while (0)

/** A copy of exactly these bytes, so that a sanitizer sees who reads on; with
 *  `end` 1 a NUL follows. The caller frees it. */
char *fuzz_copy(const uint8_t *data, size_t size, int end);

/** 1 when a text was taken. A refusal must be HDP_ERR_ARGUMENT, hand out
 *  nothing, and say why in one clean line of UTF-8. */
int fuzz_taken(hdp_status status, const void *out);

/** Whether it is valid UTF-8 without control bytes. */
int fuzz_is_clean(const char *text);

/* The rest of an input; at its end every byte is 0. */
struct fuzz_bytes {
    const uint8_t *at;
    size_t left;
};

uint8_t fuzz_byte(struct fuzz_bytes *bytes);
/** 0 to limit - 1, from two bytes; limit 1 to 65536. */
int32_t fuzz_below(struct fuzz_bytes *bytes, int32_t limit);
/** 0 to INT64_MAX, all magnitudes and both ends. */
int64_t fuzz_wide(struct fuzz_bytes *bytes);
/** 0 or more and finite, all magnitudes from 1e-30 to 1e30. */
double fuzz_real(struct fuzz_bytes *bytes);
#endif
