#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# with_onnxruntime.sh SCRIPT ARGUMENT…: runs a Python script that imports onnxruntime, with the
# Python of VT_ENGINES_PYTHON or of build/engines; without one says so and exits 77.
set -u
python=${VT_ENGINES_PYTHON:-$(dirname "$0")/../../build/engines/bin/python}
if ! "$python" -c 'import numpy, onnxruntime' >/dev/null 2>&1; then
    echo "skipped: $python has no onnxruntime and numpy (tools/engines_venv.sh makes build/engines)"
    exit 77
fi
exec "$python" "$@"
