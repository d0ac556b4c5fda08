# SPDX-License-Identifier: Apache-2.0
"""bench/loadgen with vatio alone: it runs, its figures hang together, its statistics are right.

test_loadgen.py DRIVER LOADGEN_VATIO
"""
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

DRIVER, PROGRAM = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])


def load_driver():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("loadgen_driver", DRIVER)
    spec = importlib.util.spec_from_loader(loader.name, loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


def drive(*arguments):
    return subprocess.run([sys.executable, DRIVER, "--vatio", PROGRAM, *arguments],
                          capture_output=True, text=True, timeout=100)


def one_run(**job):
    arguments = [f"{key}={value}" for key, value in job.items()]
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=100)
    return done.returncode, json.loads(done.stdout) if done.returncode == 0 else done.stderr


class Driver(unittest.TestCase):
    def test_quick_run_prints_figures(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "figures.json")
            done = drive("--alone", "--quick", "--only", "singlestream", "--json", file)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(file, encoding="utf-8") as stream:
                figures = json.load(stream)
        self.assertRegex(done.stdout, r"\| SingleStream +\| M queries/s +\| [0-9.]+ +\| – ")
        self.assertEqual({r["experiment"] for r in figures["results"]},
                         {"singlestream-inline", "singlestream-queue", "singlestream-10m"})
        for result in figures["results"]:
            self.assertGreater(result["medians"]["vatio"], 0, result["title"])
            self.assertNotIn("ratio", result)

    def test_what_it_refuses(self):
        done = drive("--alone", "--only", "nonesuch")
        self.assertEqual(done.returncode, 2)
        self.assertIn("nonesuch", done.stderr)
        done = drive("--official", os.path.dirname(PROGRAM))
        self.assertEqual(done.returncode, 1)
        self.assertIn("no loadgen/loadgen.cc", done.stderr)
        self.assertNotIn("Traceback", done.stderr)


class Program(unittest.TestCase):
    def test_every_scenario_from_both_threads(self):
        for scenario, samples in (("singlestream", 500), ("multistream", 4000), ("server", 500),
                                  ("offline", 500)):
            for complete in ("inline", "queue"):
                with self.subTest(scenario=scenario, complete=complete):
                    code, run = one_run(scenario=scenario, complete=complete, queries=500,
                                        qps=100000, spin_us=10)
                    self.assertEqual(code, 0, run)
                    self.assertEqual(run["samples"], samples)
                    self.assertTrue(run["start_ns"] > 0 and run["run_ns"] > 0)
                    self.assertTrue(run["finish_ns"] >= 0)
                    self.assertEqual(run["whole_ns"],
                                     run["start_ns"] + run["run_ns"] + run["finish_ns"])

    def test_lateness_is_ordered_and_beside_a_control(self):
        for scenario in ("server", "control"):
            code, run = one_run(scenario=scenario, queries=300, qps=3000, stamps=1, spin_us=60)
            self.assertEqual(code, 0, run)
            late = [run[f"late_{p}_ns"] for p in ("p50", "p99", "p99_9", "max")]
            self.assertEqual(late, sorted(late))
            self.assertGreaterEqual(late[0], 0)

    def test_arguments(self):
        for job in ({"scenario": "none"}, {"queries": "x"}, {"colour": "red"},
                    {"scenario": "server", "complete": "queue", "threads": 2}):
            self.assertEqual(one_run(**job)[0], 2, job)


class Statistics(unittest.TestCase):
    def test_interval_of_the_median(self):
        driver = load_driver()
        # From the binomial table: of 9, the 2nd to the 8th hold it with 1 - 20/512; of 6, all.
        low, high, held = driver.order_interval([9, 1, 8, 2, 7, 3, 6, 4, 5])
        self.assertEqual((low, high), (2, 8))
        self.assertAlmostEqual(held, 1 - 20 / 512)
        self.assertEqual(driver.order_interval([6, 5, 4, 3, 2, 1])[:2], (1, 6))

    def test_better_is_above_one_either_way(self):
        driver = load_driver()
        runs = {"vatio": [{"x": 10}] * 9, "LoadGen": [{"x": 2}] * 9}
        for more, ratio in ((True, 5), (False, 0.2)):
            figure = driver.Figure("t", "u", lambda run: run["x"], more)
            result = driver.summarise(figure, runs)
            self.assertEqual(result["ratio"], ratio)
            self.assertEqual(result["interval"], [ratio, ratio])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
