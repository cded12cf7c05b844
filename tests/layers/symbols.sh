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
# arithmetic that is exact or rounded once, so that all machines agree. It
# frees, but allocates through base alone.
pure='memchr|memcmp|memcpy|memmove|memset|free|snprintf|vsnprintf'
pure="$pure|strchr|strcmp|strcspn|strlen|strncmp|strrchr|strspn|strstr"
pure="$pure|qsort|bsearch|ceil|fabs|floor|fma|fmax|fmin|frexp|ldexp|llround|lround|nextafter|rint|round|scalbn|sqrt|trunc"
# What the compiler adds on its own (clang writes bcmp for memcmp(...) == 0).
compiler='bcmp|__snprintf_chk|__vsnprintf_chk|__memcpy_chk|__memmove_chk|__memset_chk|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_'
# jansson, for json alone.
jansson='json_[a-z0-9_]*|jsonp_[a-z0-9_]*'
# What no object may ask for; the second list is context.c's own.
forbidden='printf|vprintf|puts|putchar|perror|stdout|stderr|__printf_chk|__vprintf_chk'
forbidden="$forbidden|exit|_exit|_Exit|quick_exit|abort|__assert_fail|atexit"
forbidden="$forbidden|setenv|unsetenv|putenv|clearenv|setlocale|chdir|fchdir|umask"
forbidden="$forbidden|signal|sigaction|sigprocmask|system|popen|fork|execve"
environment='getenv|secure_getenv|environ|__environ'

# check OBJECTS: prints what an object needs beyond its list; one nm each for
# what is defined and what is not, and one pass over both.
check() {
    for part in base core json; do
        if ! [ -d "$1/src/$part" ]; then
            echo "no objects of src/$part under $1"
            return 1
        fi
    done
    (
        cd "$1"
        find src -name '*.o' | sort >"$tmp/all"
        xargs nm -A -g --defined-only <"$tmp/all" | sed 's/^/defined /'
        xargs nm -A -u <"$tmp/all" | sed 's/^/undefined /'
    ) >"$tmp/symbols"
    awk -v pure="^($pure|$compiler)\$" -v jansson="^($jansson)\$" \
        -v forbidden="^($forbidden)\$" -v environment="^($environment)\$" '
    { split($2, piece, ":"); object = piece[1]; name = $NF }
    $1 == "defined" {
        if (object ~ /^src\/(base|core)\//) core[name]
        if (object ~ /^src\/json\//) json[name]
        next
    }
    {
        if (object ~ /^src\/(core|json)\//) {
            inner = object ~ /^src\/json\//
            if (name !~ pure && !(name in core) &&
                !(inner && (name ~ jansson || name in json))) {
                print object " needs " name
                bad = 1
            }
        }
        if (name ~ forbidden ||
            (name ~ environment && object != "src/context.c.o")) {
            print object " must not use " name
            bad = 1
        }
    }
    END { exit bad }' "$tmp/symbols" || return 1
    echo "$(wc -l <"$tmp/all") objects ask for nothing else"
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
