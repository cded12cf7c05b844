#!/bin/sh
# How many lines of some objects the tests of a build with --coverage ran.
#   coverage.sh FOLDER PATTERN FLOOR
# prints one line a source under FOLDER (a build of clang's) whose path matches
# PATTERN (extended regular expression), then all of them together; fails below
# FLOOR percent, and where nothing matches.
set -eu
LC_ALL=C
export LC_ALL
folder=$1 pattern=$2 floor=$3
cov=$(command -v llvm-cov || command -v llvm-cov-14 || true)
[ -n "$cov" ] || {
    echo "llvm-cov is missing (package llvm)" >&2
    exit 77
}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
find "$folder/CMakeFiles/hdp_objects.dir" -name '*.gcda' |
    grep -E "$pattern" | sort >"$tmp/data" || true
while read -r data; do
    (cd "$tmp" && "$cov" gcov -n -o "$(dirname "$data")" "$data" 2>/dev/null)
done <"$tmp/data" >"$tmp/said"
awk -v pattern="$pattern" -v floor="$floor" '
    /^File / { file = $2; gsub(/\047/, "", file); next }
    /^Lines executed:/ && file ~ pattern && file ~ /\.c$/ {
        split($0, part, /[:% ]+/)
        lines = $NF
        ran = part[3] / 100 * lines
        sub(/.*\/src\//, "src/", file)
        printf "%6.1f %% of %5d  %s\n", part[3], lines, file
        all += lines
        did += ran
        file = ""
    }
    END {
        if (all == 0) {
            print "no source matches " pattern
            exit 1
        }
        percent = 100 * did / all
        printf "%6.1f %% of %5d  together; at least %s %% wanted\n",
            percent, all, floor
        exit percent < floor
    }' "$tmp/said"
