#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A vatio engine as the system under test of MLCommons' own LoadGen, for those who must submit.

    pip install mlcommons-loadgen
    python3 official_loadgen.py --scenario Server --qps 500 --output logs model=digits batch=8

The options at the end are those of `vatio run` that concern model, engine and data. LoadGen decides
the load and writes its logs into --output. The class System below is the part to take into a
harness of one's own: it wraps the functions of vatio/system.h, whose comments are the contract.

The library is found through the environment variable VATIO_LIBRARY, beside this file's installation,
or by the loader.
"""
import argparse
import ctypes
import os
import struct
import sys
from ctypes import POINTER, byref, c_bool, c_char, c_char_p, c_double, c_int, c_int64, c_size_t
from ctypes import c_uint32, c_uint64, c_void_p

SCENARIOS = ("Offline", "Server", "SingleStream", "MultiStream")  # enum vt_scenario


class Error(ctypes.Structure):  # struct vt_error
    _fields_ = [("status", c_int), ("text", c_char * 512)]


class Option(ctypes.Structure):  # struct vt_system_option
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


class Answer(ctypes.Structure):  # struct vt_load_answer
    _fields_ = [("sequence", c_uint64), ("index", c_uint64), ("data", c_char_p),
                ("bytes", c_size_t)]


class Quality(ctypes.Structure):  # struct vt_system_quality
    _fields_ = [("struct_size", c_uint32), ("has_target", c_bool), ("passed", c_bool),
                ("metric", c_char * 32), ("unit", c_char * 16), ("value", c_double),
                ("target", c_double), ("count", c_uint64), ("detail", c_char * 400)]


# struct vt_completion: id, response, response_bytes, status, text, n_tokens. Read as a block of
# bytes, which costs Python a third of what it costs through a ctypes.Structure.
COMPLETION = struct.Struct("@QPNiPq")
COMPLETE = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)


class Sink(ctypes.Structure):  # struct vt_completion_sink
    _fields_ = [("complete", COMPLETE), ("first_token", COMPLETE), ("ctx", c_void_p)]


class VatioError(RuntimeError):
    """What a vatio function said."""


def find_library():
    """The path, or the name, of libvatio."""
    if os.environ.get("VATIO_LIBRARY"):
        return os.environ["VATIO_LIBRARY"]
    here = os.path.dirname(os.path.abspath(__file__))
    prefix = os.path.join(here, *[os.pardir] * 4)  # PREFIX/share/doc/vatio/examples
    for folder in ("lib", "lib64", os.path.join("lib", os.uname().machine + "-linux-gnu")):
        path = os.path.join(prefix, folder, "libvatio.so.0")
        if os.path.exists(path):
            return os.path.realpath(path)
    return "libvatio.so.0"


def load_library():
    """libvatio with the types of the functions that are used here."""
    lib = ctypes.CDLL(find_library())
    system, err, u64s = c_void_p, POINTER(Error), POINTER(c_uint64)
    for name, result, arguments in (
            ("open", c_int, (POINTER(Option), c_size_t, err, POINTER(system))),
            ("close", None, (system,)),
            ("name", c_char_p, (system,)),
            ("description", c_char_p, (system,)),
            ("total_count", c_uint64, (system,)),
            ("performance_count", c_uint64, (system,)),
            ("load", c_int, (system, u64s, c_size_t, err)),
            ("unload", None, (system, u64s, c_size_t)),
            ("start", c_int, (system, c_int, POINTER(Sink), err)),
            ("stop", c_int, (system, err)),
            ("issue", c_int, (system, u64s, u64s, c_size_t, err)),
            ("flush", None, (system,)),
            ("score", c_int, (system, POINTER(Answer), c_size_t, err, POINTER(Quality)))):
        function = getattr(lib, "vt_system_" + name)
        function.restype, function.argtypes = result, arguments
    return lib


def u64_array(values):
    return (c_uint64 * len(values))(*values)


class System:
    """A vatio engine with its data. Use it in a `with` block."""

    def __init__(self, options):
        """`options`: pairs of name and value, as `vatio run` has them: [("model", "digits")]."""
        self.lib = load_library()
        self.handle = c_void_p()
        self.sink = None
        array = (Option * len(options))(*[Option(n.encode(), v.encode()) for n, v in options])
        self._call("open", array, len(options), err_before=byref(self.handle))
        self.name = self.lib.vt_system_name(self.handle).decode()
        self.description = self.lib.vt_system_description(self.handle).decode()
        self.total_count = self.lib.vt_system_total_count(self.handle)
        self.performance_count = self.lib.vt_system_performance_count(self.handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.lib.vt_system_close(self.handle)
        self.handle = c_void_p()

    def _call(self, name, *arguments, err_before=None):
        err = Error()
        tail = (byref(err),) if err_before is None else (byref(err), err_before)
        if getattr(self.lib, "vt_system_" + name)(*arguments, *tail) != 0:
            raise VatioError(err.text.decode(errors="replace"))

    def load(self, indices):
        self._call("load", self.handle, u64_array(indices), len(indices))

    def unload(self, indices):
        self.lib.vt_system_unload(self.handle, u64_array(indices), len(indices))

    def start(self, scenario, complete, first_token=None):
        """`complete` gets lists of (id, address, bytes, status, text or None, tokens) from vatio's
        threads; the response at `address` is gone when it returns. `first_token` gets the same of
        samples that go on."""
        def callback(function):
            def on_completions(_, first, n):
                block = ctypes.string_at(first, n * COMPLETION.size)
                function([(i, address or 0, size, status,
                           ctypes.string_at(text) if text else None, tokens)
                          for i, address, size, status, text, tokens
                          in COMPLETION.iter_unpack(block)])
            return COMPLETE(on_completions)

        self.sink = Sink(complete=callback(complete))  # lives as long as vatio may call it
        if first_token is not None:
            self.sink.first_token = callback(first_token)
        self._call("start", self.handle, SCENARIOS.index(scenario), byref(self.sink))

    def stop(self):
        self._call("stop", self.handle)
        self.sink = None

    def issue(self, ids, indices):
        self._call("issue", self.handle, u64_array(ids), u64_array(indices), len(ids))

    def flush(self):
        self.lib.vt_system_flush(self.handle)

    def score(self, answers):
        """`answers`: pairs of index and response bytes. Returns the task's Quality."""
        array = (Answer * len(answers))(*[Answer(0, i, data, len(data)) for i, data in answers])
        quality = Quality(struct_size=ctypes.sizeof(Quality))
        self._call("score", self.handle, array, len(answers), err_before=byref(quality))
        return quality


