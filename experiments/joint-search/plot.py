# SPDX-License-Identifier: Apache-2.0
"""Time of plans for eight devices, relative to the joint search of algebra and placement."""
from lib import plots


def figures():
    rows = [row for row in plots.table("joint-search") if row["mesh"] == "x=8"]
    drawn, axes = plots.figure(height=0.8 + 0.25 * len(rows))
    plots.dots(axes, plots.values_of(rows, "model"),
               {"placement alone": [row["placement_s"] / row["joint_s"] for row in rows],
                "one after the other": plots.values_of(rows, "sequential_over_joint")})
    axes.set_xlabel("predicted time of the plan relative to the joint one's, eight devices")
    yield "full", drawn
