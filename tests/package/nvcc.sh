#!/bin/sh
# What a build says of nvcc: without it there is no CUDA, an architecture that
# it cannot make is refused, and the image holds what its list says.
set -eu
source=${HDP_SOURCE_DIR:?}
build=${HDP_BUILD_DIR:?}
if ! [ -f "$build/generated/image.fatbin" ]; then
    echo "skipped: this build has no CUDA"
    exit 77
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail() {
    cat "$tmp/log"
    echo "$1"
    exit 1
}

# configure OPTIONS...: what CMake said is in $tmp/log.
configure() {
    rm -rf "$tmp/build"
    cmake -S "$source" -B "$tmp/build" -DHDP_BUILD_TESTS=OFF \
        -DHDP_BUILD_BENCH=OFF -DHDP_BUILD_EXAMPLES=OFF "$@" >"$tmp/log" 2>&1
}

said() {
    tr -s ' \n' ' ' <"$tmp/log" | grep -q "$1"
}

# A name that is no program: the toolkit's headers and libraries are found.
none=-DCUDAToolkit_NVCC_EXECUTABLE=$tmp/nvcc
if configure -DHDP_CUDA=ON "$none"; then
    fail "HDP_CUDA=ON without nvcc: configured"
fi
said 'no CUDA Toolkit of 12.0 or newer was found that has nvcc' ||
    fail "HDP_CUDA=ON without nvcc: the message does not say so"
configure -DHDP_CUDA=AUTO "$none" || fail "HDP_CUDA=AUTO without nvcc: failed"
said 'no CUDA adapter needs the CUDA Toolkit, 12.0 or newer, with nvcc' ||
    fail "HDP_CUDA=AUTO without nvcc: the summary does not say so"
if configure -DHDP_CUDA_ARCHS=75\;33; then
    fail "HDP_CUDA_ARCHS=75;33: configured"
fi
said 'HDP_CUDA_ARCHS=75;33: nvcc [0-9.]* has no 33, but .*75' ||
    fail "HDP_CUDA_ARCHS=75;33: the message does not say what there is"
configure -DHDP_CUDA_ARCHS=90\;80 || fail "HDP_CUDA_ARCHS=90;80: failed"
grep -q 'hdpk_image_archs\[\] = { 80, 90, 0 }' "$tmp/build/generated/hdp_image.c" ||
    fail "HDP_CUDA_ARCHS=90;80: the list is another"

command -v python3 >/dev/null || {
    echo "no python3: the image was not looked into"
    exit 0
}
sed -n 's/^const int32_t hdpk_image_archs\[\] = { \(.*\), 0 };/\1/p' \
    "$build/generated/hdp_image.c" | tr -d ' ' | tr ',' '\n' |
    sed 's/^/elf /' >"$tmp/wanted"
sed -n 's/^const int32_t hdpk_image_ptx = \(.*\);/ptx \1/p' \
    "$build/generated/hdp_image.c" >>"$tmp/wanted"
python3 "$source/tests/package/fatbin.py" "$build/generated/image.fatbin" \
    >"$tmp/got"
sort -o "$tmp/wanted" "$tmp/wanted"
sort -o "$tmp/got" "$tmp/got"
diff "$tmp/wanted" "$tmp/got" || {
    echo "the image (>) holds something else than its list says (<)"
    exit 1
}
echo "the image holds: $(tr '\n' ';' <"$tmp/got")"
