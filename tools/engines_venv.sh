#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# engines_venv.sh: makes build/engines, a Python with the wheels of packages/engines, for the tests
# of the engines that open somebody else's library and for those that want the package onnx. Does
# nothing when it is there already. When it cannot be had (no network, a Python or a processor that
# there is no wheel for) it says why and exits 0: those tests are skipped then.
set -u
cd "$(dirname "$0")/.." || exit 1
venv=build/engines
log=build/engines.log
wanted=$(sed -n 's/^\([a-z_]*==[0-9.]*\).*/\1/p' packages/engines | tr '\n' ' ')

has_engines() {
    # shellcheck disable=SC2086
    "$venv/bin/python" - $wanted >/dev/null 2>&1 <<'PYTHON'
import sys
from importlib.metadata import version

for wanted in sys.argv[1:]:
    name, _, number = wanted.partition("==")
    if not version(name).startswith(number):
        sys.exit(1)
PYTHON
}

mkdir -p build
rm -f "$log"
if has_engines; then
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
            --no-deps --only-binary :all: --require-hashes -r packages/engines >>"$log" 2>&1 &&
        has_engines; then
        printf 'note: %s has %sfor %s\n' "$venv" "$wanted" "$("$venv/bin/python" --version)"
        exit 0
    fi
done
rm -rf "$venv"
printf 'note: no %shere, tests that use them are skipped: %s\n' "$wanted" \
    "$(tail -n 1 "$log" 2>/dev/null || echo 'there is no python3')"
