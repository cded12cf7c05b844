#!/bin/sh
# Proves both of the README's commands where nothing is installed: a bare
# debootstrap tree, as root, without sudo. The mirror, its keys and apt's
# settings are those of this machine.
#   newcomer.sh                          Debian 12
#   newcomer.sh jammy|noble [MIRROR]     Ubuntu, when a mirror is named or known
#   newcomer.sh --fetch SUITE [MIRROR]   only fetches the tree, for a later run
# Exit: 0 proved, 1 not, 77 cannot be tried here (the reason is printed).
set -eu

skip() {
    echo "skipped: $1"
    exit 77
}

fetch_only=no
if [ "${1-}" = --fetch ]; then
    fetch_only=yes
    shift
fi
suite=${1-bookworm}
mirror=${2-}
root=$(cd "$(dirname "$0")/.." && pwd)

[ "$(id -u)" = 0 ] || skip "needs root, for chroot and mount"
command -v debootstrap >/dev/null || skip "needs debootstrap"
case $suite in
bookworm) keyring=/usr/share/keyrings/debian-archive-keyring.gpg ;;
jammy | noble) keyring=/usr/share/keyrings/ubuntu-archive-keyring.gpg ;;
*)
    echo "unknown suite '$suite': bookworm, jammy or noble" >&2
    exit 2
    ;;
esac

