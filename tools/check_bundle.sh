#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_bundle.sh BUILD: the bundle, moved elsewhere, finds its libraries in itself and runs; as
# root also in a root file system that holds nothing but the C library.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:?usage: check_bundle.sh BUILD}
cmake --build "$build" --target bundle >"$build/bundle.log" 2>&1 || {
    tail -n 20 "$build/bundle.log"
    exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -a "$build"/vatio-*-*/. "$work/moved"
broken=0

# name => path lines of everything that the program loads.
env -i ldd "$work/moved/bin/vatio" | awk '$2 == "=>" { print $1, $3 }' >"$work/loads"
while read -r name path; do
    case $name in
    libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.*) ;;
    *)
        case $path in
        "$work"/moved/*) ;;
        *)
            echo "$name comes from $path, not from the bundle"
            broken=1
            ;;
        esac
        ;;
    esac
done <"$work/loads"
env -i "$work/moved/bin/vatio" --version || broken=1

if [ "$(id -u)" -eq 0 ] && command -v chroot >/dev/null 2>&1; then
    mkdir -p "$work/root"
    for file in $(ldd "$work/moved/bin/vatio" | grep -oE '/[^ ]+' | grep -v "^$work/"); do
        mkdir -p "$work/root$(dirname "$file")"
        cp -L "$file" "$work/root$file"
    done
    mv "$work/moved" "$work/root/elsewhere"
    # Without /proc the loader cannot see where the program lies: tell it.
    LD_ORIGIN_PATH=/elsewhere/bin chroot "$work/root" /elsewhere/bin/vatio --version || {
        echo "the bundle does not run where nothing is installed"
        broken=1
    }
fi
for file in include/vatio/engine.h include/vatio/load.h include/vatio/system.h \
    share/doc/vatio/examples/load.c share/doc/vatio/examples/official_loadgen.py \
    share/man/man1/vatio.1 lib/pkgconfig/vatio.pc \
    share/bash-completion/completions/vatio share/doc/vatio/LICENSE \
    share/doc/vatio/licences/libjs-chart.js; do
    [ -s "$build"/vatio-*-*/"$file" ] || {
        echo "$file is missing from the bundle"
        broken=1
    }
done
exit $broken
