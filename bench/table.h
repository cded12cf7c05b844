/* A table for people: cells are gathered first, then printed in columns as
 * wide as what they hold. */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H
#include <stdint.h>
#include <stdio.h>

enum { TABLE_COLUMNS_MAX = 12, TABLE_CELL_MAX = 72 };

struct table {
    int columns, cells, capacity;
    const char *alignment; /* one 'l' or 'r' a column */
    char (*text)[TABLE_CELL_MAX];
};

/** A table with these titles, ended by NULL; alignment "lrr...". */
void table_open(struct table *table, const char *alignment,
                const char *const *titles);

/** The next cell, left to right, top to bottom. */
void table_cell(struct table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Prints and frees; short memory prints what there is. */
void table_close(struct table *table, FILE *out);

/* Figures with a unit, in a buffer of the caller's of at least 24 bytes. */
const char *table_ns(char *buffer, double ns);       /* 2.800 ms */
const char *table_bytes(char *buffer, double bytes); /* 4 KiB, 1.5 GiB */
#endif
