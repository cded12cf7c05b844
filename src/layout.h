/* The public structs as data: name, size and place of each field. */
#ifndef HDPI_LAYOUT_H
#define HDPI_LAYOUT_H
#include <hdp/hdp.h>

struct hdpi_field {
    const char *name;
    size_t offset, size;
};

struct hdpi_layout {
    const char *name;
    size_t size;
    const struct hdpi_field *fields;
    size_t field_count;
};

/** Every public struct, in the headers' order: hdp.h, lease.h. */
const struct hdpi_layout *hdpi_layouts(size_t *out_count);
#endif
