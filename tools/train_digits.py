#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the built-in model `digits` and writes the two files that are embedded in the program.

    tools/train_digits.py DIGITS.csv.gz OUT_DIR

DIGITS.csv.gz is the file that the Python package scikit-learn ships as
sklearn/datasets/data/digits.csv.gz: 1797 lines of 64 pixels (0..16) and a label. Only numpy is
needed; the ONNX file is written by the few lines of protobuf encoding below.

OUT_DIR/digits.onnx      the network, see build_model()
OUT_DIR/digits_test.bin  the held-out images, see write_test_set()

The last 360 images are held out. The file is ordered by writer, more or less, so they are mostly
from people whose hands the network has not seen: harder, and more honest, than a random split.
Everything random comes from one seed. Training takes less than a minute.
"""

import gzip
import os
import struct
import sys

import numpy as np

SEED = 20
HELD_OUT = 360
EPOCHS = 60
BATCH = 32
RATE = 3e-3
WEIGHT_DECAY = 1e-4
PIXEL_MAX = 16.0


# ---- layers: forward returns what backward needs ---------------------------------------------


def patches_of(x):
    """[n, c, h, w] to [n, h, w, c * 9]: the 3x3 neighbourhood of every pixel, zeros outside."""
    n, c, h, w = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return windows.transpose(0, 2, 3, 1, 4, 5).reshape(n, h, w, c * 9)


def conv_forward(x, weight, bias):
    patches = patches_of(x)
    y = patches @ weight.reshape(len(weight), -1).T + bias
    return y.transpose(0, 3, 1, 2), patches


def conv_backward(dy, patches, weight):
    rows = dy.transpose(0, 2, 3, 1).reshape(-1, len(weight))
    dweight = (rows.T @ patches.reshape(len(rows), -1)).reshape(weight.shape)
    # The gradient of the input is a convolution with the mirrored filter, channels exchanged.
    mirrored = weight[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
    dx, _ = conv_forward(dy, np.ascontiguousarray(mirrored), np.float32(0))
    return dx, dweight, rows.sum(axis=0)


def pool_forward(x):
    n, c, h, w = x.shape
    blocks = x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5)
    blocks = blocks.reshape(n, c, h // 2, w // 2, 4)
    winner = blocks.argmax(axis=-1)
    return blocks.max(axis=-1), winner


def pool_backward(dy, winner):
    n, c, h, w = dy.shape
    blocks = np.zeros((n, c, h, w, 4), np.float32)
    np.put_along_axis(blocks, winner[..., None], dy[..., None], axis=-1)
    return blocks.reshape(n, c, h, w, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, h * 2, w * 2)


# ---- the network -----------------------------------------------------------------------------


def new_parameters(random):
    def normal(*shape):
        fan_in = int(np.prod(shape[1:]))
        return random.normal(0, np.sqrt(2 / fan_in), shape).astype(np.float32)

    return {
        "conv1.weight": normal(16, 1, 3, 3),
        "conv1.bias": np.zeros(16, np.float32),
        "conv2.weight": normal(32, 16, 3, 3),
        "conv2.bias": np.zeros(32, np.float32),
        "conv3.weight": normal(32, 32, 3, 3),
        "conv3.bias": np.zeros(32, np.float32),
        "dense.weight": normal(10, 32),
        "dense.bias": np.zeros(10, np.float32),
    }


def forward(p, x):
    a1, k1 = conv_forward(x, p["conv1.weight"], p["conv1.bias"])
    r1 = np.maximum(a1, 0)
    a2, k2 = conv_forward(r1, p["conv2.weight"], p["conv2.bias"])
    r2 = np.maximum(a2, 0)
    m2, winner = pool_forward(r2)
    a3, k3 = conv_forward(m2, p["conv3.weight"], p["conv3.bias"])
    r3 = np.maximum(a3, 0)
    mean = r3.mean(axis=(2, 3))
    return mean @ p["dense.weight"].T + p["dense.bias"], (k1, r1, k2, r2, winner, k3, r3, mean)


def gradients(p, x, labels):
    logits, (k1, r1, k2, r2, winner, k3, r3, mean) = forward(p, x)
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    probability = e / e.sum(axis=1, keepdims=True)
    target = np.full_like(probability, 0.005)  # a little label smoothing
    target[np.arange(len(labels)), labels] = 1 - 9 * 0.005
    d = (probability - target) / len(labels)
    g = {"dense.weight": d.T @ mean, "dense.bias": d.sum(axis=0)}
    dmean = d @ p["dense.weight"] / (r3.shape[2] * r3.shape[3])
    d = dmean[:, :, None, None] * (r3 > 0)
    d, g["conv3.weight"], g["conv3.bias"] = conv_backward(d, k3, p["conv3.weight"])
    d = pool_backward(d, winner) * (r2 > 0)
    d, g["conv2.weight"], g["conv2.bias"] = conv_backward(d, k2, p["conv2.weight"])
    d = d * (r1 > 0)
    _, g["conv1.weight"], g["conv1.bias"] = conv_backward(d, k1, p["conv1.weight"])
    return g


def shifted(images, random):
    """Every image moved by at most one pixel in each direction, and a little noise."""
    n = len(images)
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    dy = random.choice(3, n, p=[0.15, 0.7, 0.15])
    dx = random.choice(3, n, p=[0.25, 0.5, 0.25])
    moved = np.empty_like(images)
    for i in range(n):
        moved[i] = padded[i, :, dy[i] : dy[i] + 8, dx[i] : dx[i] + 8]
    gain = random.uniform(0.9, 1.1, (n, 1, 1, 1))
    return (moved * gain + random.normal(0, 0.03, moved.shape)).astype(np.float32)


def train(images, labels):
    """Adam with decoupled weight decay and a cosine schedule; the weights' running mean is kept."""
    random = np.random.Generator(np.random.PCG64(SEED))
    p = new_parameters(random)
    first = {k: np.zeros_like(v) for k, v in p.items()}
    second = {k: np.zeros_like(v) for k, v in p.items()}
    average = {k: v.copy() for k, v in p.items()}
    steps_an_epoch = len(images) // BATCH
    total = EPOCHS * steps_an_epoch
    step = 0
    for _ in range(EPOCHS):
        order = random.permutation(len(images))
        for b in range(steps_an_epoch):
            chosen = order[b * BATCH : (b + 1) * BATCH]
            g = gradients(p, shifted(images[chosen], random), labels[chosen])
            step += 1
            rate = RATE * 0.5 * (1 + np.cos(np.pi * step / total))
            for k in p:
                first[k] += 0.1 * (g[k] - first[k])
                second[k] += 0.001 * (g[k] * g[k] - second[k])
                m = first[k] / (1 - 0.9**step)
                v = second[k] / (1 - 0.999**step)
                p[k] -= (rate * (m / (np.sqrt(v) + 1e-8) + WEIGHT_DECAY * p[k])).astype(np.float32)
                average[k] += np.float32(0.01) * (p[k] - average[k])
    return average


