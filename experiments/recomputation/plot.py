# SPDX-License-Identifier: Apache-2.0
"""Overhead of recomputation by limit of memory, model and method."""
from lib import plots

NAMES = {"search": "search", "search with copies": "search with copies to storage", "dtr": "DTR", "segments": "segments", "checkmate": "Checkmate", "checkmate-start": "Checkmate from DTR", "checkmate-lp": "Checkmate's rounding"}


def figures():
    rows = [row for row in plots.table("recomputation") if row["form"] == "kernels"]
    models = list(dict.fromkeys(plots.values_of(rows, "model")))
    methods = list(dict.fromkeys(plots.values_of(rows, "method")))
    columns = 3
    drawn, grid = plots.figure(columns=columns, rows=-(-len(models) // columns), height=2.2 * -(-len(models) // columns))
    axes_of = [axes for line in grid for axes in line] if len(models) > columns else list(grid)
    for axes, model in zip(axes_of, models):
        for method in methods:
            points = [(row["share"], 100 * row["overhead"]) for row in rows
                      if row["model"] == model and row["method"] == method and row["found"] == "True"]
            axes.plot(*zip(*points), marker="o", markersize=3, label=NAMES[method]) if points else None
        bounds = [(row["share"], 100 * row["bound"]) for row in rows
                  if row["model"] == model and row["method"] == "search" and row["impossible"] != "True"]
        axes.plot(*zip(*bounds), linestyle=":", color="gray", label="lower bound")
        axes.set_title(plots.short(model), fontsize=8)
        axes.set_xlabel("memory, % of all values kept")
        axes.set_ylabel("overhead, %")
        axes.invert_xaxis()
    axes_of[0].legend(fontsize=6)
    for axes in axes_of[len(models):]:
        axes.set_visible(False)
    yield "full", drawn
