#!/bin/sh
# The functions of CUDA that hdp may call are those of functions.txt, and the
# fake defines them all and no other.
#   functions.sh LIBRARY
set -eu
LC_ALL=C
export LC_ALL
here=$(cd "$(dirname "$0")" && pwd)
found=$(mktemp)
trap 'rm -f "$found"' EXIT
nm -D --defined-only "$1" | awk '{ print $3 }' | grep -v '^fake_' |
    sort >"$found"
if ! diff "$here/functions.txt" "$found"; then
    echo "expected the functions of functions.txt (<), got those of $1 (>)"
    exit 1
fi
