#!/bin/sh
# Who may include whom: every #include under src, kernels, bench, examples and
# tests/scenario against the table below. Also: HDP_WITH_* is asked in the two
# adapter tables alone.
#   includes.sh [ROOT]       check the tree (default: this one)
#   includes.sh --self-test  plant violations in a copy; each must be found
set -eu
LC_ALL=C
export LC_ALL
root=$(cd "$(dirname "$0")/../.." && pwd)

# From a part of the tree to what it may include. "iso" is the C11 library,
# "system" any other header of the system, "NAME-own" the part's own headers.
# comm sees kernels.h for what a dtype is and for the combine job that it fills
# in and hands to the member's own function.
arrows='
base         public base iso system
core         public base core topology iso
json         public base core topology json iso jansson
device       public base topology device device-own kernels iso system
device-cuda  public base topology device device-own kernels iso system cuda
comm         public base comm comm-own kernels iso system
comm-nccl    public base comm comm-own kernels iso system cuda nccl
verb         public base core topology json device comm internal iso system
kernels      public kernels iso system
bench        public bench work iso system jansson
work         public bench work kernels iso system cuda nccl blas
baseline     public bench work iso system cuda nccl blas
examples     public iso system
cuda-example public iso system cuda
scenario     public bench work scenario-own iso system cmocka jansson cuda
'

