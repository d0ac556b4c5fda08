# SPDX-License-Identifier: Apache-2.0
"""Which samples are issued when: vatio's load generator against MLPerf LoadGen, query by query.

orders.py PROGRAM [--oracle ORACLE] [--division] [--random N] [--seed S] [--show]

Without --random the configurations below, else N that are made up from the seed. PROGRAM is that of
probe.c; it is compared with the Python wheel mlperf_loadgen or, with --oracle, with the program of
oracle.cc; --division has both draw integers as libstdc++ 7 to 10 did. Compared are, for each
configuration, the sets that are loaded, the samples of every query, the start of every Server query
in nanoseconds, sequence numbers, the responses that go to the accuracy log, and what LoadGen writes
about generated queries and effective settings.

LoadGen shows its schedule in its trace: the start of every query with three decimals of a
microsecond.
"""

import argparse
import array
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

try:
    import mlperf_loadgen as lg
except ImportError:
    lg = None  # --oracle does without

# qsl, sample index, schedule: as mlperf.conf had them in the round.
SEEDS = {
    "v3.0": (10003631887983097364, 17183018601990103738, 12134888396634371638),
    "v3.1": (148687905518835231, 520418551913322573, 811580660758947900),
    "v4.0": (13281865557512327830, 198141574272810017, 7575108116881280410),
    "v4.1": (3066443479025735752, 10688027786191513374, 14962580496156340209),
    "v5.0": (6023615788873153749, 15036839855038426416, 9933818062894767841),
    "v5.1": (1780908523862526354, 14771362308971278857, 18209322760996052031),
    "v6.0": (2465351861681999779, 14276810075590677512, 3936089224930324775),
    "v6.1": (2085463073848966840, 2747215439041700203, 16159082839903944936),
}
OFFLINE, SERVER, SINGLE, MULTI = "Offline", "Server", "SingleStream", "MultiStream"
PERFORMANCE, ACCURACY, SUBMISSION = "PerformanceOnly", "AccuracyOnly", "SubmissionRun"


def config(scenario, total, performance, seeds="v6.1", mode=PERFORMANCE, **settings):
    """One configuration; fast enough for tests unless the settings say otherwise."""
    qsl, sample, schedule = SEEDS[seeds]
    return {
        "scenario": scenario,
        "mode": mode,
        "total": total,
        "performance": performance,
        "min_duration_ms": 0,
        "server_target_qps": 20000,
        "qsl_rng_seed": qsl,
        "sample_index_rng_seed": sample,
        "schedule_rng_seed": schedule,
        **settings,
    }


