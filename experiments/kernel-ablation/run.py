# SPDX-License-Identifier: Apache-2.0
"""Algebra, kernels and layouts chosen alone, one after the other, and together: predicted times from one database of
costs, and what the race measures."""
import pathlib
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
           *(f"{way}_measured_ms" for way in WAYS), "joint_rules", "joint_gap", "seconds"]


def optimize(path, sizes, folder, config, flags):
    return egret.call("optimize", path, "-o", folder / "optimized.onnx", "--threads", config["threads"],
                      "--cost-db", folder / "costs.sqlite", *flags, *models.bind_flags(sizes))


def row_of(path, sizes, folder, config):
    """Each way twice: what one measures, the others know as well, so that all choose by the same prices."""
    (folder / "costs.sqlite").unlink(missing_ok=True)
    seconds = 0
    for _ in range(2):
        answers = {}
        for way, flags in WAYS.items():
            answers[way] = optimize(path, sizes, folder, config, flags)
            seconds += answers[way]["seconds"]
    joint = answers["joint"]
    row = {"original_ms": joint["kernels_before_s"], "original_measured_ms": joint["measured_before_s"]}
    for way, answer in answers.items():
        # All candidates of a way are compared by the times that the database keeps.
        candidate = min(answer["candidates"], key=lambda one: one["kernels_s"])
        row[f"{way}_ms"] = candidate["kernels_s"]
        row[f"{way}_measured_ms"] = candidate["measured_s"]
    return {**{name: f"{1e3 * value:.3f}" for name, value in row.items()},
            "joint_rules": " ".join(sorted(rule["name"] for rule in joint["rules_used"])), "joint_gap": f"{joint['extraction']['gap']:.4f}",
            "seconds": f"{seconds:.1f}"}


def over_best(row):
    """The predicted time of all choices together relative to the best of the others."""
    others = ("original_ms", *(f"{way}_ms" for way in WAYS if way != "all"))
    return float(row["all_ms"]) / min(float(row[name]) for name in others)


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = {**forms, **forms[mode]}
    table = results.Table("kernel-ablation", results.on_this_processor(mode), COLUMNS, ["model"],
                          {"egret": egret.version(), "threads": config["threads"]})
    for name, path, sizes, folder in models.without_row(table, config):
        table.add(model=name, **row_of(path, sizes, folder, config))
    table.finish()
    table.print()
    return results.judge(HERE / "expected.json", mode, {
        "largest_over_best": max(over_best(row) for row in table.rows),
        "largest_gap": max(float(row["joint_gap"]) for row in table.rows)})


if __name__ == "__main__":
    sys.exit(main())
