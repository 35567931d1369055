# SPDX-License-Identifier: Apache-2.0
"""Latency of each model in f32 and in bf16, in Egret's CPU backend and in OpenVINO.

Each time is of a program or session of its own; the precisions and engines take turns round by round. A time is the
median of the rounds' medians, a ratio the median of the rounds' ratios.
"""
import pathlib
import statistics
import sys

from lib import egret, models, peers, results, settings

HERE = pathlib.Path(__file__).resolve().parent
PRECISIONS = ["f32", "bf16"]
COLUMNS = ["model", "f32_ms", "bf16_ms", "speedup", "openvino_f32_ms", "openvino_bf16_ms", "ratio",
           "f32_peak_mib", "bf16_peak_mib", "check_error", "check_bound", "check_passed"]
MEBIBYTE = 1 << 20
LEAST_RUNS = 3  # a round, of models that take longer than a round's time
UNAVAILABLE = 7
MISMATCH = 6


def available():
    """Whether the processor computes in bf16; what the program says where it does not."""
    for component in egret.call("doctor")["components"]:
        if component["name"] == "bf16":
            return component["ready"], component["remedy"]
    return False, "the program knows nothing of bf16"


def openvino_sessions(path, sizes, threads, name):
    """By precision, with inputs bound; none where OpenVINO is not there or does not take the model."""
    if "openvino" not in peers.installed():
        return {}
    opened = {}
    for precision in PRECISIONS:
        try:
            session = peers.OpenVino(path, threads, precision)
            session.bind(peers.random_inputs(session.inputs, sizes))
        except RuntimeError as error:  # what the engine raises for models that it does not take
            print(f"  {name}: openvino does not take it: {str(error).strip().splitlines()[-1]}")
            return {}
        opened[precision] = session
    return opened


def bench(path, precision, seconds, flags):
    return egret.call("bench", path, "--precision", precision, "--time", f"{seconds}s", "--runs", LEAST_RUNS, *flags)


def row_of(name, path, sizes, config):
    flags = ["--threads", config["threads"], *models.bind_flags(sizes)]
    opened = openvino_sessions(path, sizes, config["threads"], name)
    rounds, peaks = [], {}
    for _ in range(config["rounds"]):
        medians = {}
        for precision in PRECISIONS:
            report = bench(path, precision, config["seconds"], flags)
            medians[precision] = report["median_s"]
            peaks[precision] = min(report["model_bytes"], peaks.get(precision, report["model_bytes"]))
        for precision, session in opened.items():
            medians[f"openvino_{precision}"] = peers.median(session, config["seconds"], LEAST_RUNS)
        rounds.append(medians)
    check = egret.call("compare", path, path, "--precision", "bf16", *flags, accept=(0, MISMATCH))
    columns = {f"{key}_ms": f"{1e3 * statistics.median(r[key] for r in rounds):.3f}" for key in rounds[0]}
    ratio = statistics.median(r["openvino_bf16"] / r["bf16"] for r in rounds) if opened else None
    return columns | {
        "speedup": f"{statistics.median(r['f32'] / r['bf16'] for r in rounds):.3f}",
        "ratio": f"{ratio:.3f}" if ratio else "",
        **{f"{precision}_peak_mib": f"{peaks[precision] / MEBIBYTE:.0f}" for precision in PRECISIONS},
        "check_error": f"{check['max_error']:.3g}", "check_bound": f"{check['bound']:.3g}",
        "check_passed": int(check["passed"])}


def values_of(rows):
    """What expected.json speaks of."""
    speedups = [float(row["speedup"]) for row in rows]
    values = {"checks_passed": min(int(row["check_passed"]) for row in rows), "least_speedup": min(speedups),
              "geometric_mean_speedup": statistics.geometric_mean(speedups)}
    ratios = [float(row["ratio"]) for row in rows if row["ratio"]]
    if ratios:
        values["geometric_mean_ratio"] = statistics.geometric_mean(ratios)
    return values


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = {**forms, **forms[mode]}
    there, reason = available()
    if not there:
        print(f"nothing to measure here: {reason}")
        return UNAVAILABLE if mode == "full" else 0
    table = results.Table("inference-bf16", mode, COLUMNS, ["model"],
                          {"egret": egret.version(), "openvino": peers.version("openvino"),
                           "threads": config["threads"]})
    for name, path, sizes, _ in models.without_row(table, config):
        table.add(model=name, **row_of(name, path, sizes, config))
        row = table.rows[-1]
        print(f"  {name}: {row['f32_ms']} -> {row['bf16_ms']} ms", flush=True)
    table.finish()
    table.print()
    return results.judge(HERE / "expected.json", mode, values_of(table.rows))


if __name__ == "__main__":
    sys.exit(main())
