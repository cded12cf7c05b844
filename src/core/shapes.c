/* Sizes seen, the latest first. */
#include "core/shapes.h"

int hdpi_shapes_is_new(struct hdpi_shapes *shapes, int64_t items)
{
    int at = 0;

    if (items <= 0)
        return 0;
    while (at < HDPI_SHAPES_MAX - 1 && shapes->items[at] != items)
        at++;
    int is_new = shapes->items[at] != items;
    for (; at > 0; at--)
        shapes->items[at] = shapes->items[at - 1];
    shapes->items[0] = items;
    return is_new;
}
