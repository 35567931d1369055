# SPDX-License-Identifier: Apache-2.0
"""Speed relative to f32 and error on fresh samples of each way to choose precision."""
from lib import plots, results


def name_of(row):
    return row["way"] if row["budget"] is None else f"{row['way']}, budget {row['budget']:g}"


def figures():
    for path in sorted((results.RESULTS / "precision-budget").glob("full.*.csv")):
        rows = [row for row in plots.table("precision-budget", path.stem) if row["way"] != "f32"]
        models = list(dict.fromkeys(row["model"] for row in rows))
        by_name = {}
        for row in rows:
            by_name.setdefault(name_of(row), {})[row["model"]] = row
        drawn, (speed, error) = plots.figure(columns=2, width=8.5, height=1.1 + 0.25 * len(models), sharey=True)
        labels = [plots.short(model) for model in models]
        for axes, column, reference, log in ((speed, "speedup", 1.0, False), (error, "fresh_error", 0.01, True)):
            plots.dots(axes, labels, {name: [of[model][column] if model in of else None for model in models]
                                      for name, of in by_name.items()}, reference=reference, log=log)
        error.get_legend().remove()
        speed.set_xlabel("speed relative to f32, one thread")
        error.set_xlabel("relative error of the outputs on fresh samples")
        yield path.stem, drawn
