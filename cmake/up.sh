#!/bin/sh
# From a fresh Debian 12, Ubuntu 22.04 or 24.04 to a running hdp, in one
# command. POSIX sh; installs only what is missing, and says the line it runs.
set -eu

usage() {
    cat <<END
usage: sh cmake/up.sh [demo|test] [options] [-DNAME=VALUE ...]

  demo            set up, build in build/, run 'hdp_bench demo' (the default);
                  its pictures land in the current folder
  test            set up, build with the tests, run them

  --no-install    never call apt: say what is missing and stop with code 3
  --prefix DIR    install hdp there after the build
  -DNAME=VALUE    handed to CMake
  -h, --help      this text

Exit: 0 done, 1 the build or a test failed, 2 usage, 3 something is missing
that could not be installed; otherwise what the demo itself answers.
END
}

fail() { # CODE TEXT
    echo "up.sh: $2" >&2
    exit "$1"
}

root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build
what=
install=yes
prefix=
count=0
for word in "$@"; do # keep the -D words as the positional parameters
    count=$((count + 1))
    shift
    if [ "$prefix" = next ]; then
        prefix=$word
        continue
    fi
    case $word in
    demo | test)
        [ -z "$what" ] || fail 2 "both '$what' and '$word' were asked for"
        what=$word
        ;;
    --no-install) install=no ;;
    --prefix) prefix=next ;;
    --prefix=?*) prefix=${word#--prefix=} ;;
    -D?*=*) set -- "$@" "$word" ;;
    -h | --help)
        usage
        exit 0
        ;;
    *)
        usage >&2
        fail 2 "unknown word '$word'"
        ;;
    esac
done
[ "$prefix" != next ] || fail 2 "--prefix needs a folder"
case $prefix in
'' | /*) ;;
*) prefix=$(pwd)/$prefix ;;
esac
what=${what:-demo}

# ---- GPUs ------------------------------------------------------------------

gpu_count() { # NVIDIA display controllers on the PCI bus, else device nodes
    n=0
    for device in /sys/bus/pci/devices/*; do
        [ -r "$device/vendor" ] && [ -r "$device/class" ] || continue
        read -r vendor <"$device/vendor"
        read -r class <"$device/class"
        case $vendor$class in
        0x10de0x03*) n=$((n + 1)) ;;
        esac
    done
    if [ $n = 0 ]; then
        for node in /dev/nvidia[0-9]*; do
            [ -e "$node" ] && n=$((n + 1))
        done
    fi
    if [ $n = 0 ] && command -v nvidia-smi >/dev/null 2>&1; then
        n=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ' || true)
    fi
    if [ $n = 0 ] && [ -e /dev/dxg ] && [ -e /usr/lib/wsl/lib/libcuda.so.1 ]; then
        n=1 # WSL2 shows no count
    fi
    echo "$n"
}

has_driver_library() {
    [ -e /usr/lib/wsl/lib/libcuda.so.1 ] && return 0
    for path in /sbin/ldconfig /usr/sbin/ldconfig; do
        if [ -x $path ]; then
            $path -p 2>/dev/null | grep -q 'libcuda\.so\.1' && return 0
        fi
    done
    for path in /usr/lib/*/libcuda.so.1 /usr/lib64/libcuda.so.1; do
        [ -e "$path" ] && return 0
    done
    return 1
}

toolkit() { # the version of the CUDA Toolkit that CMake will find, or nothing
    for nvcc in "$(command -v nvcc 2>/dev/null || true)" \
        "${CUDAToolkit_ROOT:-/none}/bin/nvcc" /usr/local/cuda/bin/nvcc; do
        if [ -x "$nvcc" ]; then
            "$nvcc" --version | sed -n 's/.*release \([0-9]*\)\.\([0-9]*\).*/\1.\2/p'
            return
        fi
    done
}

# One line on the GPUs: none, used, or why they stay unused and what mends it.
say_gpus() {
    gpus=$(gpu_count)
    unused="GPU: $gpus found, unused:"
    version=$(toolkit)
    if [ "$gpus" = 0 ]; then
        echo "GPU: no NVIDIA GPU found; hdp runs on this machine's cores"
    elif ! has_driver_library && [ -e /proc/driver/nvidia/version ]; then
        echo "$unused the kernel has the driver, but libcuda.so.1 is not" \
            "visible here; in a container, start it with the GPUs (--gpus all)"
    elif ! has_driver_library; then
        echo "$unused no driver (libcuda.so.1); install NVIDIA's driver" \
            "(package nvidia-driver, on Ubuntu 'ubuntu-drivers install')" \
            "and run this again"
    elif [ -z "$version" ] || [ "${version%%.*}" -lt 12 ]; then
        echo "$unused building for them needs the CUDA Toolkit, 12.0 or newer" \
            "(found: ${version:-none}); install NVIDIA's package cuda-toolkit" \
            "and run this again"
    else
        echo "GPU: $gpus found, built for with the CUDA Toolkit $version;" \
            "'hdp_bench doctor' says what keeps one from being used"
    fi
}

# ---- what is missing -------------------------------------------------------

try=$(mktemp -d)
trap 'rm -rf "$try"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

compiles() { # C text from stdin, then link options
    cat >"$try/try.c"
    for cc in ${CC:-cc gcc clang}; do
        if command -v "$cc" >/dev/null 2>&1; then
            $cc "$try/try.c" -o "$try/try" "$@" >/dev/null 2>&1
            return
        fi
    done
    return 1
}

