/* Functions of libraries that are opened at run time: looked up by name into
 * the places that keep them, and the file they stand in. */
#ifndef HDPI_SYMBOLS_H
#define HDPI_SYMBOLS_H
#include <stddef.h>

/* What was found of a library, for hdp_info: a path or a reason, one line each,
 * static or process-long. */
struct hdpi_library {
    const char *name; /* "openblas" */
    char path[256];   /* empty: not found */
    char note[256];   /* version, flavour, or why not */
};

struct hdpi_symbol {
    const char *name;
    size_t offset; /* of the function pointer in the struct to be filled */
    int required;  /* 0: it is left alone where the library lacks it */
};

/** Fills the struct at `out` from a dlopen() handle, or from RTLD_DEFAULT. The
 *  name of the first required function that is lacking, static; NULL: none is.
 *  Any thread. */
const char *hdpi_symbols_find(void *out, void *library,
                              const struct hdpi_symbol *symbols, size_t count);
/** The file that a function stands in, cut to capacity; `otherwise` where the
 *  loader has no name for it. The address is that of the pointer to it. */
void hdpi_symbol_file(char *out, size_t capacity, const void *function,
                      const char *otherwise);
#endif
