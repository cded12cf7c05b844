#!/bin/sh
# One list, three places: what hdp.h and lease.h declare, what src/hdp.map lists,
# and what the built library exports must be the same names, one by one.
#   exports.sh [LIBHDP [MAP [HEADER]]]    defaults: HDP_LIBRARY, the tree's own
#                                       (lease.h includes hdp.h)
# Environment: HDP_SOURCE_DIR, HDP_CC (else cc). First each kind of difference
# is planted in a copy and must be found.
# Exit: 0 all well, 1 something is not, 77 no library (map and header agree).
set -eu
LC_ALL=C
export LC_ALL
root=${HDP_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
library=${1:-${HDP_LIBRARY:-}}
map=${2:-$root/src/hdp.map}
header=${3:-$root/include/hdp/lease.h}
cc=${HDP_CC:-cc}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# names_of_header FILE: one name a line, sorted; an API mark that is not
# followed by a plain prototype is an error.
names_of_header() {
    "$cc" -std=c99 -E -P -DHDP_API=HDP_MARK "$1" |
        tr '\n' ' ' | tr ';{}' '\n\n\n' |
        sed -n 's/^.*HDP_MARK //p' | sed -n '
        s/^[a-z].*[ *]\(hdp_[a-z0-9_]*\)(.*)[ ]*$/\1/p
        t
        s/^/not a prototype: /p' | sort
}

# names_of_map FILE: "NAME@@VERSION", sorted. A wildcard, a name outside a
# version or a repeated one is an error.
names_of_map() {
    sed -e ':a' -e 's|/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/||g' -e '/\/\*/{N;ba' \
        -e '}' "$1" | tr -s ' \n\t' '   ' | sed 's/[;{}:]/ & /g' |
        tr -s ' ' '\n' | awk '
        /^$/ { next }
        depth == 0 && /^[A-Z]/ { if (!after_brace) version = $0; next }
        $0 == "{" { depth = 1; part = ""; next }
        $0 == "}" { depth = 0; after_brace = 1; next }
        $0 == ":" { part = word; word = ""; next }
        $0 == ";" {
            after_brace = 0
            if (word == "") next
            if (part == "global" && word ~ /^hdp_[a-z0-9_]+$/)
                print word "@@" version
            else if (!(part == "local" && word == "*"))
                print "not allowed in the map: " part ": " word
            word = ""
            next
        }
        { word = $0 }' | sort
}

names_of_library() {
    nm -D --defined-only "$1" | awk '$2 != "A" { print $NF }' | sort
}

# differ WHAT WANT GOT: prints each name that only one of two lists has.
differ() {
    comm -23 "$2" "$3" | sed "s/^/$1: missing: /" >"$tmp/report"
    comm -13 "$2" "$3" | sed "s/^/$1: not expected: /" >>"$tmp/report"
    uniq -d "$3" | sed "s/^/$1: twice: /" >>"$tmp/report"
    cat "$tmp/report"
    ! [ -s "$tmp/report" ]
}

# compare HEADER MAP [LIBRARY]
compare() {
    bad=0
    names_of_header "$1" >"$tmp/header"
    names_of_map "$2" >"$tmp/map"
    sed 's/@@.*//' "$tmp/map" >"$tmp/map.names"
    if ! [ -s "$tmp/header" ]; then
        echo "$1: no prototype found"
        return 1
    fi
    differ "${2##*/} against ${1##*/}" "$tmp/header" "$tmp/map.names" || bad=1
    if [ $# -gt 2 ]; then
        names_of_library "$3" >"$tmp/library"
        differ "${3##*/} against ${2##*/}" "$tmp/map" "$tmp/library" || bad=1
    fi
    return $bad
}

# plant NAME TEXT_OF_MAP TEXT_OF_SOURCE: the comparison must fail.
plant() {
    printf '%s\n' "$2" >"$tmp/p.map"
    printf '%s\n' "$3" >"$tmp/p.c"
    "$cc" -shared -fPIC -o "$tmp/p.so" "$tmp/p.c" \
        -Wl,--version-script="$tmp/p.map" -Wl,--undefined-version 2>/dev/null ||
        "$cc" -shared -fPIC -o "$tmp/p.so" "$tmp/p.c" \
            -Wl,--version-script="$tmp/p.map"
    if compare "$tmp/p.h" "$tmp/p.map" "$tmp/p.so" >"$tmp/p.out"; then
        found=0
    else
        found=1
    fi
    if [ $found != "$4" ]; then
        echo "planted: $1: expected $4 (1: found), got $found"
        cat "$tmp/p.out"
        exit 1
    fi
}

cat >"$tmp/p.h" <<'END'
#include <stddef.h>
typedef struct hdp_x { int field; } hdp_x;
HDP_API int hdp_one(void);
HDP_API const char *hdp_two(int (*callback)(int value),
                            int count);
END
two='int hdp_one(void) { return 1; } int hdp_two(void) { return 2; }'
plant 'nothing' 'V_1 { global: hdp_one; /* a; b */ hdp_two; local: *; };' \
    "$two" 0
plant 'two versions' 'V_1 { global: hdp_one; local: *; };
V_2 { global: hdp_two; } V_1;' "$two" 0
plant 'a name not in the map' 'V_1 { global: hdp_one; local: *; };' "$two" 1
plant 'a name not in the header' \
    'V_1 { global: hdp_one; hdp_two; hdp_three; local: *; };' \
    "$two int hdp_three(void) { return 3; }" 1
plant 'a wildcard' 'V_1 { global: hdp_*; local: *; };' "$two" 1
plant 'no local part' 'V_1 { global: hdp_one; hdp_two; };' \
    "$two int leaked(void) { return 3; }" 1
plant 'a name not in the library' \
    'V_1 { global: hdp_one; hdp_two; local: *; };' \
    'int hdp_one(void) { return 1; }' 1

if [ -z "$library" ] || ! [ -f "$library" ]; then
    compare "$header" "$map" || exit 1
    echo "skipped: header and map agree, but there is no libhdp to compare"
    exit 77
fi
compare "$header" "$map" "$library" || exit 1
echo "$(wc -l <"$tmp/map") names agree in header, map and library"
