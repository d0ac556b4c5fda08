#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""That bench/metering runs and says what it measured; the figures themselves are not judged."""
import importlib.machinery
import importlib.util
import re
import subprocess
import sys

bench, vatio = sys.argv[1:]

loader = importlib.machinery.SourceFileLoader("metering", bench)
spec = importlib.util.spec_from_loader("metering", loader)
metering = importlib.util.module_from_spec(spec)
sys.dont_write_bytecode = True
loader.exec_module(metering)

# Of nine, the second and the eighth hold the median with 96.1 %.
low, high, held = metering.order_interval([5, 3, 9, 1, 7, 2, 8, 4, 6])
assert (low, high) == (2, 8) and abs(held - 0.9609375) < 1e-12, (low, high, held)

done = subprocess.run([bench, "--vatio", vatio, "--pairs", "2", "--duration", "200ms"],
                      capture_output=True, text=True, check=False)
assert done.returncode in (0, 1), done.stderr
share = re.search(r"^sampling thread: ([0-9.]+) %", done.stdout, re.M)
assert share and 0 < float(share.group(1)) < 50, done.stdout
for scenario in ("offline", "singlestream"):
    assert re.search(rf"^{scenario}: [0-9,]+ samples/s metered, [0-9,]+ not; ratio", done.stdout,
                     re.M), done.stdout

done = subprocess.run([bench, "--vatio", vatio, "--pairs", "1", "--run-option=--no-such"],
                      capture_output=True, text=True, check=False)
assert done.returncode == 2 and "no-such" in done.stderr, done.stderr
