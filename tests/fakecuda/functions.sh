#!/bin/sh
# The functions of CUDA that hdp may call are those of some lists, and the
# fake defines them all and no other.
#   functions.sh LIBRARY LIST...
# NCCL's own second names of its functions (pnccl) are not for hdp.
set -eu
LC_ALL=C
export LC_ALL
library=$1
shift
found=$(mktemp)
listed=$(mktemp)
trap 'rm -f "$found" "$listed"' EXIT
nm -D --defined-only "$library" | awk '{ print $3 }' |
    grep -v -e '^fake_' -e '^pnccl' | sort >"$found"
sort "$@" >"$listed"
if ! diff "$listed" "$found"; then
    echo "expected the functions of $* (<), got those of $library (>)"
    exit 1
fi
