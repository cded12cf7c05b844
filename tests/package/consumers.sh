#!/bin/sh
# The installed library as other people's builds find it: find_package and
# pkg-config, shared and static, after the whole prefix was moved; and the
# source tree inside another project, which must add the library alone.
set -eu
if [ -n "${HDP_SANITIZE-}" ]; then
    echo "skipped: a sanitized library is not for installing"
    exit 77
fi
source=${HDP_SOURCE_DIR:?}
build=${HDP_BUILD_DIR:?}
cc=${HDP_CC:-cc}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

quiet() {
    if ! "$@" >"$tmp/log" 2>&1; then
        cat "$tmp/log"
        echo "failed: $*"
        exit 1
    fi
}

# The program says which library it met, and that it is ours.
runs() { # TEXT COMMAND...
    text=$1
    shift
    if ! said=$("$@") || [ "$said" != "$version" ]; then
        echo "$text: expected '$version', got '${said-}'"
        exit 1
    fi
    echo "$text: $said"
}

quiet cmake --install "$build" --prefix "$tmp/first"
mv "$tmp/first" "$tmp/moved"
version=$(sed -n 's/^project(hdp VERSION \([0-9.]*\).*/\1/p' \
    "$source/CMakeLists.txt")
mkdir "$tmp/user"
cat >"$tmp/user/main.c" <<'END'
#include <hdp/hdp.h>
#include <stdio.h>
int main(void)
{
    int64_t shares[2];
    const double rates[2] = { 3, 1 };
    if (hdp_split_rates(shares, rates, 2, 20, 1) || shares[0] != 15)
        return 1;
    return puts(hdp_version()) < 0;
}
END

# ---- find_package ----------------------------------------------------------
cat >"$tmp/user/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(user C)
find_package(hdp 0.1 REQUIRED)
add_executable(shared main.c)
target_link_libraries(shared PRIVATE hdp::hdp)
add_executable(static main.c)
target_link_libraries(static PRIVATE hdp::hdp_static)
END
quiet cmake -S "$tmp/user" -B "$tmp/found" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_PREFIX_PATH="$tmp/moved"
quiet cmake --build "$tmp/found"
runs "find_package, shared" "$tmp/found/shared"
runs "find_package, static" "$tmp/found/static"

sed -i 's/hdp 0\.1 /hdp 0.2 /' "$tmp/user/CMakeLists.txt"
if cmake -S "$tmp/user" -B "$tmp/newer" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_PREFIX_PATH="$tmp/moved" >"$tmp/log" 2>&1; then
    echo "find_package(hdp 0.2) must not accept $version"
    exit 1
fi

# ---- pkg-config ------------------------------------------------------------
if command -v pkg-config >/dev/null; then
    pc=$(find "$tmp/moved" -name hdp.pc)
    PKG_CONFIG_PATH=$(dirname "$pc")
    export PKG_CONFIG_PATH
    lib=$(pkg-config --variable=libdir hdp)
    # shellcheck disable=SC2046 # flags are words
    quiet "$cc" "$tmp/user/main.c" -o "$tmp/pc-shared" \
        $(pkg-config --cflags --libs hdp)
    runs "pkg-config, shared" env LD_LIBRARY_PATH="$lib" "$tmp/pc-shared"
    rm "$lib"/libhdp.so*
    # shellcheck disable=SC2046
    quiet "$cc" "$tmp/user/main.c" -o "$tmp/pc-static" \
        $(pkg-config --static --cflags --libs hdp)
    runs "pkg-config, static" "$tmp/pc-static"
else
    echo "pkg-config is not here: its two consumers were not built"
fi

# ---- add_subdirectory ------------------------------------------------------
mkdir "$tmp/outer"
cat >"$tmp/outer/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.22)
project(outer C)
get_directory_property(before COMPILE_OPTIONS)
add_subdirectory("$source" hdp)
get_directory_property(after COMPILE_OPTIONS)
if(NOT "\${before}" STREQUAL "\${after}" OR CMAKE_BUILD_TYPE)
    message(FATAL_ERROR "hdp changed the outer project's flags")
endif()
foreach(target IN ITEMS hdp::hdp hdp::hdp_static)
    if(NOT TARGET \${target})
        message(FATAL_ERROR "no target \${target}")
    endif()
endforeach()
if(TARGET hdp_bench OR TARGET example_01_split)
    message(FATAL_ERROR "hdp built more than its libraries")
endif()
END
quiet cmake -S "$tmp/outer" -B "$tmp/outer/build" -DCMAKE_C_COMPILER="$cc"
if grep -q hdp_bench "$tmp/outer/build/cmake_install.cmake"; then
    echo "hdp installs itself with the outer project"
    exit 1
fi
echo "add_subdirectory: the two libraries alone"
