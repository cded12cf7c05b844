/* The loader's answers are object pointers, and ISO C has no cast from those to
 * functions: their bytes are copied. */
#include "base/symbols.h"
#include <dlfcn.h>
#include <string.h>
#include "base/text.h"

const char *hdpi_symbols_find(void *out, void *library,
                              const struct hdpi_symbol *symbols, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        void *found = dlsym(library, symbols[i].name);
        if (found)
            memcpy((char *)out + symbols[i].offset, &found, sizeof found);
        else if (symbols[i].required)
            return symbols[i].name;
    }
    return NULL;
}

void hdpi_symbol_file(char *out, size_t capacity, const void *function,
                      const char *otherwise)
{
    void *address;
    Dl_info info;

    memcpy(&address, function, sizeof address);
    hdpi_text_copy(out, capacity,
                   address && dladdr(address, &info) && info.dli_fname &&
                           info.dli_fname[0]
                       ? info.dli_fname
                       : otherwise);
}
