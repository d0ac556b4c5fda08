# SPDX-License-Identifier: Apache-2.0
"""bench/taken_core: it runs with vatio alone, and counts right what is in the records.

test_taken_core.py DRIVER VATIO
"""
import importlib.machinery
import importlib.util
import os
import struct
import subprocess
import sys
import tempfile
import unittest

DRIVER, PROGRAM = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])


def load_driver():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("taken_core", DRIVER)
    spec = importlib.util.spec_from_loader(loader.name, loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


class Driver(unittest.TestCase):
    def setUp(self):
        self.driver = load_driver()

    def test_records_are_read(self):
        with tempfile.TemporaryDirectory() as folder:
            run = os.path.join(folder, "singlestream", "performance", "run_1")
            os.makedirs(run)
            with open(os.path.join(run, "records.vtr"), "wb") as file:
                file.write(b"VTREC\0\0\1" + struct.pack("<IIQq", 2, 0, 2, 5000))
                file.write(struct.pack("<qqqII", 0, 10 ** 9, 3 * 10 ** 9, 0, 0))
                file.write(struct.pack("<qqqII", 0, 3 * 10 ** 9, -2 ** 63, 0, 1))
            self.assertEqual(self.driver.records(folder), [(6.0, 8.0)])

    def test_pairs_are_neighbours(self):
        # Ten queries a second, five where the core is taken; one that spans a change counts nowhere.
        queries = [(t / 10, (t + 1) / 10) for t in range(10)] + [(0.95, 1.05)]
        queries += [(1 + t / 5, 1 + (t + 1) / 5) for t in range(5)]
        phases = [(0.0, 1.0, False, 0), (1.0, 2.0, True, 0), (2.0, 3.0, True, 1)]
        pairs = self.driver.pairs_of(phases, queries)
        self.assertEqual(len(pairs), 1)
        self.assertAlmostEqual(pairs[0][0], 10)
        self.assertAlmostEqual(pairs[0][1], 5)

    def test_interval(self):
        # Nine values: the second and the eighth, as in tables of the sign test.
        self.assertEqual(self.driver.median_with_interval(list(range(9))), (4, 1, 7))
        self.assertEqual(self.driver.median_with_interval([3, 1, 2]), (2, 1, 3))

    def test_it_runs(self):
        try:
            self.driver.two_cores()
        except self.driver.Failure:
            self.skipTest("one core only")
        done = subprocess.run([sys.executable, DRIVER, "digits", "--vatio", PROGRAM, "--engines",
                               "native", "--pairs", "3", "--phase", "0.2"],
                              capture_output=True, text=True, timeout=100)
        if "pairs only" in done.stderr:
            self.skipTest("this machine is too busy")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| digits | native |", done.stdout)

    def test_wrong_use(self):
        for arguments, says in ((["--engines", "none"], "allowed are"), (["--pairs", "1"], "3 pairs"),
                                (["--cpus", "0", "--vatio", PROGRAM], "two usable CPUs")):
            done = subprocess.run([sys.executable, DRIVER, *arguments], capture_output=True,
                                  text=True, timeout=100)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(says, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
