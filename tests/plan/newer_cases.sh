#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# newer_cases.sh TEST FOLDER: writes the cases of the Python package onnx to FOLDER, where they are
# not there yet, and runs TEST on them. The Python is that of VT_ENGINES_PYTHON or of build/engines;
# where it has no onnx, says so and exits 77.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=${VT_ENGINES_PYTHON:-$here/../../build/engines/bin/python}
if ! version=$("$python" -c 'import onnx; print(onnx.__version__)' 2>/dev/null); then
    echo "skipped: $python has no onnx (tools/engines_venv.sh makes build/engines)"
    exit 77
fi
if [ ! -f "$2/$version" ]; then
    rm -rf "$2"
    "$python" "$here/../../tools/make_onnx_cases.py" "$2"
    : >"$2/$version"
fi
VATIO_CONFORMANCE_DATA=$2 exec "$1"