has_compiler() {
    echo 'int main(void) { return 0; }' | compiles
}

has_cmake() { # 3.22 or newer
    command -v cmake >/dev/null 2>&1 || return 1
    cmake --version | sed -n '1s/.* \([0-9]*\)\.\([0-9]*\).*/\1 \2/p' | (
        read -r major minor
        [ $((major * 1000 + minor)) -ge 3022 ]
    )
}

has_jansson() {
    printf '#include <jansson.h>\nint main(void) { return !json_null(); }\n' |
        compiles -ljansson
}

has_cmocka() {
    printf '%s\n' '#include <stdarg.h>' '#include <stddef.h>' \
        '#include <setjmp.h>' '#include <stdint.h>' '#include <cmocka.h>' \
        'int main(void) { return 0; }' | compiles -lcmocka
}

has_openblas() {
    for path in /usr/lib/*/openblas-*/libopenblas.so.0 \
        /usr/lib/*/openblas-*/libblas.so.3 /usr/lib/*/libopenblas.so.0; do
        [ -e "$path" ] && return 0
    done
    return 1
}

missing=
useful=
need() { # CONDITION PACKAGES: the packages, unless the condition holds
    "$1" || missing="$missing $2"
}
has_runner() {
    command -v ninja >/dev/null 2>&1 || command -v make >/dev/null 2>&1
}
has_python() {
    command -v python3 >/dev/null 2>&1
}
look() {
    missing=
    useful=
    need has_compiler "gcc libc6-dev"
    need has_cmake cmake
    need has_runner ninja-build
    need has_jansson libjansson-dev
    has_openblas || useful=" libopenblas0-serial"
    if [ "$what" = test ]; then
        need has_cmocka libcmocka-dev
        need has_python python3
    fi
}

# ---- apt -------------------------------------------------------------------

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

apt() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q \
        -o DPkg::Lock::Timeout=120 "$@" </dev/null
}

has_lists() {
    for list in /var/lib/apt/lists/*_Packages*; do
        [ -e "$list" ] && return 0
    done
    return 1
}

# Installs $missing and $useful. The lists are fetched first where there are
# none or they do not know the packages, and once more where they were stale.
install_missing() {
    packages=${missing# }$useful
    packages=${packages# }
    sudo=
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null 2>&1 ||
            fail 3 "needs root and there is no sudo; as root: apt-get install -y$missing$useful"
        sudo='sudo '
    fi
    options='install -y --no-install-recommends'
    update=no
    # shellcheck disable=SC2086 # a list of words
    if ! has_lists || ! apt-get -qq -s $options $packages >/dev/null 2>&1; then
        update=yes
        echo "+ ${sudo}apt-get update && ${sudo}apt-get $options $packages"
        apt update >"$try/apt" 2>&1 || {
            cat "$try/apt" >&2
            fail 3 "apt-get update failed (above)"
        }
    else
        echo "+ ${sudo}apt-get $options $packages"
    fi
    # shellcheck disable=SC2086
    apt $options $packages >"$try/apt" 2>&1 && return
    if [ $update = no ]; then
        # shellcheck disable=SC2086
        apt update >"$try/apt" 2>&1 && apt $options $packages >"$try/apt" 2>&1 &&
            return
    fi
    cat "$try/apt" >&2
    fail 3 "apt-get install failed (above); on Ubuntu these need 'universe'"
}

provide() {
    look
    if [ -n "$missing" ] && [ $install = no ]; then
        fail 3 "missing:$missing$useful (not installed, as --no-install asks)"
    fi
    if [ -n "$missing$useful" ] && [ $install = yes ] &&
        command -v apt-get >/dev/null 2>&1; then
        install_missing
        look
    fi
    [ -z "$missing" ] ||
        fail 3 "missing:$missing (Debian's names); install them and run this again"
    [ -z "$useful" ] ||
        echo "note: without$useful matrix products take hdp's own, slower kernel"
}

# ---- build -----------------------------------------------------------------

logged() { # TEXT COMMAND...: quiet when it works, all of it when it does not
    text=$1
    shift
    start=$(date +%s)
    if ! "$@" >"$build/up.log" 2>&1; then
        cat "$build/up.log" >&2
        fail 1 "$text failed (above)"
    fi
    echo "$text: $(($(date +%s) - start)) s"
}

configure() { # more words for CMake
    set -- -S "$root" -B "$build" "-DHDP_BUILD_TESTS=$tests" "$@"
    # A tree keeps the generator that it was made with.
    if ! [ -e "$build/CMakeCache.txt" ] && command -v ninja >/dev/null 2>&1; then
        set -- -G Ninja "$@"
    fi
    logged configure cmake "$@"
    sed -n 's/^-- *\(  yes .*\|  no .*\|hdp [0-9].*:\)$/\1/p' "$build/up.log"
}

say_gpus
provide
tests=OFF
[ "$what" = test ] && tests=ON
mkdir -p "$build"
jobs=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN || echo 2)
configure "$@"
logged build cmake --build "$build" -j "$jobs"
if [ -n "$prefix" ]; then
    logged "install in $prefix" cmake --install "$build" --prefix "$prefix"
fi
rm -rf "$try"
trap - EXIT
if [ "$what" = test ]; then
    cd "$build"
    # Some only wait; those that read clocks run alone.
    ctest --output-on-failure -j $((jobs + 2)) -LE by_hand || exit 1
else
    echo "+ $build/bench/hdp_bench demo"
    exec "$build/bench/hdp_bench" demo
fi
