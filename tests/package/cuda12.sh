#!/bin/sh
# CUDA 12 without its toolkit, from Python packages: the adapter compiles with
# the headers of 12.0, the floor, and of 12.9, and the kernels with 12.9's own
# compiler for the GPUs that CUDA 13 has left behind.
#
# The packages of 12.9 hold no complete nvcc: of its programs ptxas is there,
# the driver program nvcc, cudafe++, cicc, fatbinary and nvlink are not. But
# NVRTC, the same compiler as a library, is whole; its machine code becomes a
# fatbin by the fatbinary of the toolkit that is here, where there is one.
#   cuda12.sh                all of that; fetches 700 MB
#   cuda12.sh --headers DIR  the headers alone, cuBLAS's from DIR; 40 MB
set -eu
source=${HDP_SOURCE_DIR:?}
cc=${HDP_CC:-cc}
here=$source/tests/package
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

also=
skip() {
    echo "skipped: $1"
    exit 77
}

# take FOLDER PACKAGE==VERSION...: headers, libraries and programs of packages.
take() {
    folder=$tmp/$1
    shift
    timeout 240 python3 -m pip --disable-pip-version-check -q download \
        --no-deps --no-cache-dir --retries 1 -d "$folder/wheels" "$@" \
        >"$tmp/log" 2>&1 || {
        sed -n '$p' "$tmp/log"
        skip "the Python package index does not give $*"
    }
    python3 - "$folder" <<'END'
import glob, sys, zipfile

folder = sys.argv[1]
wanted = ("libnvrtc.so.12", "libnvrtc-builtins.so.12.9")
for wheel in glob.glob(folder + "/wheels/*.whl"):
    with zipfile.ZipFile(wheel) as file:
        for name in file.namelist():
            if "/include/" in name or "/bin/" in name or name.endswith(wanted):
                file.extract(name, folder)
END
    rm -rf "$folder/wheels"
}

# adapter_with TEXT FOLDER...: every file of the adapter, with our warnings.
adapter_with() {
    text=$1
    shift
    flags=
    for folder in "$@"; do
        flags="$flags -isystem $folder"
    done
    count=0
    for file in "$source"/src/device/cuda*.c; do
        # shellcheck disable=SC2086
        "$cc" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Wshadow \
            -Wconversion -Wundef -Werror -fsyntax-only -I"$source/include" \
            -I"$source/src" -I"$source/kernels" $flags $also "$file"
        count=$((count + 1))
    done
    echo "headers of CUDA $text: $count files of the adapter compile"
}

python3 -m pip --version >/dev/null 2>&1 || skip "there is no pip"
if [ "${1:-}" = --headers ]; then
    mkdir "$tmp/cublas"
    cp "$2"/cublas*.h "$tmp/cublas"
    # Types that the newer cuBLAS names and the adapter does not.
    also="-DcudaEmulationSpecialValuesSupport=int
        -DcudaEmulationMantissaControl=int"
    for version in 12.9 12.0; do
        take $version "nvidia-cuda-runtime-cu12==$version.*" \
            "nvidia-cuda-nvcc-cu12==$version.*"
        adapter_with $version "$tmp/$version/nvidia/cuda_runtime/include" \
            "$tmp/$version/nvidia/cuda_nvcc/include" "$tmp/cublas"
    done
    exit 0
fi
take 12.9 'nvidia-cuda-runtime-cu12==12.9.*' 'nvidia-cuda-nvcc-cu12==12.9.*' \
    'nvidia-cuda-nvrtc-cu12==12.9.*' 'nvidia-cublas-cu12==12.9.*'
take 12.0 'nvidia-cuda-runtime-cu12==12.0.*' 'nvidia-cuda-nvcc-cu12==12.0.*'
new=$tmp/12.9/nvidia old=$tmp/12.0/nvidia

lacks=
for program in nvcc cudafe++ cicc fatbinary nvlink ptxas; do
    [ -n "$(find "$new" -name "$program" -type f)" ] || lacks="$lacks $program"
done
if [ -n "$lacks" ]; then
    echo "the packages of 12.9 have no complete nvcc; they lack:$lacks"
else
    echo "the packages of 12.9 now have a complete nvcc: build with it here"
    exit 1
fi

# What is used of cuBLAS is as old as 12.0, and its package is large: once.
adapter_with 12.9 "$new/cuda_runtime/include" "$new/cuda_nvcc/include" \
    "$new/cublas/include"
adapter_with 12.0 "$old/cuda_runtime/include" "$old/cuda_nvcc/include" \
    "$new/cublas/include"

for file in "$source"/kernels/*.cu; do
    echo "#include \"${file##*/}\""
done >"$tmp/image.cu"
lib=$new/cuda_nvrtc/lib
images=
for arch in 60 61 70; do
    LD_LIBRARY_PATH=$lib python3 "$here/nvrtc.py" "$lib/libnvrtc.so.12" \
        "$tmp/image.cu" "$tmp/sm_$arch.cubin" $arch "$here/nvrtc" \
        "$source/include" "$source/kernels"
    images="$images --image3=kind=elf,sm=$arch,file=$tmp/sm_$arch.cubin"
done
command -v fatbinary >/dev/null || {
    echo "no fatbinary here: the machine code stays without a fatbin"
    exit 0
}
# shellcheck disable=SC2086
fatbinary --create "$tmp/image.fatbin" -64 --compress-all $images
list=$(python3 "$here/fatbin.py" "$tmp/image.fatbin" | tr '\n' ';')
echo "a fatbin of them holds: $list"
[ "$list" = "elf 60;elf 61;elf 70;" ]
