# SPDX-License-Identifier: Apache-2.0
"""Cost of the cheapest graph within a limit of memory."""
from lib import plots


def figures():
    rows = plots.table("memory-limit")
    models = list(dict.fromkeys(plots.values_of(rows, "model")))
    shares = list(dict.fromkeys(plots.values_of(rows, "share")))
    cell = {(row["model"], row["share"]): row for row in rows}

    def share(model, limit, part, whole):
        row = cell[model, limit]
        return row[part] / row[whole] if row[part] else None

    drawn, grid = plots.figure(columns=2, height=0.8 + 0.3 * len(models), sharey=True)
    for axes, part, whole, label in ((grid[0], "cost", "original_cost", "cost"),
                                     (grid[1], "arena", "original_arena", "memory of activations")):
        plots.dots(axes, models, {f"limit {limit:.0%}": [share(model, limit, part, whole) for model in models]
                                  for limit in shares})
        axes.set_xlabel(f"{label} as a share of the original's")
    grid[1].get_legend().remove()
    yield "full", drawn