def fixed():
    """Every scenario, mode and rule of selection."""
    equal = {"sample_concatenate_permutation": 1}
    unique = {"performance_issue_unique": 1}
    same = {"performance_issue_same": 1, "performance_issue_same_index": 5}
    logged = {"accuracy_log_rng_seed": 720381539243781796}
    yield from (
        # Uniform, with the seeds of every round.
        config(SERVER, 300, 64, "v3.0", min_query_count=500),
        config(SERVER, 5000, 1023, "v3.1", min_query_count=1500, server_target_qps=30000),
        config(SERVER, 1024, 1024, "v4.0", min_query_count=777),
        config(SERVER, 24576, 24576, "v4.1", min_query_count=1000),
        config(SERVER, 50000, 1024, "v5.0", min_duration_ms=120, server_target_qps=9876.5),
        config(SERVER, 50000, 10833, "v5.1", min_duration_ms=50, min_query_count=1),
        config(SERVER, 100000, 70000, "v6.1", min_query_count=600),
        config(SERVER, 1, 1, min_query_count=50),
        config(SINGLE, 300, 64, "v3.0", min_query_count=500),
        config(SINGLE, 100000, 65535, "v4.0", min_query_count=400),
        config(SINGLE, 100000, 65536, "v5.0", min_query_count=400),
        config(SINGLE, 5000, 1024, "v5.1", min_duration_ms=20),
        config(SINGLE, 1, 1, min_query_count=20),
        config(SINGLE, 40, 40, single_stream_expected_latency_ns=500000, min_duration_ms=10),
        config(SINGLE, 40, 40, single_stream_expected_latency_ns=33333.3333, min_duration_ms=7),
        config(MULTI, 50, 50, multi_stream_expected_latency_ns=33333.3333, min_duration_ms=7),
        config(SINGLE, 200, 100, min_query_count=100, max_query_count=37),
        config(MULTI, 300, 64, "v3.1", min_query_count=300),
        config(MULTI, 10000, 2048, "v4.1", min_query_count=200),
        config(MULTI, 100000, 70001, "v6.0", min_query_count=150),
        config(MULTI, 30, 3, min_query_count=100),
        config(MULTI, 200, 77, min_query_count=100, multi_stream_samples_per_query=1),
        config(MULTI, 200, 77, min_query_count=100, multi_stream_samples_per_query=13),
        config(MULTI, 1, 1, min_query_count=30, multi_stream_samples_per_query=5),
        config(MULTI, 500, 100, min_duration_ms=10, multi_stream_expected_latency_ns=250000),
        # Offline: multiples of the set, and not; by time and by count.
        config(OFFLINE, 300, 64, "v3.0", min_query_count=640),
        config(OFFLINE, 300, 64, "v4.0", min_query_count=1000),
        config(OFFLINE, 5000, 1000, "v5.0", min_query_count=7),
        config(OFFLINE, 5000, 777, min_duration_ms=333, offline_expected_qps=5432.1),
        config(OFFLINE, 80000, 70000, min_query_count=75000),
        config(OFFLINE, 1, 1, min_query_count=25),
        # Equal issue.
        config(SERVER, 300, 70, "v4.1", min_query_count=193, **equal),
        config(SERVER, 300, 70, min_query_count=210, **equal),
        config(SERVER, 4000, 1200, "v5.0", min_query_count=100, **equal),
        config(SERVER, 300, 33, min_query_count=10, min_duration_ms=60, **equal),
        config(SERVER, 1, 1, min_query_count=20, **equal),
        config(SINGLE, 300, 70, "v5.1", min_query_count=100, **equal),
        config(SINGLE, 300, 70, min_query_count=140, **equal),
        config(SINGLE, 300, 90, min_query_count=50, performance_sample_count_override=41, **equal),
        config(SINGLE, 300, 43, min_query_count=10, min_duration_ms=10, **equal),
        config(MULTI, 300, 70, min_query_count=100, **equal),
        config(OFFLINE, 300, 70, "v4.0", min_query_count=1000, **equal),
        config(OFFLINE, 300, 70, min_query_count=140, **equal),
        config(OFFLINE, 1500, 1500, min_duration_ms=500, offline_expected_qps=9000, **equal),
        # Unique and same.
        config(SERVER, 300, 70, **unique),
        config(SINGLE, 300, 70, min_query_count=70, **unique),
        config(SINGLE, 300, 70, min_query_count=100, **unique),
        config(MULTI, 300, 75, **unique),
        config(OFFLINE, 300, 70, min_query_count=500, **unique),
        config(SERVER, 300, 70, **same),
        config(SINGLE, 300, 70, **same),
        config(MULTI, 300, 70, **same),
        config(OFFLINE, 300, 70, **same),
        config(SERVER, 300, 70, min_query_count=100, **equal, **same),
        # Accuracy: one set, several, the last one shorter.
        config(SERVER, 300, 300, "v3.0", ACCURACY),
        config(SERVER, 300, 70, "v4.0", ACCURACY),
        config(SERVER, 500, 70, "v5.0", ACCURACY, **equal),
        config(SINGLE, 300, 300, "v4.1", ACCURACY),
        config(SINGLE, 300, 70, mode=ACCURACY),
        config(SINGLE, 301, 100, mode=ACCURACY, accuracy_sample_count_override=150),
        config(SINGLE, 1, 1, mode=ACCURACY),
        config(MULTI, 300, 300, "v5.0", ACCURACY),
        config(MULTI, 303, 50, "v5.1", ACCURACY),
        config(MULTI, 60, 7, mode=ACCURACY, multi_stream_samples_per_query=3),
        config(OFFLINE, 300, 300, mode=ACCURACY),
        config(OFFLINE, 300, 70, mode=ACCURACY),
        config(OFFLINE, 70000, 66000, "v3.1", ACCURACY),
        config(OFFLINE, 300, 70, mode=ACCURACY, **equal),
        config(SINGLE, 140, 70, mode=ACCURACY, **unique),
        # Accuracy first, then performance, in one test.
        config(SERVER, 300, 70, mode=SUBMISSION, min_query_count=150),
        config(SINGLE, 150, 70, mode=SUBMISSION, min_query_count=90, **logged),
        config(MULTI, 100, 40, mode=SUBMISSION, min_query_count=60),
        config(OFFLINE, 300, 70, mode=SUBMISSION, min_query_count=150),
        # The accuracy log's share of a performance run.
        config(SERVER, 300, 70, min_query_count=600, accuracy_log_probability=0.1, **logged),
        config(SERVER, 300, 70, min_query_count=400, accuracy_log_sampling_target=50, **logged),
        config(SINGLE, 300, 70, min_query_count=400, accuracy_log_probability=0.5),
        config(MULTI, 300, 70, min_query_count=100, accuracy_log_sampling_target=100, **logged),
        config(OFFLINE, 300, 70, min_query_count=2000, accuracy_log_sampling_target=64, **logged),
        config(OFFLINE, 300, 70, min_query_count=500, accuracy_log_probability=1.0, **logged),
        config(SINGLE, 80, 40, mode=SUBMISSION, accuracy_log_probability=0.3, **logged),
        # Coalescing changes calls, not queries; an override changes the set; seeds are 32 bits.
        config(SERVER, 300, 70, min_query_count=500, server_coalesce_queries=1),
        config(SERVER, 300, 70, min_query_count=300, performance_sample_count_override=200),
        config(SINGLE, 300, 70, sample_index_rng_seed=2747215439041700203 & 0xFFFFFFFF),
        config(SERVER, 300, 70, test05=1, test05_qsl_rng_seed=7975553102935885558,
               test05_sample_index_rng_seed=11403566307062068064,
               test05_schedule_rng_seed=15816800565822761601),
    )


