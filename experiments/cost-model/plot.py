# SPDX-License-Identifier: Apache-2.0
"""Predicted against measured times of equal graphs."""
from lib import plots


def figures():
    rows = [row for row in plots.table("cost-model") if row["measured_s"] and row["predicted_s"]]
    models = list(dict.fromkeys(plots.values_of(rows, "model")))
    drawn, grid = plots.figure(columns=len(models), width=1.9 * len(models), height=2.3)
    for axes, model in zip(grid, models):
        own = [row for row in rows if row["model"] == model]
        original = next(row for row in own if row["name"] == "original")
        for column, name, mark in (("predicted_s", "sum of operators", "o"), ("kernels_s", "sum of kernels", "s")):
            known = [row for row in own if row[column]]
            axes.plot([row["measured_s"] / original["measured_s"] for row in known],
                      [row[column] / original[column] for row in known], mark, markersize=2, label=name)
        ends = [min(axes.get_xlim()[0], axes.get_ylim()[0]), max(axes.get_xlim()[1], axes.get_ylim()[1])]
        axes.plot(ends, ends, color="black", linewidth=0.8)
        axes.set_title(model)
        axes.set_xlabel("measured")
    grid[0].set_ylabel("predicted (1: the original)")
    grid[0].legend(handletextpad=0.1, markerscale=2)
    yield "full", drawn
