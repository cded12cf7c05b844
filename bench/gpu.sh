#!/bin/sh
# One section of what is measured and tested on a machine with GPUs: builds once
# in FOLDER, runs the section, leaves its JSON files in OUT.
#   gpu.sh SECTION FOLDER OUT [CMake options]
#   SECTION  look       what hdp finds and says of the machine
#            tests      the tests, GPU members included, none skipped for want
#                       of a GPU
#            facts      what the fake takes CUDA and NCCL to do, asked of them
#            masks      how the driver reads CUDA_VISIBLE_DEVICES, in fresh
#                       processes, against the resolver
#            sanitizers the kernels, the device port, a step and reduces
#                       under compute-sanitizer's four tools
#            calibrate  twenty calibrations in each dtype, against a long one
#            run        steps of the workloads on an unequal pair
#            reduce     all-reduce over the GPUs
# A pair of equal GPUs is made unequal by a partition; one GPU by two of them.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
[ $# -ge 3 ] || {
    sed -n '2,17s/^# \{0,1\}//p' "$0" >&2
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

# A pair of equals.
equals() {
    if [ "$(gpus)" -ge 2 ]; then
        echo 'cuda:0,1'
    else
        echo 'cuda:0/sms=56+cuda:0/sms=56'
    fi
}

# One tool on one program; what it printed stays in OUT.
sanitize() { # TOOL NAME COMMAND...
    tool=$1 name=$2
    shift 2
    said=$out/sanitizer-$tool-$name
    if timeout 300 compute-sanitizer --tool "$tool" --target-processes all \
        --report-api-errors no --error-exitcode 9 "$@" >"$said" 2>&1; then
        echo "$tool $name: clean"
    else
        echo "$tool $name: ended with $?; see $said"
        return 1
    fi
}

sanitize_all() { # TOOL
    bad=0
    for name in gpu_bytes gpu_combine gpu_floats; do
        sanitize "$1" $name "$folder/tests/$name" || bad=1
    done
    sanitize "$1" contract "$folder/tests/contract_device_contract" cuda || bad=1
    sanitize "$1" run "$folder/bench/hdp_bench" run --work mlp -d "$(pair)" \
        -N 2048 --steps 2 --budget 20ms -q || bad=1
    sanitize "$1" reduce "$folder/bench/hdp_bench" reduce -d "$(pair)" \
        --weights 2/1 -b 8 -e 64KiB -f 16 -n 2 -w 1 -c 1 -q || bad=1
    return $bad
}

# A program of the fake's facts, on the libraries that are here.
ask() { # NAME LIBRARIES...
    name=$1
    shift
    cuda=${CUDA_HOME:-/usr/local/cuda}
    cc -w -I"$cuda/include" "$root/tests/fakecuda/$name.c" \
        -o "$folder/$name" -L"$cuda/lib64" "$@" -lpthread -lm &&
        LD_LIBRARY_PATH=$cuda/lib64:${LD_LIBRARY_PATH:-} "$folder/$name"
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
facts)
    [ "$(gpus)" -ge 2 ] || {
        echo "facts: not run, they are about two GPUs" >&2
        exit 3
    }
    ask fidelity -lcudart || failed=1
    ask fidelity_nccl -lnccl -lcudart || failed=1
    ;;
masks)
    (cd "$folder" && HDP_REQUIRE=cuda ctest --output-on-failure -R gpu.masks) ||
        failed=1
    ;;
sanitizers)
    tools='memcheck racecheck initcheck synccheck' waited=
    export HDP_SOURCE_DIR="$root" HDP_REQUIRE=cuda
    for tool in $tools; do
        sanitize_all $tool &
        waited="$waited $!"
    done
    for process in $waited; do
        wait "$process" || failed=1
    done
    ;;
calibrate)
    for dtype in f32 tf32 bf16; do
        bench "calibrate-$dtype.json" calibrate -d "$(pair)" --dtype $dtype -q \
            --repeat 20 --reference 5s
    done
    for dtype in f32 bf16; do
        bench "calibrate-equal-$dtype.json" calibrate -d "$(equals)" -q \
            --dtype $dtype --repeat 20 --reference 5s
    done
    bench calibrate-long.json calibrate -d "$(pair)" --dtype bf16 -q \
        --budget 2s --repeat 10 --reference 5s
    bench calibrate-rested.json calibrate -d "$(pair)" --dtype bf16 -q \
        --rest 30s --repeat 3 --reference 5s
    ;;
run)
    bench run-net.json run --net 4x8192 -N 16384 --dtype bf16 -d "$(pair)" -q
    bench run-net-train.json run --net 8x4096/train -N 16384 --dtype bf16 \
        -d "$(pair)" -q
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
