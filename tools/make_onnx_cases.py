#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the operator cases that the Python package onnx brings, for test_plan_conformance.

    pip install onnx
    tools/make_onnx_cases.py FOLDER
    VATIO_CONFORMANCE_DATA=FOLDER build/check/tests/plan/test_plan_conformance

They reach newer operator sets than those of Debian's libonnx-testdata. The layout is the same:
FOLDER/node/test_NAME/model.onnx with test_data_set_K/{input,output}_I.pb.
"""

import inspect
import pathlib
import sys
import warnings

import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases


def tensor(value):
    """The value as a TensorProto; what is no tensor becomes one of text, which is not supported."""
    if isinstance(value, onnx.TensorProto):
        return value
    try:
        return numpy_helper.from_array(value)
    except (TypeError, AttributeError, ValueError):
        return onnx.TensorProto(data_type=onnx.TensorProto.STRING)


def write(case, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    for number, (inputs, outputs) in enumerate(case.data_sets):
        data = folder / f"test_data_set_{number}"
        data.mkdir(exist_ok=True)
        for kind, values in (("input", inputs), ("output", outputs)):
            for index, value in enumerate(values):
                (data / f"{kind}_{index}.pb").write_bytes(tensor(value).SerializeToString())


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    warnings.simplefilter("ignore")
    takes_operator = len(inspect.signature(collect_testcases).parameters) > 0
    cases = collect_testcases(None) if takes_operator else collect_testcases()
    folder = pathlib.Path(sys.argv[1]) / "node"
    written = 0
    for case in cases:
        if case.model is not None and case.data_sets is not None:
            write(case, folder / case.name)
            written += 1
    print(f"{written} cases of onnx {onnx.__version__}")


if __name__ == "__main__":
    main()
