/* The size-first rule. A size is somebody else's word: it is checked against
 * what any struct could have before a byte behind it is read. */
#include <inttypes.h>
#include <string.h>
#include "base/options.h"

/* No public struct comes near; an uninitialised size nearly always passes. */
enum { STRUCT_BYTES_MAX = 64 << 10 };

static size_t size_at(const void *from)
{
    size_t size;
    memcpy(&size, from, sizeof size);
    return size;
}

static hdp_status check_size(size_t size, const char *name)
{
    if (size >= sizeof(size_t) && size <= STRUCT_BYTES_MAX)
        return HDP_OK;
    return hdpi_fail(HDP_ERR_ARGUMENT,
                     "%s.size is %zu: set by hdp_options_init()?", name, size);
}

static hdp_status copy_in(void *own, size_t own_size, const void *given,
                          size_t size, const char *name)
{
    const unsigned char *bytes = given;
    for (size_t i = own_size; i < size; i++)
        if (bytes[i] != 0)
            return hdpi_fail(HDP_ERR_ARGUMENT,
                             "%s has %zu bytes, this library knows %zu, and "
                             "byte %zu is not zero: made for a newer library",
                             name, size, own_size, i);
    memset(own, 0, own_size);
    memcpy(own, given, size < own_size ? size : own_size);
    memcpy(own, &own_size, sizeof own_size);
    return HDP_OK;
}

hdp_status hdpi_options_read(void *own, size_t own_size, const void *given,
                             const char *name)
{
    memset(own, 0, own_size);
    memcpy(own, &own_size, sizeof own_size);
    if (!given)
        return HDP_OK;
    HDPI_RETURN_IF(check_size(size_at(given), name));
    return copy_in(own, own_size, given, size_at(given), name);
}

hdp_status hdpi_options_read_at(void *own, size_t own_size, const void *array,
                                int32_t index, const char *name)
{
    if (!array || index < 0)
        return hdpi_fail(HDP_ERR_ARGUMENT, "%s[%" PRId32 "] is not there", name,
                         index);
    size_t step = size_at(array);
    HDPI_RETURN_IF(check_size(step, name));
    const unsigned char *element =
        (const unsigned char *)array + (size_t)index * step;
    if (size_at(element) != step)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "%s[%" PRId32 "].size is %zu, but %s[0].size is %zu",
                         name, index, size_at(element), name, step);
    return copy_in(own, own_size, element, step, name);
}

hdp_status hdpi_options_write(void *out, const void *own, size_t own_size,
                              const char *name)
{
    if (!out)
        return hdpi_fail(HDP_ERR_ARGUMENT, "%s: out is NULL", name);
    size_t size = size_at(out);
    HDPI_RETURN_IF(check_size(size, name));
    size_t known = size < own_size ? size : own_size;
    unsigned char *bytes = out;
    memcpy(bytes + sizeof size, (const unsigned char *)own + sizeof size,
           known - sizeof size);
    memset(bytes + known, 0, size - known);
    return HDP_OK;
}

hdp_status hdp_options_init(void *options, size_t size)
{
    if (!options)
        return hdpi_fail(HDP_ERR_ARGUMENT, "options is NULL");
    if (size < sizeof size || size > STRUCT_BYTES_MAX)
        return hdpi_fail(HDP_ERR_ARGUMENT,
                         "size is %zu: no options struct has that", size);
    memset(options, 0, size);
    memcpy(options, &size, sizeof size);
    return HDP_OK;
}
