#!/bin/sh
# The public headers as their users meet them: alone, under every standard they
# promise, with each compiler here, pedantic, warnings as errors.
#   header.sh [ROOT]    ROOT: the source tree (default: HDP_SOURCE_DIR, this one)
# Compilers: those of gcc, clang, g++, clang++ and HDP_CC that are installed.
# Exit: 0 all well, 1 something is not, 77 no compiler.
set -eu
root=${1:-${HDP_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}}
alone=$root/tests/abi/alone
header=$root/include/hdp/hdp.h
lease=$root/include/hdp/lease.h
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
strict='-Wall -Wextra -pedantic -Werror -Wshadow -Wconversion -Wundef
    -Wwrite-strings -Wcast-qual'
bad=0
runs=0

# compile COMPILER STANDARD SOURCE FLAGS...
compile() {
    compiler=$1 standard=$2 source=$3
    shift 3
    # A standard that this compiler does not know is no finding of ours.
    if ! "$compiler" "-std=$standard" -fsyntax-only "$tmp/empty.${source##*.}" \
        2>/dev/null; then
        echo "$compiler does not know $standard: not tried"
        return 0
    fi
    runs=$((runs + 1))
    # shellcheck disable=SC2086
    if ! "$compiler" "-std=$standard" $strict -I "$root/include" "$@" \
        -c -o "$tmp/out.o" "$source" 2>"$tmp/errors"; then
        echo "$compiler -std=$standard $* ${source##*/}: expected no warning, got"
        cat "$tmp/errors"
        bad=1
    fi
}

echo 'typedef int empty;' >"$tmp/empty.c"
cp "$tmp/empty.c" "$tmp/empty.cpp"

for compiler in $(printf '%s\n' gcc clang ${HDP_CC:+"$HDP_CC"} | sort -u); do
    command -v "$compiler" >/dev/null || continue
    for standard in c99 c11 c17; do
        compile "$compiler" $standard "$alone/header_c.c" -Wstrict-prototypes
        compile "$compiler" $standard "$alone/lease_c.c" -Wstrict-prototypes
        compile "$compiler" $standard "$alone/interop_c.c" -isystem "$alone/cuda"
    done
done
for compiler in g++ clang++; do
    command -v $compiler >/dev/null || continue
    for standard in c++11 c++14 c++17 c++20; do
        compile $compiler $standard "$alone/header_cpp.cpp"
        compile $compiler $standard "$alone/lease_cpp.cpp"
        compile $compiler $standard "$alone/interop_cpp.cpp" \
            -isystem "$alone/cuda"
    done
done
if [ $runs = 0 ]; then
    echo "skipped: no compiler of gcc, clang, g++, clang++ is here"
    exit 77
fi

# What the header may include.
got=$(sed -n 's/^ *# *include *//p' "$header" | sort | tr '\n' ' ')
want='<stddef.h> <stdint.h> '
if [ "$got" != "$want" ]; then
    echo "hdp.h includes: expected $want, got $got"
    bad=1
fi
got=$(sed -n 's/^ *# *include *//p' "$lease")
if [ "$got" != '"hdp.h"' ]; then
    echo "lease.h includes: expected \"hdp.h\", got $got"
    bad=1
fi

# Every prototype stands under its comment; every field has one of its own,
# behind it or above it; no line passes 80 columns.
awk '
function complain(what) { print FILENAME ":" FNR ": " what; bad = 1 }
length($0) > 80 { complain("longer than 80 columns") }
/^HDP_API/ {
    if (before !~ /\*\/$/) complain("prototype without a comment: " $0)
    prototypes++
}
/^typedef struct hdp_[a-z_]+ \{$/ {
    inside = 1
    if (before !~ /\*\/$/) complain("struct without a comment: " $0)
}
/^}/ { inside = 0 }
inside && /^    [a-z].*;/ {
    if ($0 !~ /\/\*\*</ && before !~ /\*\/$/)
        complain("field without a comment: " $0)
    fields++
}
NF { before = $0 }
END {
    if (prototypes < 80 || fields < 150) {
        print "only " prototypes " prototypes and " fields " fields seen"
        bad = 1
    }
    exit bad
}' "$header" "$lease" || bad=1

[ $bad = 0 ] && echo "$runs compilations without a warning"
exit $bad
