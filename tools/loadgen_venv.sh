#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# loadgen_venv.sh: makes build/venv, a Python with MLPerf's LoadGen (packages/wheels) for the tests
# that compare with it. Does nothing when it is there already. When it cannot be had (no network, a
# Python that there is no wheel for) it says why and exits 0: those tests are skipped then.
set -u
cd "$(dirname "$0")/.." || exit 1
venv=build/venv
log=build/venv.log
wanted=$(sed -n 's/^mlcommons-loadgen==\([0-9.]*\).*/\1/p' packages/wheels)

has_loadgen() {
    "$venv/bin/python" - "$wanted" >/dev/null 2>&1 <<'PYTHON'
import sys
from importlib.metadata import version

import mlperf_loadgen

sys.exit(0 if version("mlcommons-loadgen") == sys.argv[1] else 1)
PYTHON
}

mkdir -p build
rm -f "$log"
if has_loadgen; then
    exit 0
fi
tried=
for python in "$(command -v python3)" /usr/bin/python3; do
    if [ -z "$python" ] || [ "$python" = "$tried" ]; then
        continue
    fi
    tried=$python
    rm -rf "$venv"
    if "$python" -m venv "$venv" >"$log" 2>&1 &&
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --retries 2 \
            --no-deps --only-binary :all: --require-hashes -r packages/wheels >>"$log" 2>&1 &&
        has_loadgen; then
        printf 'note: %s has mlcommons-loadgen %s for %s\n' "$venv" "$wanted" \
            "$("$venv/bin/python" --version)"
        exit 0
    fi
done
rm -rf "$venv"
printf 'note: no mlcommons-loadgen %s here, tests that compare with it are skipped: %s\n' "$wanted" \
    "$(tail -n 1 "$log" 2>/dev/null || echo 'there is no python3')"
