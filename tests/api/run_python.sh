#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run_python.sh SCRIPT ARGUMENT…: with the Python that VT_LOADGEN_PYTHON names, else python3.
python=${VT_LOADGEN_PYTHON:-python3}
command -v "$python" >/dev/null 2>&1 || {
    echo "skipped: no $python (VT_LOADGEN_PYTHON names a Python that has the LoadGen wheel)"
    exit 77
}
exec "$python" "$@"
