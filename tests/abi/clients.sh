#!/bin/sh
# The four client programs must stay writable: all compile, and (a) runs on
# whatever this machine has, its work counted row by row.
#   clients.sh [LIBHDP [ROOT]]   LIBHDP: the shared library (default:
#                                HDP_LIBRARY); ROOT: the source tree
# Environment: HDP_CC (else cc), HDP_SANITIZE as the library was built.
# Exit: 0 all well, 1 something is not, 77 all compile but no library to run on.
set -eu
library=${1:-${HDP_LIBRARY:-}}
root=${2:-${HDP_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}}
clients=$root/tests/abi/clients
stand_in=$root/tests/abi/alone/cuda
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0

# compile COMPILER SOURCE FLAGS...: a warning is a failure.
compile() {
    compiler=$1 source=$2
    shift 2
    if ! "$compiler" -std=c11 -Wall -Wextra -pedantic -Werror \
        -I "$root/include" "$@" -c -o "$tmp/${source%.c}.o" \
        "$clients/$source" 2>"$tmp/errors"; then
        echo "$compiler $* $source: expected to compile, got"
        cat "$tmp/errors"
        bad=1
    fi
}

for compiler in $(printf '%s\n' "${HDP_CC:-cc}" gcc clang | sort -u); do
    command -v "$compiler" >/dev/null || continue
    for source in a_executor.c d_engine.c; do
        compile "$compiler" $source
    done
    # The stand-in has the two names that the clients use; the real header is
    # tried as well where there is one.
    for cuda in "$stand_in" ${CUDA_HOME:+"$CUDA_HOME/include"} \
        /usr/local/cuda/include /usr/local/include; do
        [ -f "$cuda/cuda_runtime_api.h" ] || continue
        for source in b_llmc.c c_layers.c; do
            compile "$compiler" $source -isystem "$cuda"
        done
    done
done
[ $bad = 0 ] || exit 1

if [ -z "$library" ] || ! [ -f "$library" ]; then
    echo "skipped: all four compile, but there is no libhdp to run (a) on"
    exit 77
fi
directory=$(cd "$(dirname "$library")" && pwd)
# shellcheck disable=SC2086
"${HDP_CC:-cc}" -std=c11 -D_GNU_SOURCE -g -I "$root/include" \
    ${HDP_SANITIZE:+-fsanitize=$HDP_SANITIZE} -o "$tmp/a" \
    "$clients/a_executor.c" "$clients/a_main_work.c" \
    "$library" -Wl,-rpath,"$directory" || exit 1
code=0
"$tmp/a" || code=$?
if [ $code != 0 ]; then
    echo "a_executor: expected exit code 0, got $code"
    exit 1
fi
echo "all four compile; (a) ran 100 steps of 4096 rows"
