# SPDX-License-Identifier: Apache-2.0
"""Latency of each model before and after `egret optimize`, in Egret and in other engines.

A round times the two files in turns, run by run, then the optimized file and each engine by itself, one
after the other. A time is the median of the rounds' medians, a ratio the median of the rounds' ratios.
"""
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from lib import compilers, egret, models, peers, results, settings, turns
from lib.peer_process import PeerProcess

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["model", "batch", "threads", "operators_before", "operators_after", "original_ms", "optimized_ms",
           "speedup", "alone_ms", "onnxruntime_ms", "openvino_ms", "torch_ms", "tvm_ms", "iree_ms", "ratio",
           "left_out", "peak_mib", "onnxruntime_peak_mib", "optimize_s", "rules_used", "check_error", "check_bound", "egret"]
MEBIBYTE = 1 << 20
LEAST_RUNS = 3  # a round, of models that take longer than a third of its time
SLOW = 10  # an engine that takes so many times as long as Egret is measured in the first round alone
LARGEST_DIFFERENCE = 1e-3  # relative to the largest output


class Setting:
    """One row: a model with a batch size on so many threads."""

    def __init__(self, model, batch, threads, config):
        self.model, self.batch, self.threads = model, batch, threads
        self.name = model.split(":", 1)[1]
        self.sizes = dict(config["bind"].get(model, {}))
        self.batch_symbol = config["batch"].get(model)
        if self.batch_symbol:
            self.sizes[self.batch_symbol] = batch

    def key(self):
        return {"model": self.name, "batch": self.batch, "threads": self.threads}

    def exists(self):
        """Models of the zoo are written for any batch, others take one where it has a name."""
        return self.batch == 1 or self.model.startswith("zoo:") or self.batch_symbol is not None

    def flags(self):
        return ["--threads", self.threads, *models.bind_flags(self.sizes)]


def leave_out(name, reason, opened, left_out):
    left_out[name] = reason
    opened.pop(name).close()


def outputs_of(name, opened, left_out):
    """None of an engine that is not opened. One that fails in its first run goes from `opened` to `left_out`."""
    if name not in opened:
        return None
    try:
        return opened[name].outputs()
    except RuntimeError as error:
        leave_out(name, str(error), opened, left_out)
        return None


def sessions(setting, path):
    """The engines that are installed and take the model, by name, each in a process of its own; and why others do not."""
    opened, left_out = {}, {}
    for name in [*peers.installed(), *compilers.installed()]:
        try:
            opened[name] = PeerProcess(name, path, setting.threads, setting.sizes)
        except RuntimeError as error:
            left_out[name] = str(error)
    expected = outputs_of("onnxruntime", opened, left_out)
    for name in ("torch", *compilers.COMPILERS):  # torch's operators are this project's table; compilers have bugs
        outputs = outputs_of(name, opened, left_out) if expected is not None else None
        if outputs is not None and not peers.disagreement(outputs, expected) < LARGEST_DIFFERENCE:
            leave_out(name, f"gives something else: {peers.disagreement(outputs, expected):.2g}", opened, left_out)
    for name, reason in left_out.items():
        print(f"  {setting.name}: left out in {name}: {reason}")
    return opened, left_out


def onnxruntime_peak(setting, path):
    if "onnxruntime" not in peers.installed():
        return None
    sizes = [f"{name}={size}" for name, size in setting.sizes.items()]
    command = [sys.executable, "-m", "lib.peer_memory", "onnxruntime", str(path), str(setting.threads), *sizes]
    return int(subprocess.run(command, check=True, capture_output=True, text=True,
                              env=dict(os.environ, PYTHONPATH=str(HERE.parent))).stdout)


def bench(files, seconds, flags):
    """Median seconds of each file."""
    report = egret.call("bench", *files, "--time", f"{seconds}s", "--runs", LEAST_RUNS, *flags)
    return [model["median_s"] for model in report["models"]]


def timed(setting, size, original, optimized, opened, left_out):
    """Rounds of medians, by engine and file. An engine that fails meanwhile goes from `opened` to `left_out`."""
    fixed = ["--threads", setting.threads]  # all sizes of the optimized file are fixed
    rounds = []  # of medians, by engine and file
    for _ in range(size["rounds"]):
        medians = dict(zip(["original", "optimized"], bench([original, optimized], size["seconds"], setting.flags())))
        [medians["alone"]] = bench([optimized], size["seconds"], fixed)
        rounds.append(medians)
        for name in list(opened):
            if name in rounds[0] and rounds[0][name] > SLOW * rounds[0]["alone"]:
                medians[name] = rounds[0][name]
                continue
            try:
                medians[name] = opened[name].median(size["seconds"], LEAST_RUNS if name not in compilers.COMPILERS else 1)
            except RuntimeError as error:
                print(f"  {setting.name}: left out in {name}: {error}")
                leave_out(name, str(error), opened, left_out)
                for earlier in rounds:
                    earlier.pop(name, None)
    return rounds


