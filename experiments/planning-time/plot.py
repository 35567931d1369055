# SPDX-License-Identifier: Apache-2.0
"""Seconds of planning as layers and axes grow."""
from lib import plots


def figures():
    rows = plots.table("planning-time")
    drawn, axes = plots.figure()
    for i, mesh in enumerate(dict.fromkeys(plots.values_of(rows, "mesh"))):
        for tied, style in ((1, "-"), (0, ":")):
            own = [row for row in rows if row["mesh"] == mesh and row["tied"] == tied and row["planning_s"]]
            if own:
                axes.plot(plots.values_of(own, "layers"), plots.values_of(own, "planning_s"), style, marker="o",
                          color=plots.COLOURS[i], label=f"{mesh}, {'equal layers once' if tied else 'all layers'}")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("transformer layers")
    axes.set_ylabel("seconds of planning")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    yield "full", drawn