# The first address that this machine's own apt files give for the suite, in
# either of apt's two formats.
find_mirror() {
    cat /dev/null /etc/apt/sources.list /etc/apt/sources.list.d/*.list \
        2>/dev/null | awk -v suite="$1" '
        $1 == "deb" {
            sub(/\[[^]]*\]/, "")
            if ($3 == suite) { print $2; exit }
        }' >"$work/mirror"
    for file in /etc/apt/sources.list.d/*.sources; do
        [ -e "$file" ] && awk -v suite="$1" '
        function done() {
            if (uri != "" && enabled && index(" " suites " ", " " suite " "))
                print uri
            uri = suites = ""; enabled = 1
        }
        BEGIN { enabled = 1 }
        /^#/ { next }
        /^[[:space:]]*$/ { done(); next }
        tolower($1) == "uris:" { uri = $2 }
        tolower($1) == "suites:" { $1 = ""; suites = $0 }
        tolower($1) == "enabled:" { enabled = tolower($2) != "no" }
        END { done() }' "$file" >>"$work/mirror"
    done
    sed -n 1p "$work/mirror"
}

work=$(mktemp -d "${TMPDIR:-/tmp}/hdp-newcomer.XXXXXX")
tree=$work/tree
clean() {
    status=$?
    trap - EXIT
    # Never remove a tree that something is still mounted in.
    umount "$tree/proc" 2>/dev/null || umount -l "$tree/proc" 2>/dev/null || true
    if grep -q " $tree/" /proc/mounts; then
        echo "left behind, still mounted: $tree" >&2
    else
        rm -rf "$work"
    fi
    exit $status
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

[ -n "$mirror" ] || mirror=$(find_mirror "$suite")
[ -n "$mirror" ] || skip "this machine's apt files name no mirror for $suite"

now() {
    date +%s
}

# ---- the tree --------------------------------------------------------------

# debootstrap's answer is kept for a day: three runs of CI need one.
make_tree() {
    cache=${TMPDIR:-/tmp}/hdp-newcomer-$suite-$(id -u).tar
    mkdir "$tree"
    if [ -O "$cache" ] && [ -n "$(find "$cache" -mtime -1)" ] &&
        tar -xf "$cache" -C "$tree" 2>/dev/null; then
        echo "tree: $suite from $cache"
        return
    fi
    rm -rf "$tree" && mkdir "$tree"
    set -- --variant=minbase
    [ -e "$keyring" ] && set -- "$@" --keyring="$keyring"
    start=$(now)
    if ! debootstrap "$@" "$suite" "$tree" "$mirror" >"$work/log" 2>&1; then
        tail -n 5 "$work/log"
        # Nothing fetched: no mirror. Anything later is a failure.
        grep -qE 'Retrieving Packages|Validating Packages' "$work/log" ||
            skip "the mirror of $suite does not answer"
        exit 1
    fi
    echo "tree: $suite by debootstrap, $(($(now) - start)) s"
    (umask 077 && tar -cf "$cache.$$" -C "$tree" . && mv "$cache.$$" "$cache")
}

# apt inside sees what apt outside sees: sources of this distribution, keys,
# proxies, names.
lend_apt() {
    mkdir -p "$tree/etc/apt/apt.conf.d" "$tree/etc/apt/keyrings"
    if [ "$suite" = bookworm ]; then
        for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list \
            /etc/apt/sources.list.d/*.sources; do
            [ -e "$file" ] && grep -q bookworm "$file" &&
                grep -qF "$mirror" "$file" && lend "$file"
        done
    else
        echo "deb $mirror $suite main universe" >"$tree/etc/apt/sources.list"
    fi
    for file in /etc/apt/keyrings/* /usr/share/keyrings/* \
        /etc/apt/trusted.gpg.d/*; do
        [ -f "$file" ] && lend "$file"
    done
    # Only how to reach the mirror: a fresh machine has no other settings.
    for file in /etc/apt/apt.conf /etc/apt/apt.conf.d/*; do
        [ -f "$file" ] && grep -qE '^[^#/]*Acquire::([a-z]+::(Proxy|Verify)|Check-)' \
            "$file" && lend "$file"
    done
    [ -e /etc/resolv.conf ] && cat /etc/resolv.conf >"$tree/etc/resolv.conf"
    # The tree is thrown away: what a package writes need not reach the disk.
    mkdir -p "$tree/etc/dpkg/dpkg.cfg.d"
    echo force-unsafe-io >"$tree/etc/dpkg/dpkg.cfg.d/unsafe"
    # Lists from debootstrap would hide that up.sh must fetch its own.
    rm -rf "$tree"/var/lib/apt/lists/*
}

lend() {
    mkdir -p "$tree$(dirname "$1")"
    cp -L "$1" "$tree$1"
}

# The sources as a clone has them, with what is not committed yet, without
# anything built.
copy_sources() {
    mkdir -p "$tree/home/hdp"
    cd "$root"
    if git rev-parse --git-dir >/dev/null 2>&1; then
        git ls-files -co --exclude-standard | while IFS= read -r file; do
            [ -e "$file" ] && printf '%s\n' "$file"
        done >"$work/files"
        tar -cf - -T "$work/files" | tar -xf - -C "$tree/home/hdp"
    else
        tar -cf - --exclude='./build*' . | tar -xf - -C "$tree/home/hdp"
    fi
}

# ---- the two commands ------------------------------------------------------

# inside TEXT COMMAND: as typed by a newcomer, in an empty environment.
inside() {
    echo "== $1"
    start=$(now)
    status=0
    chroot "$tree" /usr/bin/env -i HOME=/root TERM=dumb \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        sh -c "cd /home/hdp && $1" </dev/null >"$work/said" 2>&1 || status=$?
    sed 's/^/   /' "$work/said"
    echo "   exit $status after $(($(now) - start)) s"
    [ $status = 0 ] || exit 1
}

expect() { # TEXT COMMAND...
    text=$1
    shift
    if ! "$@"; then
        echo "expected: $text"
        exit 1
    fi
}

make_tree
[ $fetch_only = no ] || exit 0
lend_apt
copy_sources
mount -t proc proc "$tree/proc"

inside "sh cmake/up.sh"
expect "the one apt line in what up.sh said" \
    grep -q '^+ apt-get update && apt-get install ' "$work/said"
expect "a line on the GPU" grep -q '^GPU: ' "$work/said"
expect "hdp-demo.svg, a picture" grep -q '<svg' "$tree/home/hdp/hdp-demo.svg"
expect "hdp-demo.json, a document" \
    grep -q '"schema"' "$tree/home/hdp/hdp-demo.json"

inside "sh cmake/up.sh test"
expect "the closing lines of ctest" \
    grep -q '^100% tests passed, 0 tests failed out of [1-9]' "$work/said"
echo "both commands work in a bare $suite tree"
