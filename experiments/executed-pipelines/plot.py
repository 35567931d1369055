# SPDX-License-Identifier: Apache-2.0
"""Predicted and measured steps of pipelines and replicas between virtual hosts."""
from lib import plots


def figures():
    rows = [row for row in plots.table("executed-pipelines") if row["predicted_s"] and row["measured_s"]]
    drawn, axes = plots.figure(width=4.5, height=3.8)
    for i, plan in enumerate(dict.fromkeys(row["plan"] for row in rows)):
        own = [row for row in rows if row["plan"] == plan]
        axes.plot(plots.values_of(own, "predicted_s"), plots.values_of(own, "measured_s"),
                  plots.MARKS[i % len(plots.MARKS)], label=plan)
    axes.set_xscale("log")
    axes.set_yscale("log")
    ends = [max(axes.get_xlim()[0], axes.get_ylim()[0]), min(axes.get_xlim()[1], axes.get_ylim()[1])]
    axes.plot(ends, ends, color="black", linewidth=0.8)
    axes.set_xlabel("predicted seconds of a step")
    axes.set_ylabel("measured")
    axes.legend()
    yield "full", drawn
