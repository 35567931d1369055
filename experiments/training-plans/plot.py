# SPDX-License-Identifier: Apache-2.0
"""Time of training steps on eight ranks, relative to one device, beside known kinds of plans."""
from lib import plots


def figures():
    rows = [row for row in plots.table("training-plans") if row["ranks"] == 8]
    drawn, axes = plots.figure(height=0.8 + 0.25 * len(rows))

    def shares(column):
        return [row[column] / row["single"] if row[column] and row["single"] else None for row in rows]

    plots.dots(axes, [f"{row['model']}, {row['optimizer']}" for row in rows],
               {"data": shares("data"), "tensor": shares("tensor"), "ZeRO-1": shares("zero-1"),
                "ZeRO-3": shares("zero-3"), "Egret's plan": shares("time_s")}, log=True)
    axes.set_xlabel("predicted time of a step relative to one device's, eight devices")
    yield "full", drawn