def made_up(n, seed):
    """Valid configurations from all over the range; each takes a fraction of a second."""
    rng = random.Random(seed)
    for _ in range(n):
        yield one_made_up(rng)


def one_made_up(rng):
    scenario = rng.choice((OFFLINE, SERVER, SINGLE, MULTI))
    mode = rng.choices((PERFORMANCE, ACCURACY, SUBMISSION), (70, 24, 6))[0]
    largest = rng.choice((1, 3, 10, 100, 1000, 3000))
    if mode == PERFORMANCE and rng.random() < 0.06:
        largest = 90000
    total = rng.randint(1, largest)
    performance = rng.randint(max(1, total // 8), total)
    c = {"scenario": scenario, "mode": mode, "total": total, "performance": performance}
    for name in ("qsl_rng_seed", "sample_index_rng_seed", "schedule_rng_seed",
                 "accuracy_log_rng_seed"):
        c[name] = rng.getrandbits(64) if rng.random() < 0.8 else rng.randint(0, 3)
    if rng.random() < 0.2:
        c["performance_sample_count_override"] = rng.randint(max(1, total // 8), total)
    if rng.random() < 0.2:
        c["accuracy_sample_count_override"] = rng.randint(1, total)
    loaded = c.get("performance_sample_count_override", performance)
    accuracy = c.get("accuracy_sample_count_override", total)
    smallest = loaded if mode == PERFORMANCE else min(loaded, (accuracy - 1) % loaded + 1)

    rule = rng.choices(("", "equal", "unique", "same", "equal same"), (50, 25, 10, 10, 5))[0]
    c["sample_concatenate_permutation"] = int("equal" in rule)
    c["performance_issue_unique"] = int(rule == "unique")
    if "same" in rule:
        c["performance_issue_same"] = 1
        c["performance_issue_same_index"] = rng.randrange(smallest)
    c["min_query_count"] = rng.choice((1, 2, loaded, 3 * loaded, rng.randint(1, 700)))
    c["min_query_count"] = min(c["min_query_count"], 3000)
    c["min_duration_ms"] = rng.choice((0, 0, rng.randint(1, 20)))
    c["multi_stream_samples_per_query"] = rng.choice((1, 2, 8, rng.randint(1, 20)))
    c["single_stream_expected_latency_ns"] = rng.uniform(20000, 500000)
    c["multi_stream_expected_latency_ns"] = rng.uniform(20000, 500000)
    c["offline_expected_qps"] = rng.uniform(1, 100000)
    # Server runs in real time: what it issues, whole sets in equal issue, takes 0.2 s.
    issued = -(-c["min_query_count"] // loaded) * loaded if "equal" in rule else 0
    issued = max(issued, c["min_query_count"], 0 if mode == PERFORMANCE else accuracy)
    c["server_target_qps"] = max(issued / 0.2, rng.uniform(1000, 30000))
    c["server_coalesce_queries"] = int(rng.random() < 0.2)
    if rng.random() < 0.3:
        c["accuracy_log_probability"] = rng.choice((0.01, 1.0, rng.random()))
    elif rng.random() < 0.2:
        c["accuracy_log_sampling_target"] = rng.randint(1, 500)
    return c


class Run:
    """What one run of either generator did."""

    def __init__(self):
        self.loads = []  # sets
        self.queries = []  # each the samples of one query
        self.bounds = []  # queries before each load, and at the end
        self.starts = []  # ns, of each query, from any zero
        self.sequences = []  # of the first sample of each query
        self.kept = []  # (sequence, index), in order of sequence
        self.phases = []  # what was generated, and effective settings
        self.error = None


def ask_program(program, configs, division):
    """All configurations in one process. Closed loops run on a clock where a query takes 1 us."""
    lines = []
    for c in configs:
        closed = c["scenario"] in (SINGLE, MULTI)
        words = [f"{key}={value!r}" if isinstance(value, float) else f"{key}={value}"
                 for key, value in c.items()]
        lines.append(" ".join(words + [f"latency_ns={1000 if closed else 0}",
                                       f"bounded_method={int(division)}"]))
    done = subprocess.run([program], input="\n".join(lines) + "\n", text=True,
                          stdout=subprocess.PIPE, check=False)
    if done.returncode == 77:
        print("skipped: the C++ library is not libstdc++")
        sys.exit(77)
    done.check_returncode()
    out = done.stdout
    runs = []
    sequence = 0
    for line in out.splitlines():
        word, *rest = line.split(" ")
        if word == "run":
            runs.append(Run())
        elif word == "load":
            runs[-1].bounds.append(len(runs[-1].queries))
            runs[-1].loads.append([int(i) for i in rest])
        elif word == "phase":
            runs[-1].phases.append({
                "generated_query_count": int(rest[1]),
                "generated_query_duration": int(rest[2]),
                "generated_samples_per_query": int(rest[3]),
                "effective_min_query_count": int(rest[4]),
                "effective_min_sample_count": int(rest[5]),
                "effective_performance_sample_count": int(rest[6]),
                "effective_accuracy_sample_count": int(rest[7]),
                "effective_target_qps": float(rest[8]),
            })
            sequence = int(rest[9])
        elif word == "n":
            runs[-1].starts.append(int(rest[1]))
            runs[-1].queries.append([int(i) for i in rest[2:]])
            runs[-1].sequences.append(sequence)
            sequence += len(rest) - 2
        elif word == "kept":
            runs[-1].kept += sorted(tuple(map(int, pair.split(":"))) for pair in rest)
        elif word == "error":
            runs[-1].error = " ".join(rest)
        elif word == "end":
            runs[-1].bounds.append(len(runs[-1].queries))
    return runs


def official_settings(c):
    settings = lg.TestSettings()
    for key, value in c.items():
        if key == "scenario":
            settings.scenario = getattr(lg.TestScenario, value)
        elif key == "mode":
            settings.mode = getattr(lg.TestMode, value)
        elif key not in ("total", "performance"):
            kind = type(getattr(settings, key))
            setattr(settings, key, kind(value))
    return settings


SAMPLE = re.compile(r'\{"name":"Sample","cat":"default","ph":"b".*?"ts":(-?\d+)\.(\d{3}),'
                    r'"args":\{"sample_seq":(\d+),"query_seq":(\d+),"sample_idx":(\d+)')


def read_trace(path, run):
    """Starts and sequence numbers, and whether the trace and the calls agree on the samples."""
    queries = {}
    with open(path, encoding="ascii", errors="replace") as lines:
        for line in lines:
            found = SAMPLE.match(line)
            if found:
                ns, sample, query, index = (int(found[1] + found[2]), int(found[3]), int(found[4]),
                                            int(found[5]))
                queries.setdefault(query, []).append((sample, ns, index))
    ordered = [sorted(queries[q]) for q in sorted(queries)]
    run.starts = [q[0][1] for q in ordered]
    run.sequences = [q[0][0] for q in ordered]
    if [[sample[2] for sample in q] for q in ordered] != run.queries:
        run.error = "LoadGen's own trace differs from what its calls issued"


DETAIL = re.compile(r':::MLLOG \{"key": "((?:effective|generated)_\w+)", "value": ([^,]+), ')


def read_detail(path, run):
    """Figures about generated queries, of each issue, and the effective settings of all."""
    effective = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            found = DETAIL.match(line)
            if not found:
                continue
            key, text = found.groups()
            value = json.loads(text) if re.fullmatch(r"[-+.\de]+", text) else text
            if key.startswith("effective_"):
                effective[key] = value
            elif key == "generated_query_count":
                run.phases.append({**effective, key: value})
            else:
                run.phases[-1][key] = value


def ask_official(c, folder):
    """Runs MLPerf LoadGen with a system that completes each sample within the call."""
    run = Run()
    one_each = c["scenario"] == SERVER

    def issue(ids, indices):
        run.queries.extend([[i] for i in indices] if one_each else [list(indices)])
        data = array.array("Q", indices)
        address, size = data.buffer_info()[0], data.itemsize
        lg.QuerySamplesComplete([lg.QuerySampleResponse(number, address + i * size, size)
                                 for i, number in enumerate(ids)])

    def load(indices):
        run.bounds.append(len(run.queries))
        run.loads.append(list(indices))

    log = lg.LogSettings()
    log.log_output.outdir = folder
    log.enable_trace = True
    sut = lg.ConstructFastSUT(issue, lambda: None)
    qsl = lg.ConstructQSL(c["total"], c["performance"], load, lambda indices: None)
    lg.StartTestWithLogSettings(sut, qsl, official_settings(c), log, "no audit.config")
    lg.DestroyQSL(qsl)
    lg.DestroyFastSUT(sut)
    run.bounds.append(len(run.queries))
    read_trace(os.path.join(folder, "mlperf_log_trace.json"), run)
    read_detail(os.path.join(folder, "mlperf_log_detail.txt"), run)
    with open(os.path.join(folder, "mlperf_log_accuracy.json"), encoding="ascii") as file:
        kept = json.load(file)
    run.kept = sorted((entry["seq_id"], entry["qsl_idx"]) for entry in kept)
    for entry in kept:
        if bytes.fromhex(entry["data"]) != entry["qsl_idx"].to_bytes(8, "little"):
            run.error = "LoadGen's accuracy log holds other data than was completed"
    return run


def first_difference(name, ours, theirs):
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if a != b:
            return f"{name} {i} is {str(a)[:120]}, LoadGen's {str(b)[:120]}"
    if len(ours) != len(theirs):
        return f"{len(ours)} of {name}, LoadGen has {len(theirs)}"
    return None


def from_first(values, bounds):
    """Each less the first one of its set."""
    return [value - values[begin] for begin, end in zip(bounds, bounds[1:])
            for value in values[begin:end]]


def cut_to(run, n):
    if n < len(run.queries):
        run.kept = [k for k in run.kept if k[0] < run.sequences[n]]
    run.queries, run.starts, run.sequences = run.queries[:n], run.starts[:n], run.sequences[:n]


def differences(c, ours, theirs):
    if ours.error or theirs.error:
        yield ours.error or theirs.error
        return
    if c["scenario"] in (SINGLE, MULTI) and c["min_duration_ms"] > 0 and c["mode"] != ACCURACY:
        # How many queries fit into the time is the machine's business.
        n = min(len(ours.queries), len(theirs.queries))
        if n < c.get("min_query_count", 100) and not c.get("performance_issue_unique"):
            yield f"only {n} queries"
        cut_to(ours, n)
        cut_to(theirs, n)
    yield first_difference("loaded set", ours.loads, theirs.loads)
    found = first_difference("query", ours.queries, theirs.queries)
    yield found
    if found:
        return
    yield first_difference("sequence number", ours.sequences, theirs.sequences)
    yield first_difference("kept response", ours.kept, theirs.kept)
    if c["scenario"] == SERVER:
        yield first_difference("scheduled start", from_first(ours.starts, theirs.bounds),
                               from_first(theirs.starts, theirs.bounds))
    for mine, official in zip(by_phase(c, ours), by_phase(c, theirs)):
        for key, value in mine.items():
            logged = official.get(key)
            # The log prints six digits.
            close = isinstance(value, float) and abs(value - logged) <= 1e-5 * abs(value)
            if value != logged and not close:
                yield f"{key} is {value}, LoadGen's {logged}"


def by_phase(c, run):
    """The figures of a phase; what was generated for its sets is added up."""
    performance = c["mode"] != ACCURACY or c.get("test05")
    accuracy_sets = len(run.phases) - (1 if performance else 0)
    phases = []
    for part in (run.phases[:accuracy_sets], run.phases[accuracy_sets:]):
        if part:
            phases.append(dict(part[0]))
            for key in ("generated_query_count", "generated_query_duration"):
                phases[-1][key] = sum(figures[key] for figures in part)
    return phases


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--oracle")
    parser.add_argument("--division", action="store_true")
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="name the equal ones too")
    options = parser.parse_args()
    if lg is None and not options.oracle:
        print("skipped: this Python has no mlperf_loadgen (tools/loadgen_venv.sh)")
        return 77
    configs = list(made_up(options.random, options.seed) if options.random else fixed())
    runs = ask_program(options.program, configs, options.division)
    known = ask_program(options.oracle, configs, options.division) if options.oracle else None
    assert len(runs) == len(configs)
    bad = queries = samples = 0
    began = time.monotonic()
    for i, (c, ours) in enumerate(zip(configs, runs)):
        begin = time.monotonic()
        theirs = known[i] if known else None
        if theirs is None:
            with tempfile.TemporaryDirectory() as folder:
                theirs = ask_official(c, folder)
        found = [text for text in differences(c, ours, theirs) if text]
        queries += len(theirs.queries)
        samples += sum(map(len, theirs.queries))
        if found or options.show:
            print(f"{i}: {time.monotonic() - begin:.2f} s, {len(theirs.queries)} queries:",
                  " ".join(f"{key}={value}" for key, value in c.items()))
        for text in found[:5]:
            print("   ", text)
        bad += bool(found)
    print(f"{len(configs) - bad} of {len(configs)} configurations are equal, {queries} queries of "
          f"{samples} samples, {time.monotonic() - began:.1f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
