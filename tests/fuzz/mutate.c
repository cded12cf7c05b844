/* Six kinds of change, a few of them each time. */
#include "fuzz/mutate.h"

#include <string.h>

uint64_t fuzz_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static size_t below(uint64_t *random, size_t limit)
{
    return (size_t)(fuzz_random(random) % limit);
}

/* data[at..at + old) becomes `bytes`, if there is room. */
static size_t put(uint8_t *data, size_t size, size_t room, size_t at,
                  size_t old, const void *bytes, size_t count)
{
    if (size - old + count > room)
        return size;
    memmove(data + at + count, data + at + old, size - at - old);
    if (count > 0)
        memcpy(data + at, bytes, count);
    return size - old + count;
}

static int is_delimiter(uint8_t c)
{
    return strchr(",;+/:=@-{}[]\"\n ", c) != NULL; /* and NUL */
}

static int is_number(uint8_t c)
{
    return (c >= '0' && c <= '9') || c == '.';
}

/* A piece that begins at a random place and ends before a delimiter. */
static void choose_piece(const uint8_t *data, size_t size, uint64_t *random,
                         size_t *at, size_t *length)
{
    size_t end, pieces = 1 + below(random, 4);

    *at = below(random, size);
    while (*at > 0 && !is_delimiter(data[*at - 1]))
        --*at;
    for (end = *at; end < size; end++)
        if (is_delimiter(data[end]) && --pieces == 0)
            break;
    *length = end - *at;
}

static size_t change_number(uint8_t *data, size_t size, size_t room,
                            uint64_t *random)
{
    static const char *const numbers[] = { "0",
                                           "1",
                                           "2",
                                           "-1",
                                           "255",
                                           "256",
                                           "65536",
                                           "2147483647",
                                           "1e9",
                                           "4294967296",
                                           "0.5",
                                           "1e18",
                                           "1e-9",
                                           "1e308",
                                           "9223372036854775807",
                                           "00",
                                           "1e400",
                                           "9007199254740993",
                                           "18446744073709551616",
                                           "64" };
    const char *number =
        numbers[below(random, sizeof numbers / sizeof *numbers)];
    size_t at = below(random, size), end;

    while (at < size && !is_number(data[at]))
        at++;
    for (end = at; end < size && is_number(data[end]);)
        end++;
    if (at == size)
        return size;
    return put(data, size, room, at, end - at, number, strlen(number));
}

static size_t move_piece(uint8_t *data, size_t size, size_t room,
                         uint64_t *random)
{
    uint8_t copy[256];
    size_t at, length, to, over;

    choose_piece(data, size, random, &at, &length);
    if (length > sizeof copy)
        length = sizeof copy;
    memcpy(copy, data + at, length);
    choose_piece(data, size, random, &to, &over);
    return put(data, size, room, to, below(random, 2) ? over : 0, copy, length);
}

static size_t change(uint8_t *data, size_t size, size_t room, uint64_t *random)
{
    static const char letters[] = "0123456789,;+/:=@-.%{}[]\"\\ \n\t_azAZ#\x7f";
    size_t at = below(random, size), length;
    uint8_t byte = (uint8_t)letters[below(random, sizeof letters)];

    switch (below(random, 7)) {
    case 0:
        data[at] ^= (uint8_t)(1u << below(random, 8));
        return size;
    case 1:
        data[at] = (uint8_t)below(random, 256);
        return size;
    case 2:
        return put(data, size, room, at, 0, &byte, 1);
    case 3:
        return put(data, size, room, at, 1, &byte, 1);
    case 4:
        choose_piece(data, size, random, &at, &length);
        return put(data, size, room, at, length, NULL, 0);
    case 5:
        return move_piece(data, size, room, random);
    default:
        return change_number(data, size, room, random);
    }
}

size_t fuzz_mutate(uint8_t *data, size_t size, size_t room, uint64_t *random)
{
    for (size_t times = 1 + below(random, 4); times > 0; times--) {
        if (size == 0) {
            data[0] = (uint8_t)below(random, 256);
            size = 1;
        }
        size = change(data, size, room, random);
    }
    return size;
}
