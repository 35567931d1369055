# SPDX-License-Identifier: Apache-2.0
"""Algebra, kernels and layouts chosen alone, one after the other, and together: predicted times from one database of
costs, and measured times of what each way writes."""
import pathlib
import statistics
import sys

from lib import egret, models, results, settings

HERE = pathlib.Path(__file__).resolve().parent
# What is chosen, and the flags for it. No iteration of rules leaves the program as it is.
WAYS = {
    "algebra": ["--kernels-from", "backend"],
    "fusion": ["--kernels-from", "egraph", "--limit-iterations", 0],
    "layout": ["--layouts", "egraph", "--limit-iterations", 0],
    "sequential": ["--kernels-from", "graph"],
    "joint": ["--kernels-from", "egraph"],
    "all": ["--kernels-from", "egraph", "--layouts", "egraph"],
}
COLUMNS = ["model", "original_ms", *(f"{way}_ms" for way in WAYS), "original_measured_ms",
           *(f"{way}_written_ms" for way in WAYS), *(f"{way}_measured_ms" for way in WAYS), "joint_rules", "joint_gap", "seconds", "egret"]
# The rows that are special cases of a way's choice: it should be as fast as the best of them.
SPECIAL_CASES = {
    "joint": ["original", "algebra", "fusion", "sequential"],  # in the backend's layouts, all of them
    "all": ["original", *(way for way in WAYS if way != "all")],
}


def optimize(path, sizes, folder, way, config):
    return egret.call("optimize", path, "-o", folder / f"{way}.onnx", "--threads", config["threads"],
                      "--cost-db", folder / "costs.sqlite", *WAYS[way], *models.bind_flags(sizes))


def measured(path, sizes, folder, config):
    """Milliseconds of the original and of what each way wrote, all in turns in one process."""
    files = [path, *(folder / f"{way}.onnx" for way in WAYS)]
    report = egret.call("bench", *files, "--time", config["seconds"], "--threads", config["threads"],
                        *models.bind_flags(sizes))
    return {f"{way}_measured_ms": f"{1e3 * model['median_s']:.4f}"
            for way, model in zip(("original", *WAYS), report["models"])}


def of_written(answer):
    """The predicted seconds of the program that was written."""
    return next((candidate["kernels_s"] for candidate in answer["candidates"] if candidate["name"] == answer["chosen"]),
                answer["kernels_before_s"])


def row_of(path, sizes, folder, config):
    """Each way twice: what one measures, the others know as well, so that all choose by the same prices."""
    (folder / "costs.sqlite").unlink(missing_ok=True)
    seconds = 0
    for _ in range(2):
        answers = {}
        for way in WAYS:
            answers[way] = optimize(path, sizes, folder, way, config)
            seconds += answers[way]["seconds"]
    joint = answers["joint"]
    # The first candidate is the one that extraction took for the best; the race may have chosen another one.
    predicted = {"original_ms": joint["kernels_before_s"],
                 **{f"{way}_ms": answer["candidates"][0]["kernels_s"] for way, answer in answers.items()},
                 **{f"{way}_written_ms": of_written(answer) for way, answer in answers.items()}}
    return {**{name: f"{1e3 * value:.4f}" for name, value in predicted.items()},
            **measured(path, sizes, folder, config),
            "joint_rules": " ".join(sorted(rule["name"] for rule in joint["rules_used"])),
            "joint_gap": f"{joint['extraction']['gap']:.4f}", "seconds": f"{seconds:.1f}"}


def errors(rows):
    """How far a prediction is from the measured time of what was written, relative to it: of each way of each model. The
    last run of a way predicts by the times that the database keeps, so it may be minutes older than the measurement."""
    return [abs(float(row[f"{way}_written_ms"]) / float(row[f"{way}_measured_ms"]) - 1) for row in rows for way in WAYS]


def largest_over_best(rows, way, suffix):
    """The time of a way relative to the best of its special cases; the largest over models."""
    return max(float(row[f"{way}{suffix}"]) / min(float(row[f"{one}{suffix}"]) for one in SPECIAL_CASES[way])
               for row in rows)


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = {**forms, **forms[mode]}
    table = results.Table("kernel-ablation", results.on_this_processor(mode), COLUMNS, ["model"],
                          {"threads": config["threads"]})
    revision = egret.version()
    missing = settings.WithinTime(m for m in config["models"] if not table.has(model=m.split(":", 1)[1]))
    for model in missing:
        for name, path, sizes, folder in models.without_row(table, {**config, "models": [model]}):
            row = row_of(path, sizes, folder, config)
            table.add(model=name, **row, egret=revision)
            print(f"  {name}: " + ", ".join(f"{way} {row[f'{way}_ms']} predicted, {row[f'{way}_measured_ms']} measured"
                                            for way in ("original", *WAYS)), flush=True)
    if missing.left:
        return 0
    table.finish()
    table.print()
    limits = {f"largest_{way}_over_best{name}": largest_over_best(table.rows, way, suffix)
              for way in SPECIAL_CASES for name, suffix in (("", "_ms"), ("_measured", "_measured_ms"))}
    wrong = errors(table.rows)
    print(f"predicted against measured: median {statistics.median(wrong):.1%}, largest {max(wrong):.1%}")
    return results.judge(HERE / "expected.json", mode, {
        **limits, "largest_gap": max(float(row["joint_gap"]) for row in table.rows),
        "median_error": statistics.median(wrong), "largest_error": max(wrong)})


if __name__ == "__main__":
    sys.exit(main())
