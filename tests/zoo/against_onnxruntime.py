# SPDX-License-Identifier: Apache-2.0
"""against_onnxruntime.py VATIO [full|small]: every network of the zoo is sound for onnx.checker
(where that package is there) and gives the same outputs on ONNX Runtime and on the native engine.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime as ort

try:
    import onnx
except ImportError:
    onnx = None

NETWORKS = ("resnet50", "retinanet", "unet3d", "rnnt", "bert-large", "dlrm")


def make_inputs(session, random):
    """Random contents in the range of each input; two samples where the batch is open."""
    places = {"input_ids": 1000, "input_mask": 2, "segment_ids": 2, "label": 28, "sparse": 10**9}
    inputs = {}
    for port in session.get_inputs():
        shape = [extent if isinstance(extent, int) else 2 for extent in port.shape]
        if port.type == "tensor(int64)":
            inputs[port.name] = random.integers(0, places[port.name], shape)
        else:
            inputs[port.name] = random.random(shape, dtype=np.float32)
    return inputs


def check(vatio, model, folder):
    """The native engine gives what ONNX Runtime gives."""
    if onnx is not None:
        onnx.checker.check_model(str(model), full_check=True)
    session = ort.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    inputs = make_inputs(session, np.random.default_rng(1))
    outputs = dict(zip((o.name for o in session.get_outputs()), session.run(None, inputs)))
    command = [vatio, "run", str(model), "--mode", "accuracy", "--scenario", "offline",
               "--output", str(folder / "run")]
    for option, tensors in (("--input", inputs), ("--expect", outputs)):
        for name, tensor in tensors.items():
            assert tensor.size > 0, f"{model}: {name} is empty"
            assert np.isfinite(tensor).all(), f"{model}: {name} is not finite"
            np.save(folder / f"{name}.npy", tensor)
            command += [option, f"{name}={folder / name}.npy"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout, done.stderr)
        raise SystemExit(f"{model.name}: vatio exits with {done.returncode}")
    quality = next(line for line in done.stdout.splitlines() if line.startswith("quality"))
    print(model.parent.name, model.name, quality)


def main():
    vatio = sys.argv[1]
    scale = sys.argv[2] if len(sys.argv) > 2 else "small"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for network in NETWORKS:
            target = folder / (network if network == "rnnt" else f"{network}.onnx")
            subprocess.run([vatio, "zoo", network, "--scale", scale, "-o", str(target)],
                           check=True, stdout=subprocess.DEVNULL)
            for model in sorted(target.glob("*.onnx")) if target.is_dir() else [target]:
                check(vatio, model, folder)
                model.unlink()
    print("onnx.checker:", "no complaint" if onnx is not None else "not there")


main()
