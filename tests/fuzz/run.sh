#!/bin/sh
# Fuzzes every target of a build with HDP_FUZZ, as many at once as there are
# cores; any finding fails, and its input is printed. Targets that rest on what
# others fuzz (nouns share one reader) get half of the time.
#   run.sh BUILD-FOLDER [SECONDS-A-TARGET [TARGET...]]
set -eu
LC_ALL=C
export LC_ALL
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
seconds=${2:-60}
[ $# -lt 2 ] || shift
shift
if [ $# -eq 0 ]; then
    for program in "$build"/tests/fuzz/fuzz_*; do
        [ -f "$program" ] && [ -x "$program" ] && set -- "$@" "${program##*/fuzz_}"
    done
fi
if [ $# -eq 0 ]; then
    echo "no fuzz target in $build; configure it with -DHDP_FUZZ=ON and build \`fuzz\`"
    exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What libFuzzer finds goes to the first folder; the others are only read.
cat >"$work/one" <<END
mkdir -p "$work/\$1.new"
seeds=
seconds=$seconds
case \$1 in plot | report | topology) seconds=$(((seconds + 1) / 2)) ;; esac
[ "\$1" != machine ] || seeds="$root/examples/machines"
[ "\$1" != plot ] || seeds="$root/tests/data/plots"
"$build/tests/fuzz/fuzz_\$1" -max_total_time=\$seconds -timeout=10 \\
    -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$work/\$1-" \\
    "$work/\$1.new" "$root/tests/fuzz/corpus/\$1" \${seeds:+"\$seeds"} \\
    >"$work/\$1.log" 2>&1 || echo "\$?" >"$work/\$1.failed"
END
printf '%s\n' "$@" | xargs -n 1 -P "$(nproc)" sh "$work/one"

failed=0
for name in "$@"; do
    log=$work/$name.log
    awk -v name="$name" '
        /^stat::number_of_executed_units/ { runs = $2 }
        /^stat::average_exec_per_sec/ { rate = $2 }
        / cov: / { for (i = 1; i < NF; ++i) if ($i == "cov:") cov = $(i + 1) }
        END { printf "fuzz %-9s %9d runs, %6d a second, %5d edges\n",
                     name, runs, rate, cov }' "$log"
    if [ -e "$work/$name.failed" ]; then
        failed=1
        echo "fuzz $name: FAILED"
        grep -v '^#' "$log" | tail -n 60
        for input in "$work/$name"-*; do
            [ -e "$input" ] || continue
            echo "${input##*/}, in base64:"
            base64 "$input"
        done
    fi
done
exit "$failed"