class OfficialTest:
    """One StartTest of LoadGen on a System."""

    def __init__(self, system, loadgen):
        self.system, self.loadgen = system, loadgen
        self.failure = None

    def _fail(self, ids, text):
        # LoadGen knows no failed sample and would wait for it for ever: it gets an empty response.
        self.failure = self.failure or text
        response = self.loadgen.QuerySampleResponse
        self.loadgen.QuerySamplesComplete([response(i, 0, 0) for i in ids])

    def _responses(self, completions):
        response = self.loadgen.QuerySampleResponse
        return [response(i, address, size, tokens)
                for i, address, size, _, _, tokens in completions]

    def _complete(self, completions):
        self.loadgen.QuerySamplesComplete(self._responses(completions))
        for i, _, _, status, text, _ in completions:
            if status != 0 and self.failure is None:
                self.failure = "sample %d: %s" % (i, (text or b"failed").decode(errors="replace"))

    def _first_token(self, completions):
        self.loadgen.FirstTokenComplete(self._responses(completions))

    def _issue(self, ids, indices):
        try:
            self.system.issue(ids, indices)
        except VatioError as error:
            self._fail(ids, str(error))

    def run(self, settings, folder):
        """Runs with a TestSettings of LoadGen's; its logs go into `folder`, which exists."""
        lg, system = self.loadgen, self.system
        log = lg.LogSettings()
        log.log_output.outdir = folder
        log.log_output.copy_summary_to_stdout = False
        scenario = str(settings.scenario).rsplit(".", 1)[-1]
        sut = lg.ConstructFastSUT(self._issue, system.flush)
        qsl = lg.ConstructQSL(system.total_count, system.performance_count, system.load,
                              system.unload)
        system.start(scenario, self._complete,
                     self._first_token if settings.use_token_latencies else None)
        try:
            lg.StartTestWithLogSettings(sut, qsl, settings, log)
        finally:
            system.stop()
            lg.DestroyFastSUT(sut)
            lg.DestroyQSL(qsl)
        if self.failure is not None:
            raise VatioError(self.failure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--scenario", choices=SCENARIOS, default="Offline")
    parser.add_argument("--accuracy", action="store_true", help="AccuracyOnly, and the score")
    parser.add_argument("--qps", type=float, help="target of Server, expectation of Offline")
    parser.add_argument("--expected-us", type=float,
                        help="expected latency of a query in SingleStream and MultiStream")
    parser.add_argument("--seconds", type=float, help="minimum duration (LoadGen's default: 10)")
    parser.add_argument("--user-conf", help="a user.conf, for submissions")
    parser.add_argument("--benchmark", default="", help="the benchmark's name in user.conf")
    parser.add_argument("--output", default=".", help="folder for LoadGen's logs")
    parser.add_argument("options", nargs="+", metavar="NAME=VALUE", help="model=…, batch=…, …")
    arguments = parser.parse_args()
    try:
        import mlperf_loadgen as lg
    except ImportError:
        sys.exit("mlperf_loadgen is missing: pip install mlcommons-loadgen")
    settings = lg.TestSettings()
    if arguments.user_conf:
        settings.FromConfig(arguments.user_conf, arguments.benchmark, arguments.scenario)
    settings.scenario = getattr(lg.TestScenario, arguments.scenario)
    settings.mode = lg.TestMode.AccuracyOnly if arguments.accuracy else lg.TestMode.PerformanceOnly
    if arguments.qps:
        settings.server_target_qps = settings.offline_expected_qps = arguments.qps
    if arguments.expected_us:
        settings.single_stream_expected_latency_ns = int(arguments.expected_us * 1000)
        settings.multi_stream_expected_latency_ns = int(arguments.expected_us * 1000)
    if arguments.seconds is not None:
        settings.min_duration_ms = int(arguments.seconds * 1000)
    os.makedirs(arguments.output, exist_ok=True)
    try:
        with System([tuple(option.split("=", 1)) for option in arguments.options]) as system:
            print(system.description, file=sys.stderr)
            OfficialTest(system, lg).run(settings, arguments.output)
            if arguments.accuracy:
                print(score_log(system, arguments.output))
            else:
                with open(os.path.join(arguments.output, "mlperf_log_summary.txt")) as summary:
                    print(summary.read(), end="")
    except (VatioError, ValueError, OSError) as error:
        sys.exit(str(error))


def read_accuracy_log(folder):
    """Pairs of index and response out of LoadGen's accuracy log."""
    import json
    with open(os.path.join(folder, "mlperf_log_accuracy.json")) as log:
        return [(entry["qsl_idx"], bytes.fromhex(entry["data"])) for entry in json.load(log)]


def score_log(system, folder):
    """One line on the quality of the responses in an accuracy log."""
    quality = system.score(read_accuracy_log(folder))
    return "%s: %.4g %s (%s)" % (quality.metric.decode(), quality.value, quality.unit.decode(),
                                 quality.detail.decode())


if __name__ == "__main__":
    main()
