#!/bin/sh
# Every C file as .clang-format wants it. Only version 14 is asked: others
# differ in small ways, and a gate must not depend on who runs it.
#   format.sh [--fix]
set -eu
cd "$(dirname "$0")/../.."
tool=
for name in clang-format-14 clang-format; do
    if command -v "$name" >/dev/null &&
        "$name" --version | grep -q 'version 14\.'; then
        tool=$name
        break
    fi
done
if [ -z "$tool" ]; then
    echo "skipped: clang-format 14 is not here"
    exit 77
fi
list() {
    find include src kernels bench examples tests \
        -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh'
}
if [ "${1-}" = --fix ]; then
    list | xargs "$tool" -i
else
    # One process for all files, one line a file.
    bad=$(list | xargs "$tool" --dry-run 2>&1 |
        sed -n 's/:.*-Wclang-format-violations.*//p' | sort -u)
    if [ -n "$bad" ]; then
        echo "not in format (tests/layers/format.sh --fix mends it):"
        echo "$bad"
        exit 1
    fi
    echo "$(list | wc -l) files are in format"
fi
