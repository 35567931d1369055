# SPDX-License-Identifier: Apache-2.0
"""The kind of parallelism of the plan, as a size or a limit of memory changes."""
from lib import plots


def figures():
    rows = plots.table("plan-kinds")
    sweeps = list(dict.fromkeys(plots.values_of(rows, "sweep")))
    drawn, grid = plots.figure(columns=4, rows=-(-len(sweeps) // 4), width=8.5, height=1.7 * -(-len(sweeps) // 4))
    for axes in grid.flat[len(sweeps):]:
        axes.set_visible(False)
    for axes, sweep in zip(grid.flat, sweeps):
        own = [row for row in rows if row["sweep"] == sweep]
        values = [f"{row['value']:g}" if isinstance(row["value"], float) else row["value"] for row in own]
        values = ["none" if value == "0" else value for value in values]
        axes.plot(range(len(own)), [row["single_s"] / row["time_s"] for row in own], "o-")
        for place, row in enumerate(own):
            axes.annotate((row["kinds"] or "single").replace("+", "\n+ "), (place, 0), xycoords=("data", "axes fraction"),
                          xytext=(0, 3), textcoords="offset points", rotation=90, ha="center", va="bottom", fontsize=6)
        axes.set_xticks(range(len(own)), values, fontsize=6)
        axes.set_xlim(-0.5, len(own) - 0.5)
        axes.set_ylim(0, 4.4)
        axes.set_title(own[0]["varied"])
    grid.flat[0].set_ylabel("times as fast\nas one device")
    yield "full", drawn
