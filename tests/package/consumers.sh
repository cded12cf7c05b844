#!/bin/sh
# The library as other people's builds meet it: found by find_package and by
# pkg-config after it was staged with DESTDIR and its prefix was moved, and as
# a folder of another project. Each time C11 and C++17 programs are built
# against the shared and the static library, and run.
set -eu
if [ -n "${HDP_SANITIZE-}" ]; then
    echo "skipped: a sanitized library is not for installing"
    exit 77
fi
source=${HDP_SOURCE_DIR:?}
build=${HDP_BUILD_DIR:?}
cc=${HDP_CC:-cc}
user=$source/tests/package/consumer
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# The C++ compiler that belongs to the C compiler.
case ${cc##*/} in
clang*) cxx=${cc%"${cc##*/}"}clang++${cc##*clang} ;;
*gcc*) cxx=${cc%gcc*}g++${cc##*gcc} ;;
*) cxx=c++ ;;
esac
with_cxx=ON
if ! printf 'int main() {}\n' >"$tmp/try.cc" ||
    ! "$cxx" -std=c++17 "$tmp/try.cc" -o "$tmp/try" 2>/dev/null; then
    echo "no $cxx here: the C++17 programs are left out"
    with_cxx=OFF
fi

fail() {
    echo "$1"
    exit 1
}

quiet() {
    if ! "$@" >"$tmp/log" 2>&1; then
        cat "$tmp/log"
        fail "failed: $*"
    fi
}

# The program says which library it met, and that it is ours.
runs() { # TEXT COMMAND...
    text=$1
    shift
    if ! said=$("$@") || [ "$said" != "$version" ]; then
        fail "$text: expected '$version', got '${said-}'"
    fi
}

# all_run TEXT FOLDER: what consumer/CMakeLists.txt made there.
all_run() {
    count=0
    for program in "$2"/c-* "$2"/cxx-*; do
        [ -x "$program" ] || continue
        runs "$1, ${program##*/}" "$program"
        count=$((count + 1))
    done
    [ "$with_cxx" = OFF ] && wanted=2 || wanted=4
    [ "$count" = "$wanted" ] || fail "$1: expected $wanted programs, got $count"
    echo "$1: $count programs"
}

configure() { # FOLDER WORDS...
    folder=$1
    shift
    cmake -S "$user" -B "$folder" -DCMAKE_C_COMPILER="$cc" \
        -DCMAKE_CXX_COMPILER="$cxx" -DWITH_CXX="$with_cxx" "$@"
}

version=$(sed -n 's/^project(hdp VERSION \([0-9.]*\).*/\1/p' \
    "$source/CMakeLists.txt")
soname=libhdp.so.${version%.*}

# ---- staged, then moved ----------------------------------------------------
quiet env DESTDIR="$tmp/stage" cmake --install "$build" --prefix /opt/hdp
[ ! -e /opt/hdp/include/hdp/hdp.h ] || fail "DESTDIR was not obeyed"
[ "$(ls "$tmp/stage")" = opt ] || fail "$tmp/stage: expected opt alone"
moved=$tmp/moved/to/here
mkdir -p "${moved%/*}"
mv "$tmp/stage/opt/hdp" "$moved"
lib=$(dirname "$(find "$moved" -name 'libhdp.a')")
for name in include/hdp/hdp.h bin/hdp_bench share/man/man1/hdp_bench.1 \
    share/hdp/machines/desk.json "${lib#"$moved"/}/pkgconfig/hdp.pc" \
    "${lib#"$moved"/}/cmake/hdp/hdpConfig.cmake"; do
    [ -s "$moved/$name" ] || fail "$name is not installed"
done
# No path of the build, the stage or the first prefix is left in a text.
if grep -rIlE "$build|$source|$tmp/stage|/opt/hdp" "$lib/cmake" \
    "$lib/pkgconfig" "$moved/include"; then
    fail "the files above name a place that is not theirs"
fi
runs "hdp_bench, moved" sh -c "'$moved/bin/hdp_bench' --version | cut -d' ' -f2"

# soname: what programs will ask for, and the names that lead to it.
named=$(objdump -p "$lib/libhdp.so" | awk '$1 == "SONAME" { print $2 }')
[ "$named" = "$soname" ] || fail "soname: expected $soname, got $named"
[ "$(readlink "$lib/libhdp.so")" = "$soname" ] ||
    fail "libhdp.so leads to $(readlink "$lib/libhdp.so")"
[ "$(readlink "$lib/$soname")" = "libhdp.so.$version" ] ||
    fail "$soname leads to $(readlink "$lib/$soname")"

# ---- find_package ----------------------------------------------------------
quiet configure "$tmp/found" -DCMAKE_PREFIX_PATH="$moved" -DVERSION=0.1
quiet cmake --build "$tmp/found"
all_run "find_package" "$tmp/found"
objdump -p "$tmp/found/c-shared" | grep -q "NEEDED  *$soname\$" ||
    fail "c-shared does not ask for $soname"
if objdump -p "$tmp/found/c-static" | grep -q 'NEEDED  *libhdp'; then
    fail "c-static asks for the shared library"
fi
if configure "$tmp/newer" -DCMAKE_PREFIX_PATH="$moved" -DVERSION=0.2 \
    >"$tmp/log" 2>&1; then
    fail "find_package(hdp 0.2) must not accept $version"
fi

# ---- pkg-config ------------------------------------------------------------
# with_pkg_config PROGRAM COMPILER SOURCE KIND
with_pkg_config() {
    static=
    [ "$4" = shared ] || static=--static
    # shellcheck disable=SC2046,SC2086 # flags are words
    quiet $2 "$user/$3" -o "$tmp/$1" \
        $(pkg-config $static --cflags --libs hdp)
    runs "pkg-config, $1" env LD_LIBRARY_PATH="$lib" "$tmp/$1"
}
if command -v pkg-config >/dev/null; then
    PKG_CONFIG_PATH=$lib/pkgconfig
    export PKG_CONFIG_PATH
    [ "$(pkg-config --modversion hdp)" = "$version" ] ||
        fail "pkg-config knows another version than $version"
    for kind in shared static; do
        # without the shared library the linker takes the archive
        [ "$kind" = shared ] || rm "$lib"/libhdp.so*
        with_pkg_config "c-$kind" "$cc -std=c11" use.c "$kind"
        [ "$with_cxx" = OFF ] ||
            with_pkg_config "cxx-$kind" "$cxx -std=c++17" use.cc "$kind"
    done
    echo "pkg-config: shared and static"
else
    echo "pkg-config is not here: its consumers were not built"
fi

# ---- add_subdirectory ------------------------------------------------------
quiet configure "$tmp/inside" -DSOURCE="$source"
if grep -q hdp_bench "$tmp/inside/cmake_install.cmake"; then
    fail "hdp installs itself with the outer project"
fi
quiet cmake --build "$tmp/inside" -j 2
all_run "add_subdirectory" "$tmp/inside"
