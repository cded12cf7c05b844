#!/bin/sh
# One section of what is measured and tested on a machine with GPUs: builds once
# in FOLDER, runs the section, leaves its JSON files in OUT.
#   gpu.sh SECTION FOLDER OUT [CMake options]
#   SECTION  look       what hdp finds and says of the machine
#            tests      the tests, GPU members included, none skipped for want
#                       of a GPU
#            calibrate  twenty calibrations in each dtype, against a long one
#            run        steps of the workloads on an unequal pair
#            reduce     all-reduce over the GPUs
# A pair of equal GPUs is made unequal by a partition; one GPU by two of them.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
[ $# -ge 3 ] || {
    sed -n '2,12s/^# \{0,1\}//p' "$0" >&2
    exit 2
}
section=$1 folder=$2 out=$3
shift 3
mkdir -p "$out"

build() {
    cmake -S "$root" -B "$folder" -G Ninja -DHDP_CUDA=ON "$@" >"$out/configure" ||
        { cat "$out/configure"; exit 1; }
    cmake --build "$folder" >"$out/build" || { tail -n 60 "$out/build"; exit 1; }
}

bench() { # FILE WORDS: a document that is kept, and its exit code told
    file=$1
    shift
    if "$folder/bench/hdp_bench" "$@" --out "$out/$file"; then
        return 0
    fi
    echo "hdp_bench $* ended with $?" >&2
    failed=1
}

gpus() {
    "$folder/bench/hdp_bench" discover -o csv | grep -c ',cuda,' || true
}

# An unequal pair: two GPUs, or two parts of the only one.
pair() {
    if [ "$(gpus)" -ge 2 ]; then
        echo 'cuda:0+cuda:1/sms=48'
    else
        echo 'cuda:0/sms=80+cuda:0/sms=40'
    fi
}

failed=0
build "$@"
case $section in
look)
    "$folder/bench/hdp_bench" discover || failed=1
    "$folder/bench/hdp_bench" doctor || failed=1
    "$folder/bench/hdp_bench" doctor --test || failed=1
    ;;
tests)
    (cd "$folder" && HDP_REQUIRE=cuda ctest --output-on-failure -j 6 \
        -L 'gpu|kernels|contract|scenario' -LE 'by_hand|timing|long' \
        --timeout 60) || failed=1
    ;;
calibrate)
    for dtype in f32 tf32 bf16; do
        for turn in 1 2 3 4 5; do
            bench "calibrate-$dtype-$turn.json" calibrate -d "$(pair)" \
                --dtype $dtype -q
        done
        bench "calibrate-$dtype-long.json" calibrate -d "$(pair)" \
            --dtype $dtype --budget 5s -q
    done
    ;;
run)
    for work in mlp gemm copy mixed; do
        bench "run-$work.json" run --work $work -d "$(pair)" -q
    done
    ;;
reduce)
    bench reduce.json reduce -d "$(pair)" -b 1KiB -e 256MiB -f 4 -q
    ;;
*)
    echo "gpu.sh: no section '$section'" >&2
    exit 2
    ;;
esac
exit $failed
