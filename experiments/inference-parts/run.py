# SPDX-License-Identifier: Apache-2.0
"""What each part gives: the CPU backend's layouts and fusion without rewrites, then rewrites with each set of rules.

All forms of a model are timed round by round. Ablations of the backend run each by itself; rewrites, with the model as it
came beside them, take turns run by run. A time is the median of the rounds' medians.
"""
import pathlib
import statistics
import sys

from lib import egret, models, results, settings

HERE = pathlib.Path(__file__).resolve().parent
# Of the model as it came: which parts of the backend are left out.
ABLATIONS = {"plain": ["fusion", "blocked"], "fusion": ["blocked"], "layout": ["fusion"], "unfolded": ["folding"],
             "alone": []}
LEAST_RUNS = 3


def bench(files, seconds, flags, without=()):
    """Median seconds of each file."""
    left_out = [flag for part in without for flag in ("--without", part)]
    report = egret.call("bench", *files, "--time", f"{seconds}s", "--runs", LEAST_RUNS, *left_out, *flags)
    return [model["median_s"] for model in report["models"]]


def row_of(path, sizes, folder, config):
    """Milliseconds by form of the model, and operators by set of rules."""
    flags = ["--threads", config["threads"], *models.bind_flags(sizes)]
    files, operators = {"both": path}, {}
    for rules in config["rules"]:
        files[rules] = folder / f"{rules}.onnx"
        report = egret.call("optimize", path, "-o", files[rules], "--rules", rules, *flags)
        operators[f"{rules}_operators"] = report["operators_after"]
    rounds = []
    for _ in range(config["rounds"]):
        medians = {name: bench([path], config["seconds"], flags, without)[0] for name, without in ABLATIONS.items()}
        rounds.append(medians | dict(zip(files, bench(files.values(), config["seconds"], flags))))
    milliseconds = {f"{name}_ms": f"{1e3 * statistics.median(r[name] for r in rounds):.3f}" for name in rounds[0]}
    return {"operators": report["operators_before"]} | milliseconds | operators


def speedups(rows, before, after):
    return statistics.geometric_mean(float(row[f"{before}_ms"]) / float(row[f"{after}_ms"]) for row in rows)


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = {**forms, **forms[mode]}
    columns = ["model", "operators", *[f"{name}_operators" for name in config["rules"]],
               *[f"{name}_ms" for name in [*ABLATIONS, "both", *config["rules"]]]]
    table = results.Table("inference-parts", mode, columns, ["model"],
                          {"egret": egret.version(), "threads": config["threads"]})
    for name, path, sizes, folder in models.without_row(table, config):
        table.add(model=name, **row_of(path, sizes, folder, config))
    table.finish()
    table.print()
    return results.judge(HERE / "expected.json", mode, {
        "layout": speedups(table.rows, "plain", "layout"), "fusion": speedups(table.rows, "layout", "alone"),
        **{rules: speedups(table.rows, "both", rules) for rules in config["rules"]}})


if __name__ == "__main__":
    sys.exit(main())