# ---- ONNX: messages of protobuf, written by hand ---------------------------------------------


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(field, value):
    return varint(field << 3) + varint(value)


def blob(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def tensor(name, array):
    dims = b"".join(integer(1, d) for d in array.shape)
    return dims + integer(2, 1) + blob(8, name) + blob(9, array.astype("<f4").tobytes())


def ints(name, values):
    return blob(1, name) + b"".join(integer(8, v) for v in values) + integer(20, 7)


def node(op, inputs, outputs, attributes=()):
    text = b"".join(blob(1, i) for i in inputs) + b"".join(blob(2, o) for o in outputs)
    return text + blob(3, outputs[0]) + blob(4, op) + b"".join(blob(5, a) for a in attributes)


def port(name, dims):
    shape = b"".join(
        blob(1, blob(2, d) if isinstance(d, str) else integer(1, d)) for d in dims
    )
    return blob(1, name) + blob(2, blob(1, integer(1, 1) + blob(2, shape)))


def build_model(p):
    """Input `image` float32 [N,1,8,8], pixels 0..16; output `probabilities` float32 [N,10]."""
    conv = [ints("kernel_shape", [3, 3]), ints("pads", [1, 1, 1, 1])]
    pool = [ints("kernel_shape", [2, 2]), ints("strides", [2, 2])]
    transposed = [blob(1, "transB") + integer(3, 1) + integer(20, 2)]
    nodes = [
        node("Conv", ["image", "conv1.weight", "conv1.bias"], ["conv1"], conv),
        node("Relu", ["conv1"], ["relu1"]),
        node("Conv", ["relu1", "conv2.weight", "conv2.bias"], ["conv2"], conv),
        node("Relu", ["conv2"], ["relu2"]),
        node("MaxPool", ["relu2"], ["pool2"], pool),
        node("Conv", ["pool2", "conv3.weight", "conv3.bias"], ["conv3"], conv),
        node("Relu", ["conv3"], ["relu3"]),
        node("GlobalAveragePool", ["relu3"], ["mean"]),
        node("Flatten", ["mean"], ["features"]),
        node("Gemm", ["features", "dense.weight", "dense.bias"], ["logits"], transposed),
        node("Softmax", ["logits"], ["probabilities"]),
    ]
    graph = b"".join(blob(1, n) for n in nodes) + blob(2, "digits")
    graph += b"".join(blob(5, tensor(k, v)) for k, v in p.items())
    graph += blob(11, port("image", ["N", 1, 8, 8]))
    graph += blob(12, port("probabilities", ["N", 10]))
    opset = blob(1, "") + integer(2, 13)
    return integer(1, 7) + blob(2, "vatio") + blob(7, graph) + blob(8, opset)


# ---- the held-out images ---------------------------------------------------------------------


def write_test_set(path, images, labels):
    """Eight bytes "VTDIGIT1", then count and bytes an image as little-endian uint32, then count
    labels of one byte, then the images, one byte a pixel, row by row."""
    with open(path, "wb") as out:
        out.write(b"VTDIGIT1" + struct.pack("<II", len(images), images[0].size))
        out.write(labels.astype(np.uint8).tobytes())
        out.write(images.astype(np.uint8).tobytes())


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with gzip.open(sys.argv[1], "rt") as file:
        table = np.loadtxt(file, delimiter=",")
    images = table[:, :64].reshape(-1, 1, 8, 8).astype(np.float32)
    labels = table[:, 64].astype(np.int64)
    p = train(images[:-HELD_OUT] / PIXEL_MAX, labels[:-HELD_OUT])
    p["conv1.weight"] = p["conv1.weight"] / np.float32(PIXEL_MAX)  # the model takes raw pixels
    parts = {"training": slice(0, -HELD_OUT), "held-out": slice(-HELD_OUT, None)}
    for name, part in parts.items():
        right = int((forward(p, images[part])[0].argmax(axis=1) == labels[part]).sum())
        n = len(labels[part])
        print(f"{name}: {right} of {n} right, {100 * right / n:.2f} % top-1")
    print(f"parameters: {sum(v.size for v in p.values())}")
    with open(os.path.join(sys.argv[2], "digits.onnx"), "wb") as out:
        out.write(build_model(p))
    write_test_set(
        os.path.join(sys.argv[2], "digits_test.bin"), images[-HELD_OUT:, 0], labels[-HELD_OUT:]
    )


if __name__ == "__main__":
    main()
