#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_headers.sh BUILD: every header compiles alone, also twice; the public ones as C++ too when
# there is a C++ compiler. (Templates, which are included several times by files that define what
# they need, are called .inc.)
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:?usage: check_headers.sh BUILD}
includes=-Iinclude
for room in "$build"/rooms/*/; do
    includes="$includes -I$room"
done
export includes

{
    find include -name '*.h' | sed 's,^include/,c ,'
    find src -name '*.h' | sed 's,^src/,c ,'
    if command -v g++ >/dev/null 2>&1; then
        find include -name '*.h' | sed 's,^include/,c++ ,'
    fi
} | xargs -n 2 -P "$(nproc)" sh -c '
    case $1 in c) compiler=gcc standard=c17 ;; *) compiler=g++ standard=c++17 ;; esac
    printf "#include \"%s\"\n#include \"%s\"\n" "$2" "$2" |
        $compiler -x "$1" -std=$standard -D_GNU_SOURCE $includes -Wall -Wextra -Werror \
            -Wno-unused-function -fsyntax-only - || {
        echo "$2 does not compile alone ($1)"
        exit 1
    }' sh
