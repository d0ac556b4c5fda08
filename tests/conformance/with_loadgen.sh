#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# with_loadgen.sh SCRIPT [ARGUMENT…]: runs a Python script that imports MLPerf's mlperf_loadgen, with
# the Python that VT_LOADGEN_PYTHON names, or else that of build/venv (tools/loadgen_venv.sh). Exit
# code 77 where there is none.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
python=${VT_LOADGEN_PYTHON:-$top/build/venv/bin/python}
if ! why=$("$python" -c 'import mlperf_loadgen' 2>&1); then
    printf 'skipped: no mlperf_loadgen for %s: %s\n' "$python" "$(printf '%s\n' "$why" | tail -n 1)"
    printf 'tools/loadgen_venv.sh makes one, or set VT_LOADGEN_PYTHON to a Python that has it.\n'
    exit 77
fi
exec "$python" -B "$@"
