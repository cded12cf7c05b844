#!/bin/sh
# digits.txt to the table that hdp_bench carries, so that it needs no file.
# usage: sh examples/data/to_table.sh > bench/work/digits_table.c
set -eu
here=$(dirname "$0")
cat <<'END'
/* Made by examples/data/to_table.sh from examples/data/digits.txt, whose README
 * names source and licence (CC BY 4.0). One string an image: 64 pixels, label.
 */
#include "digits.h"

const char digits_table[DIGITS_COUNT][DIGITS_PIXELS + 2] = {
END
sed 's/.*/    "&",/' "$here/digits.txt"
echo '};'
