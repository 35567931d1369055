# SPDX-License-Identifier: Apache-2.0
"""Share of public e-graphs that each extractor solves with a proof, or at the best known cost, over time."""
from lib import plots


def figures():
    rows = [row for row in plots.table("extraction") if row["best_known"] is not None]
    extractors = list(dict.fromkeys(plots.values_of(rows, "extractor")))

    def seconds(extractor, solved):
        return [row["seconds"] if solved(row) else None for row in rows if row["extractor"] == extractor]

    def is_best(row):
        return row["cost"] is not None and row["cost"] <= row["best_known"] * (1 + 1e-6) + 1e-9

    drawn, grid = plots.figure(columns=2, height=3.0, sharey=True)
    proving = [name for name in extractors if any(v is not None for v in
                                                  seconds(name, lambda row: row["status"] == "optimal"))]
    plots.cumulative(grid[0], {name: seconds(name, lambda row: row["status"] == "optimal") for name in proving})
    plots.cumulative(grid[1], {name: seconds(name, is_best) for name in extractors})
    for axes, title in zip(grid, ("proven optimal", "at the best known cost")):
        axes.set_xscale("log")
        axes.set_title(title)
        axes.set_xlabel("seconds")
    grid[0].get_legend().remove()
    grid[1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
    grid[0].set_ylabel("share of the e-graphs")
    yield "full", drawn
