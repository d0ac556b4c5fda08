#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lint.sh BUILD: clang-tidy (.clang-tidy) over everything in src/ that BUILD compiles. Findings are
# errors.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:?usage: lint.sh BUILD}
tool=$(command -v clang-tidy-14 || command -v clang-tidy) || {
    echo "lint: clang-tidy is not installed (clang-tidy-14 of packages/test)" >&2
    exit 1
}
[ -f "$build/compile_commands.json" ] || {
    echo "lint: $build has no compile_commands.json: configure it first" >&2
    exit 1
}
# One process a file, the largest files first, so that all cores are busy to the end.
find src -name '*.c' -size +0 -exec ls -S {} + | while IFS= read -r file; do
    if grep -qF "$(pwd -P)/$file\"" "$build/compile_commands.json"; then
        printf '%s\0' "$file"
    fi
done | xargs -0 -n 1 -P "$(nproc)" "$tool" -p "$build" --quiet \
    --extra-arg=-Wno-unknown-warning-option >"$build/lint.log" 2>&1
status=$?
# It counts what the configuration suppresses, too.
grep -v ' warnings* generated\.$' "$build/lint.log"
exit $status
