#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_library.sh BUILD: libvatio.so exports only names of its own and needs only what
# docs/dependencies.md lists: no CUDA, no NVML.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:?usage: check_library.sh BUILD}
library=$(find "$build" -name libvatio.so -print | head -n 1)
[ -n "$library" ] || {
    echo "no libvatio.so in $build"
    exit 1
}
broken=0

strange=$(nm -D --defined-only "$library" | awk '$3 !~ /^vt_/ { print $3 }')
if [ -n "$strange" ]; then
    printf 'exported, and not called vt_…:\n%s\n' "$strange"
    broken=1
fi
# Every function that a public header promises is there.
for name in $(sed -n 's/^VT_API .*[ *]\(vt_[a-z0-9_]*\)(.*/\1/p' include/vatio/*.h); do
    nm -D --defined-only "$library" | grep -q " $name\$" || {
        echo "$name stands in a public header and is not exported"
        broken=1
    }
done
for needed in $(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
    case $needed in
    libc.so.6 | libm.so.6 | ld-linux*.so.*) ;;
    libjansson.so.4 | libhwloc.so.15 | libturbojpeg.so.0 | libpng16.so.16 | libinih.so.1) ;;
    *)
        echo "$needed is needed and not listed"
        broken=1
        ;;
    esac
done
exit $broken
