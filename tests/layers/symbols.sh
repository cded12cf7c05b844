#!/bin/sh
# What the objects ask of the world, by nm -u in the plain release build: the
# core and json need no POSIX, and the library never prints, exits, aborts,
# reads the environment (but for context.c), or changes the process.
#   symbols.sh OBJECTS              the folder that holds src/...*.o
#   symbols.sh --self-test OBJECTS  plant violations in a copy; each is found
set -eu
LC_ALL=C
export LC_ALL

# What pure code may call: memory and strings of C11, text of integers, sorting,
# arithmetic. It frees, but allocates through base alone.
pure='memchr|memcmp|memcpy|memmove|memset|free|snprintf|vsnprintf'
pure="$pure|strchr|strcmp|strcspn|strlen|strncmp|strrchr|strspn|strstr"
pure="$pure|qsort|bsearch|ceil|exp|fabs|floor|fma|fmax|fmin|frexp|ldexp|llround|log|log2|lround|nextafter|pow|rint|round|scalbn|sqrt|trunc"
# What the compiler adds on its own.
compiler='__snprintf_chk|__vsnprintf_chk|__memcpy_chk|__memmove_chk|__memset_chk|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_'
# jansson, for json alone.
jansson='json_[a-z0-9_]*|jsonp_[a-z0-9_]*'
# What no object may ask for; the second list is context.c's own.
forbidden='printf|vprintf|puts|putchar|perror|stdout|stderr|__printf_chk|__vprintf_chk'
forbidden="$forbidden|exit|_exit|_Exit|quick_exit|abort|__assert_fail|atexit"
forbidden="$forbidden|setenv|unsetenv|putenv|clearenv|setlocale|chdir|fchdir|umask"
forbidden="$forbidden|signal|sigaction|sigprocmask|system|popen|fork|execve"
environment='getenv|secure_getenv|environ|__environ'

undefined() {
    nm -u "$@" | awk 'NF == 2 && $1 ~ /^[Uw]$/ { print $2 }
        NF == 1 && /:$/ { next }' | sort -u
}

defined() {
    find "$@" -name '*.o' | sort | xargs nm -g --defined-only |
        awk 'NF == 3 { print $3 }' | sort -u
}

# report OBJECT ALLOWED DEFINED: what the object needs beyond both.
report_beyond() {
    undefined "$1" | grep -vxE "$2" | comm -23 - "$3" >"$tmp/beyond" || true
    while read -r name; do
        echo "$(label "$1") needs $name"
        bad=1
    done <"$tmp/beyond"
}

report_forbidden() {
    undefined "$1" | grep -xE "$2" >"$tmp/found" || true
    while read -r name; do
        echo "$(label "$1") must not use $name"
        bad=1
    done <"$tmp/found"
}

label() {
    printf '%s' "${1#"$objects"/}"
}

check() {
    objects=$1
    bad=0
    for part in base core json; do
        if ! [ -d "$objects/src/$part" ]; then
            echo "no objects of src/$part under $objects"
            return 1
        fi
    done
    defined "$objects/src/base" "$objects/src/core" >"$tmp/core"
    defined "$objects/src/base" "$objects/src/core" "$objects/src/json" \
        >"$tmp/json"
    find "$objects/src" -name '*.o' | sort >"$tmp/all"
    while read -r object; do
        case $(label "$object") in
        src/core/*) report_beyond "$object" "$pure|$compiler" "$tmp/core" ;;
        src/json/*) report_beyond "$object" "$pure|$compiler|$jansson" \
            "$tmp/json" ;;
        esac
        case $(label "$object") in
        src/context.c.o) report_forbidden "$object" "$forbidden" ;;
        *) report_forbidden "$object" "$forbidden|$environment" ;;
        esac
    done <"$tmp/all"
    [ $bad = 0 ] && echo "$(wc -l <"$tmp/all") objects ask for nothing else"
    return $bad
}

# plant FILE CODE SYMBOL: compiles CODE into the copy as FILE's object.
plant() {
    mkdir -p "$tmp/copy/$(dirname "$1")"
    printf '%s\n' "$2" >"$tmp/planted.c"
    "${HDP_CC:-cc}" -O2 -fno-builtin -c "$tmp/planted.c" -o "$tmp/copy/$1.o"
    if check "$tmp/copy" >"$tmp/said"; then
        echo "not found: $3 in $1"
        missed=1
    elif ! grep -q "^$1.o .* $3\$" "$tmp/said"; then
        echo "found, but not named: $3 in $1"
        cat "$tmp/said"
        missed=1
    fi
    rm "$tmp/copy/$1.o"
}

self_test() {
    mkdir "$tmp/copy"
    cp -R "$1/src" "$tmp/copy/"
    if ! check "$tmp/copy" >"$tmp/said"; then
        cat "$tmp/said"
        echo "the copy must pass before anything is planted"
        return 1
    fi
    missed=0
    plant src/core/planted.c 'int getpid(void); int p(void);
        int p(void) { return getpid(); }' getpid
    plant src/core/planted.c 'void *malloc(unsigned long); void *p(void);
        void *p(void) { return malloc(8); }' malloc
    plant src/json/planted.c 'int open(const char *, int); int p(void);
        int p(void) { return open("x", 0); }' open
    plant src/planted.c 'int printf(const char *, ...); int p(void);
        int p(void) { return printf("x"); }' printf
    plant src/device/planted.c 'extern void *stderr; void *p(void);
        void *p(void) { return stderr; }' stderr
    plant src/comm/planted.c 'char *getenv(const char *); char *p(void);
        char *p(void) { return getenv("HOME"); }' getenv
    plant src/base/planted.c 'void abort(void); void p(void);
        void p(void) { abort(); }' abort
    [ $missed = 0 ] && echo "every planted symbol was found"
    return $missed
}

if [ -n "${HDP_SANITIZE-}" ] || [ "${HDP_BUILD_TYPE-Release}" != Release ]; then
    echo "skipped: only the plain release build is checked"
    exit 77
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if [ "${1-}" = --self-test ]; then
    self_test "$2"
else
    check "$1"
fi