def measure(setting, size, folder):
    original = models.locate(setting.model, folder, setting.batch)
    if original is None:
        return None
    optimized = pathlib.Path(folder) / "optimized.onnx"
    report = egret.call("optimize", original, "-o", optimized, *setting.flags())
    opened, left_out = sessions(setting, original)
    fixed = ["--threads", setting.threads]  # all sizes of the optimized file are fixed
    with turns.processor():
        rounds = timed(setting, size, original, optimized, opened, left_out)
    for session in opened.values():
        session.close()
    alone = egret.call("bench", optimized, "--time", "0s", "--runs", 2, *fixed)
    peer_peak = onnxruntime_peak(setting, original)
    seconds = {name: statistics.median(r[name] for r in rounds) for name in rounds[0]}
    ratio = statistics.median(min(r[name] for name in opened) / r["alone"] for r in rounds) if opened else None
    if original.parent == pathlib.Path(folder):
        original.unlink()  # zoo models are large
    milliseconds = lambda name: f"{1e3 * seconds[name]:.3f}" if name in seconds else ""
    return setting.key() | {
        "operators_before": report["operators_before"],
        "operators_after": report["operators_after"],
        "original_ms": milliseconds("original"),
        "optimized_ms": milliseconds("optimized"),
        "speedup": f"{statistics.median(r['original'] / r['optimized'] for r in rounds):.3f}",
        "alone_ms": milliseconds("alone"),
        "onnxruntime_ms": milliseconds("onnxruntime"),
        "openvino_ms": milliseconds("openvino"),
        "torch_ms": milliseconds("torch"),
        "tvm_ms": milliseconds("tvm"),
        "iree_ms": milliseconds("iree"),
        "ratio": f"{ratio:.3f}" if ratio else "",
        "left_out": "; ".join(f"{name}: {reason}" for name, reason in left_out.items()),
        "peak_mib": f"{alone['model_bytes'] / MEBIBYTE:.0f}",
        "onnxruntime_peak_mib": f"{peer_peak / MEBIBYTE:.0f}" if peer_peak else "",
        "optimize_s": f"{report['seconds']:.1f}",
        "rules_used": sum(rule["count"] for rule in report["rules_used"]),
        "check_error": f"{report['check']['max_error']:.3g}",
        "check_bound": f"{report['check']['bound']:.3g}",
    }


def values_of(rows):
    """What expected.json speaks of."""
    speedups = [float(row["speedup"]) for row in rows]
    values = {"least_speedup": min(speedups), "geometric_mean_speedup": statistics.geometric_mean(speedups),
              "least_operators_removed": min(int(r["operators_before"]) - int(r["operators_after"]) for r in rows)}
    ratios = [float(row["ratio"]) for row in rows if row["ratio"]]
    if ratios:
        values |= {"least_ratio": min(ratios), "geometric_mean_ratio": statistics.geometric_mean(ratios)}
    return values


def main():
    parser = settings.parser(__doc__)
    parser.add_argument("--compilers", dest="mode", action="store_const", const="compilers")
    mode, config = parser.parse_args().mode, settings.config_of(HERE)
    size = config[mode]
    versions = {name: peers.version(name) for name in (*peers.ENGINES, *compilers.COMPILERS)}
    table = results.Table("inference-cpu", results.on_this_processor(mode), COLUMNS, ["model", "batch", "threads"],
                          versions, grows=mode == "compilers")
    version = egret.version()
    planned = [Setting(model, batch, threads, config)
               for batch, threads in size["settings"] for model in size["models"]]
    missing = settings.WithinTime(s for s in planned if s.exists() and not table.has(**s.key()))
    absent = 0
    with tempfile.TemporaryDirectory() as folder:
        for setting in missing:
            row = measure(setting, size, folder)
            if row is None:
                absent += 1
                continue
            table.add(**row, egret=version)
            print(f"  {setting.name}, batch {setting.batch}, {setting.threads} threads: {row['original_ms']} -> "
                  f"{row['optimized_ms']} ms, the fastest other engine takes {row['ratio'] or '-'} of it", flush=True)
    if missing.left:
        return 0
    table.finish()
    table.print()
    if absent:
        print(f"{absent} rows are left out, the shared models are not there")
    if mode == "compilers":
        return 0
    return results.judge(HERE / "expected.json", mode, values_of(table.rows))


if __name__ == "__main__":
    sys.exit(main())
