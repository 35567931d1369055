# SPDX-License-Identifier: Apache-2.0
"""Time of plans for eight devices, relative to one device, beside known kinds of plans."""
from lib import plots


def figures():
    rows = plots.table("parallel-plans")
    meshes = ["x=2", "x=4", "x=8"]
    models = [model for model in dict.fromkeys(plots.values_of(rows, "model"))
              if {(row["model"], row["mesh"]) for row in rows} >= {(model, "x=8")}]
    cell = {(row["model"], row["mesh"]): row for row in rows}
    drawn, axes = plots.figure(height=0.8 + 0.25 * len(models))

    def shares(column):
        own = [cell[model, meshes[-1]] for model in models]
        return [row[column] / row["single_s"] if row[column] else None for row in own]

    plots.dots(axes, models, {"data parallel": shares("data_s"), "tensor parallel": shares("tensor_s"),
                              "Egret's plan": shares("time_s")}, log=True)
    axes.set_xlabel("predicted time relative to one device's, eight devices")
    yield "full", drawn
