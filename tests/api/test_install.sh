#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_install.sh BUILD CC: installs the project into a folder of its own, and compiles the example
# there with nothing but what a user has: the installed headers and pkg-config.
set -u
build=${1:?usage: test_install.sh BUILD CC}
cc=${2:?usage: test_install.sh BUILD CC}
command -v pkg-config >/dev/null 2>&1 || {
    echo "skipped: no pkg-config"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
broken=0

fail() {
    echo "$*"
    broken=1
}

cmake --install "$build" --prefix "$work/prefix" >"$work/log" 2>&1 || {
    tail -n 20 "$work/log"
    exit 1
}
pc=$(find "$work/prefix" -name vatio.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
pkg-config --validate vatio || fail "vatio.pc is not valid"
flags=$(pkg-config --cflags --libs vatio) || fail "pkg-config does not find vatio"
LD_LIBRARY_PATH=$(pkg-config --variable=libdir vatio)
export LD_LIBRARY_PATH
[ -e "$LD_LIBRARY_PATH/libvatio.so" ] || fail "libdir of vatio.pc has no libvatio.so"
examples=$(dirname "$(find "$work/prefix" -name load.c)")
[ -s "$examples/official_loadgen.py" ] || fail "official_loadgen.py is not installed"

# example NAME COMPILER…: compiles, runs each scenario, looks at what it prints.
example() {
    name=$1
    shift
    # shellcheck disable=SC2086
    "$@" -Wall -Wextra -Werror "$examples/load.c" $flags -o "$work/$name" 2>"$work/log" || {
        cat "$work/log"
        fail "the example does not compile as $name: $*"
        return
    }
    for scenario in SingleStream MultiStream Server Offline; do
        "$work/$name" $scenario >"$work/out" 2>&1 || fail "$name $scenario: exit code $?"
        grep -qE '^(IN)?VALID: [a-z_]+ = [0-9.e+]+ (ns|queries/s|samples/s), p99 [0-9.e+]+ us$' \
            "$work/out" || {
            cat "$work/out"
            fail "$name $scenario: not the line that was expected"
        }
    done
    "$work/$name" SingleStream | grep -q '^VALID: ' || fail "$name: SingleStream is not valid"
    "$work/$name" Nonsense >"$work/out" 2>&1 && fail "$name Nonsense: exit code 0"
    grep -q 'SingleStream' "$work/out" || fail "$name Nonsense: the error names no scenario"
}

example plain "$cc"
example c11 "$cc" -std=c11 -pedantic
if command -v g++ >/dev/null 2>&1; then
    example cxx g++ -x c++ -std=c++11 -pedantic
fi

# Every public header on its own, without the sources being anywhere near.
for header in "$work"/prefix/include/vatio/*.h; do
    echo "#include <vatio/$(basename "$header")>" |
        "$cc" -x c -std=c11 -pedantic -Wall -Wextra -Werror -fsyntax-only \
            $(pkg-config --cflags vatio) - || fail "$header does not compile as C11"
done
exit $broken
