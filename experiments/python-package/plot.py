# SPDX-License-Identifier: Apache-2.0
"""The time of egret.optimize() in Python as a share of the command line's."""
from lib import plots


def figures():
    rows = [row for row in plots.table("python-package") if row["what"] == "optimize"]
    models = plots.values_of(rows, "model")
    drawn, axes = plots.figure(height=0.8 + 0.3 * len(models))
    plots.dots(axes, models, {"elapsed time": [row["ratio"] for row in rows],
                              "processor time": [row["cpu_ratio"] for row in rows]})
    axes.set_xlabel("optimize() in Python as a share of the command line's time")
    yield "full", drawn
