#!/bin/sh
# The built library needs no glibc newer than 2.34, so that a build of the
# oldest supported system runs on all the others. On a system whose headers
# redirect old names to new symbols the question has no meaning.
#   glibc.sh LIBHDP
set -eu
library=$1
if [ -n "${HDP_SANITIZE-}" ]; then
    echo "skipped: a sanitized library is not shipped"
    exit 77
fi
here=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed -n 's/^glibc 2\.//p')
if [ -z "$here" ] || [ "$here" -gt 36 ]; then
    echo "skipped: releases are built with glibc 2.36 or older, this is ${here:-another libc}"
    exit 77
fi
objdump -T "$library" | sed -n 's/.*(\{0,1\}GLIBC_2\.\([0-9]*\)[.0-9]*)\{0,1\} *\(.*\)/\1 \2/p' |
    sort -n | {
    newest=0
    while read -r minor name; do
        newest=$minor
        if [ "$minor" -gt 34 ]; then
            echo "$name needs glibc 2.$minor"
        fi
    done
    if [ "$newest" = 0 ]; then
        echo "no symbol of glibc found in $library"
        exit 1
    fi
    echo "newest: glibc 2.$newest, allowed: 2.34"
    [ "$newest" -le 34 ]
}
