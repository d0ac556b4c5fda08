# SPDX-License-Identifier: Apache-2.0
# Writes the cases of the Python package onnx to FOLDER with PYTHON and SCRIPT, and runs TEST on them.
execute_process(COMMAND "${PYTHON}" "${SCRIPT}" "${FOLDER}" COMMAND_ERROR_IS_FATAL ANY)
set(ENV{VATIO_CONFORMANCE_DATA} "${FOLDER}")
execute_process(COMMAND "${TEST}" COMMAND_ERROR_IS_FATAL ANY)
