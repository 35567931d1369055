# SPDX-License-Identifier: Apache-2.0
"""Latency of each model before and after `egret optimize`, in Egret and in ONNX Runtime.

The two files take turns run by run within an engine, the engines round by round. A time is the
median of the rounds' medians, a speedup the median of the rounds' ratios.
"""
import pathlib
import statistics
import sys
import tempfile

from lib import egret, models, peers, results, settings

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["model", "operators_before", "operators_after", "original_ms", "optimized_ms", "speedup",
           "onnxruntime_ms", "onnxruntime_optimized_ms", "optimize_s", "rules_used", "check_error", "check_bound"]


def bench(paths, threads, seconds, sizes):
    """Median seconds of each file; they take turns within one process."""
    report = egret.call("bench", *paths, "--threads", threads, "--time", f"{seconds}s", *models.bind_flags(sizes))
    return [model["median_s"] for model in report["models"]]


def measure(model, config, size, folder):
    original = models.locate(model, folder)
    if original is None:
        return None
    optimized = pathlib.Path(folder) / "optimized.onnx"
    paths = [original, optimized]
    threads = config["threads"]
    sizes = config["bind"].get(model, {})
    report = egret.call("optimize", original, "-o", optimized, "--threads", threads, *models.bind_flags(sizes))
    sessions = [peers.onnxruntime_session(path, threads) for path in paths]
    rounds = []  # of medians, by engine and file
    for _ in range(size["rounds"]):
        medians = dict(zip(["original", "optimized"], bench(paths, threads, size["seconds"], sizes)))
        if None not in sessions:
            medians |= zip(["ort", "ort_optimized"], peers.medians(sessions, size["seconds"], sizes))
        rounds.append(medians)
    seconds = {name: statistics.median(r[name] for r in rounds) for name in rounds[0]}
    speedup = statistics.median(r["original"] / r["optimized"] for r in rounds)
    if original.parent == pathlib.Path(folder):
        original.unlink()  # zoo models are large
    milliseconds = lambda name: f"{1e3 * seconds[name]:.3f}" if name in seconds else ""
    return {
        "model": model.split(":", 1)[1],
        "operators_before": report["operators_before"],
        "operators_after": report["operators_after"],
        "original_ms": milliseconds("original"),
        "optimized_ms": milliseconds("optimized"),
        "speedup": f"{speedup:.3f}",
        "onnxruntime_ms": milliseconds("ort"),
        "onnxruntime_optimized_ms": milliseconds("ort_optimized"),
        "optimize_s": f"{report['seconds']:.1f}",
        "rules_used": sum(rule["count"] for rule in report["rules_used"]),
        "check_error": f"{report['check']['max_error']:.3g}",
        "check_bound": f"{report['check']['bound']:.3g}",
    }


def main():
    mode, config = settings.read(__doc__, HERE)
    size = config[mode]
    table = results.Table("inference-cpu", mode, COLUMNS, ["model"],
                          {"egret": egret.version(), "onnxruntime": peers.onnxruntime_version(),
                           "threads": config["threads"]})
    skipped = []
    with tempfile.TemporaryDirectory() as folder:
        for model in size["models"]:
            name = model.split(":", 1)[1]
            if table.has(model=name):
                continue
            row = measure(model, config, size, folder)
            if row is None:
                skipped.append(name)
                continue
            table.add(**row)
            print(f"  {name}: {row['original_ms']} -> {row['optimized_ms']} ms, "
                  f"ONNX Runtime {row['onnxruntime_ms'] or '-'} ms", flush=True)
    table.finish()
    table.print()
    if skipped:
        print("left out, the shared models are not there:", ", ".join(skipped))
    speedups = [float(row["speedup"]) for row in table.rows]
    values = {"least_speedup": min(speedups), "geometric_mean_speedup": statistics.geometric_mean(speedups),
              "least_operators_removed": min(int(r["operators_before"]) - int(r["operators_after"]) for r in table.rows)}
    return results.judge(HERE / "expected.json", mode, values)


if __name__ == "__main__":
    sys.exit(main())
