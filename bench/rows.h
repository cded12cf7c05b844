/* The document as rows, for the forms that are read line by line: one flat
 * list, each row an object that says its `type` and can be read alone. */
#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H
#include <jansson.h>

/** All rows in the document's order. NULL when memory is short. Lists inside a
 *  row stay (samples, points). */
json_t *rows_all(json_t *root);

/** The same for tables: plain values only. A timing becomes one value a
 *  statistic (step_median_ns), a rule's result one row a member. */
json_t *rows_flat(json_t *root);

/** Of the flat rows those that a command is asked for: discover's devices,
 *  calibrate's members, split's ranks, results of run and demo, sizes of
 *  reduce. Empty where the command did not get that far. */
json_t *rows_main(json_t *root);

/** Names of all fields of the rows from `first` to before `end`, in the order
 *  of appearance, without `type`; an object, for json_object_foreach(). */
json_t *rows_columns(json_t *rows, size_t first, size_t end);
#endif