# check ROOT: prints each violation; succeeds when there is none.
check() {
    (cd "$1" && find src kernels bench examples tests/scenario \
        -name '*.[ch]' -o -name '*.cu' | sort) >"$tmp/files"
    if ! [ -s "$tmp/files" ]; then
        echo "no sources under $1"
        return 1
    fi
    (cd "$1" && xargs grep -nE '^[[:space:]]*#[[:space:]]*(include|if|elif|ifdef|ifndef)' \
        /dev/null <"$tmp/files") >"$tmp/lines" || true
    (cd "$1" && find include src kernels bench tests -name '*.h' -o \
        -name '*.cu') >"$tmp/headers"
    printf '%s' "$arrows" >"$tmp/arrows"
    awk -v arrows="$tmp/arrows" -v headers="$tmp/headers" '
    function part(file)
    {
        if (file ~ /^src\/(base|core|json)\//) {
            split(file, piece, "/")
            return piece[2]
        }
        if (file ~ /^src\/device\/cuda[^\/]*\.[ch]$/) return "device-cuda"
        if (file ~ /^src\/comm\/nccl[^\/]*\.[ch]$/) return "comm-nccl"
        if (file ~ /^src\/device\//) return "device"
        if (file ~ /^src\/comm\//) return "comm"
        if (file ~ /^src\//) return "verb"
        if (file ~ /^kernels\//) return "kernels"
        if (file ~ /^bench\/work\//) return "work"
        if (file ~ /^bench\/baseline\//) return "baseline"
        if (file ~ /^bench\//) return "bench"
        if (file ~ /^examples\/.*cuda|\.cu$/) return "cuda-example"
        if (file ~ /^examples\//) return "examples"
        return "scenario"
    }
    function header_class(path)
    {
        if (path ~ /^include\/hdp\//) return "public"
        if (path == "src/core/topology.h") return "topology"
        if (path ~ /^src\/(base|core|json)\//) {
            split(path, piece, "/")
            return piece[2]
        }
        if (path == "src/device/device.h") return "device"
        if (path ~ /^src\/device\//) return "device-own"
        if (path == "src/comm/comm.h") return "comm"
        if (path ~ /^src\/comm\//) return "comm-own"
        if (path ~ /^src\//) return "internal"
        if (path ~ /^kernels\//) return "kernels"
        if (path ~ /^bench\/work\//) return "work"
        if (path ~ /^bench\//) return "bench"
        if (path ~ /^tests\//) return "scenario-own"
        return "unknown"
    }
    function system_class(name)
    {
        if (name ~ /^hdp\//) return "public"
        if (name in iso) return "iso"
        if (name ~ /^(cuda|cublas|nvml|nvtx|driver_types)/) return "cuda"
        if (name ~ /^(mpi|hwloc)/) return "vendor"
        if (name ~ /^nccl/) return "nccl"
        if (name ~ /cblas|^lapacke/) return "blas"
        if (name == "jansson.h") return "jansson"
        if (name == "cmocka.h") return "cmocka"
        return "system"
    }
    # The same search as the compiler: beside the file, then the folders that
    # CMake names; ".." is folded first.
    function resolve(file, name,    dir, path, i, n)
    {
        dir = file
        sub(/[^\/]*$/, "", dir)
        n = split(dir "|src/|include/|kernels/|bench/|tests/", place, "|")
        for (i = 1; i <= n; ++i) {
            path = place[i] name
            while (sub(/[^\/.]+\/\.\.\//, "", path)) {}
            gsub(/\/\.\//, "/", path)
            if (path in known) return path
        }
        return ""
    }
    BEGIN {
        n = split("assert complex ctype errno fenv float inttypes iso646 " \
            "limits math stdalign stdarg stdatomic stdbool stddef stdint " \
            "stdio stdlib stdnoreturn string setjmp tgmath", word, " ")
        for (i = 1; i <= n; ++i) iso[word[i] ".h"]
        while ((getline line < headers) > 0) known[line]
        while ((getline line < arrows) > 0) {
            n = split(line, word, " ")
            for (i = 2; i <= n; ++i) may[word[1], word[i]]
        }
        bad = 0
    }
    {
        file = $0
        sub(/:.*/, "", file)
        text = substr($0, length(file) + 2)
        number = text
        sub(/:.*/, "", number)
        text = substr(text, length(number) + 2)
        at = file ":" number
        if (text !~ /#[ \t]*include/) {
            if (text ~ /HDP_WITH_/ && file != "src/device/device.c" && \
                file != "src/comm/comm.c") {
                print at ": HDP_WITH_* belongs to the two adapter tables"
                bad = 1
            }
            next
        }
        name = text
        sub(/^[^"<]*["<]/, "", name)
        sub(/[">].*/, "", name)
        if (text ~ /</) {
            class = system_class(name)
        } else {
            path = resolve(file, name)
            class = path == "" ? system_class(name) : header_class(path)
            if (path == "" && (class == "system" || class == "iso")) {
                print at ": \"" name "\" is no file of the tree"
                bad = 1
                next
            }
        }
        if (!((part(file), class) in may)) {
            print at ": " part(file) " may not include " name \
                " (" class ")"
            bad = 1
        }
        ++seen
    }
    END {
        if (!bad) print seen " includes, all along the arrows"
        exit bad
    }' "$tmp/lines"
}

# plant FILE LINE WORDS: adds LINE to FILE of the copy; the check must fail
# and say WORDS; then the file is as before.
plant() {
    mkdir -p "$tmp/tree/$(dirname "$1")"
    had=0
    if [ -e "$tmp/tree/$1" ]; then
        had=1
        cp "$tmp/tree/$1" "$tmp/kept"
    fi
    printf '%s\n' "$2" >>"$tmp/tree/$1"
    if check "$tmp/tree" >"$tmp/said"; then
        echo "not found: $1: $2"
        missed=1
    elif ! grep -qF "$3" "$tmp/said"; then
        echo "found, but not named ($3): $1: $2"
        cat "$tmp/said"
        missed=1
    fi
    rm "$tmp/tree/$1"
    if [ $had = 1 ]; then
        cp "$tmp/kept" "$tmp/tree/$1"
    fi
}

self_test() {
    mkdir "$tmp/tree"
    (cd "$root" && cp -R include src kernels bench examples tests "$tmp/tree/")
    if ! check "$tmp/tree" >"$tmp/said"; then
        cat "$tmp/said"
        echo "the copy must pass before anything is planted"
        return 1
    fi
    missed=0
    no='may not include'
    plant src/core/planted.c '#include "device/device.h"' "core $no"
    plant src/core/planted.c '#include <unistd.h>' "core $no"
    plant src/core/planted.h '#include <jansson.h>' "core $no"
    plant src/base/planted.c '#include "core/topology.h"' "base $no"
    plant src/json/planted.c '#  include "../device/device.h"' "json $no"
    plant src/device/planted.c '#include "comm/comm.h"' "device $no"
    plant src/device/planted.c '#include "core/plan.h"' "device $no"
    plant src/device/cuda_planted.c '#include "comm/comm.h"' "device-cuda $no"
    plant src/device/cuda_planted.c '#include "core/plan.h"' "device-cuda $no"
    plant src/device/nvml.c '#include <nvml.h>' "device $no"
    plant src/device/host.c '#include <cuda.h>' "device $no"
    plant src/comm/local.c '#include "device/device.h"' "comm $no"
    plant src/comm/planted.c '#include <nccl.h>' "comm $no"
    plant src/planted.c '#include "kernels.h"' "verb $no"
    plant src/planted.c '#include "internl.h"' 'is no file of the tree'
    plant src/planted.c '#if HDP_WITH_CUDA' 'adapter tables'
    plant kernels/planted.c '#include "base/status.h"' "kernels $no"
    plant bench/planted.c '#include "base/status.h"' "bench $no"
    plant bench/planted.c '#include "kernels.h"' "bench $no"
    plant examples/planted.c '#include "../src/base/status.h"' "examples $no"
    plant tests/scenario/planted.c '#include "base/status.h"' "scenario $no"
    [ $missed = 0 ] && echo "every planted violation was found"
    return $missed
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if [ "${1-}" = --self-test ]; then
    self_test
else
    check "${1-$root}"
fi
