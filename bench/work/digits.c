/* The digits' table, read. */
#include "digits.h"

int digits_image(int index, uint8_t pixels[DIGITS_PIXELS])
{
    const char *row = digits_table[index];

    for (int i = 0; i < DIGITS_PIXELS; ++i)
        pixels[i] = (uint8_t)(row[i] >= 'a' ? row[i] - 'a' + 10 : row[i] - '0');
    return row[DIGITS_PIXELS] - '0';
}
