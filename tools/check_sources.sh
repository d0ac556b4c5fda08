#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_sources.sh: rules of the house that a text search can see. Prints what breaks them.
set -u
cd "$(dirname "$0")/.." || exit 1
broken=0

# refuse REASON LINES: fails when there are lines, and prints them.
refuse() {
    if [ -n "$2" ]; then
        printf '%s:\n%s\n' "$1" "$2"
        broken=1
    fi
}

# calls NAMES FILE…: lines that call one of the functions, comments left out.
calls() {
    names=$1
    shift
    grep -nHE "(^|[^A-Za-z0-9_>.])($names)[[:space:]]*\(" "$@" |
        grep -vE '^[^:]+:[0-9]+:[[:space:]]*(\*|/\*|//)'
}

sources=$(find include src bench -name '*.[ch]')
library=$(find src -name '*.[ch]' -not -path 'src/cli/*')
managed=$(printf '%s\n' "$library" | grep -vx 'src/base/alloc.c')

# shellcheck disable=SC2086
{
    refuse 'Functions that cut, overflow, guess or keep hidden state' "$(calls \
        'strcpy|strcat|strncpy|strncat|sprintf|vsprintf|gets|strtok|atoi|atol|atoll|atof|sscanf|fscanf|scanf|alloca|tmpnam|mktemp|rand|srand|system|popen' \
        $sources)"
    refuse 'The library never prints, exits or aborts' "$(calls \
        'printf|puts|putchar|perror|exit|_exit|abort|assert' $library)"
    refuse 'Memory comes through base/alloc.h' "$(calls \
        'malloc|calloc|realloc|strdup|strndup|asprintf|vasprintf' $managed)"
    refuse 'Unfinished business' "$(
        grep -nHE '\b(TODO|FIXME|XXX|HACK)\b' $sources $(find tests -name '*.[ch]'))"
}
refuse 'No SPDX line at the top' "$(find include src tests bench examples cmake tools -type f \
    \( -name '*.[ch]' -o -name '*.inc' -o -name '*.cc' -o -name '*.cmake' -o -name '*.sh' -o -name '*.py' \
    -o -name CMakeLists.txt \) -print | while IFS= read -r file; do
    head -n 2 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || printf '%s\n' "$file"
done)"

# Lengths are reported, not judged: past these there is often a second idea in it.
# shellcheck disable=SC2086
wc -l $sources $(find tests -name '*.[ch]') | awk '$2 != "total" && $1 > 600 {
    printf "note: %s has %d lines (600)\n", $2, $1 }'
# shellcheck disable=SC2086
awk 'FNR == 1 { start = 0 }
    /^\{/ { start = FNR }
    /^\}/ { if (start && FNR - start - 1 > 60)
        printf "note: %s:%d: a function of %d lines (60)\n", FILENAME, start, FNR - start - 1
        start = 0 }' $(printf '%s\n' $sources | grep '\.c$')
exit $broken
