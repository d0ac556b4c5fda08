#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# format.sh [--check | BUILD]: formats the C sources, or with --check says which are not.
set -u
cd "$(dirname "$0")/.." || exit 1
tool=$(command -v clang-format-14 || command -v clang-format) || {
    echo "format: clang-format is not installed (clang-format-14 of packages/test)" >&2
    exit 1
}
if [ "${1-}" = --check ]; then
    set -- --dry-run -Werror
else
    set -- -i
fi
find include src tests bench examples -name '*.[ch]' -print0 | xargs -0 -n 40 "$tool" "$@"
