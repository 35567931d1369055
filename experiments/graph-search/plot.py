# SPDX-License-Identifier: Apache-2.0
"""Cost and time of equality saturation and of searches over whole graphs."""
from lib import plots


def figures():
    rows = plots.table("graph-search")
    models = list(dict.fromkeys(plots.values_of(rows, "model")))
    methods = list(dict.fromkeys(plots.values_of(rows, "method")))
    drawn, (left, right) = plots.figure(columns=2, height=0.8 + 0.4 * len(models), sharey=True)
    cell = {(row["model"], row["method"]): row for row in rows}

    def values(method, value):
        return [value(cell[model, method]) if (model, method) in cell else None for model in models]

    plots.dots(left, models, {m: values(m, lambda row: row["cost"] / row["original"]) for m in methods})
    plots.dots(right, models, {m: values(m, lambda row: row["seconds"]) for m in methods}, reference=None, log=True)
    right.get_legend().remove()
    left.set_xlabel("cost as a share of the original's")
    right.set_xlabel("seconds")
    yield "full", drawn
