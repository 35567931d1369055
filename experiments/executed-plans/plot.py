# SPDX-License-Identifier: Apache-2.0
"""How far steps on ranks are from one process, by strategy: the most of all numbers of ranks."""
from lib import plots


def figures():
    rows = [row for row in plots.table("executed-plans") if row["left_error"] is not None]
    names = list(dict.fromkeys(row["strategy"] for row in rows))
    drawn, axes = plots.figure(height=0.8 + 0.25 * len(names))

    def most(column):
        return [max((row[column] for row in rows if row["strategy"] == name and row[column]), default=None)
                for name in names]

    plots.dots(axes, names, {"losses": most("loss_error"), "parameters and state": most("left_error")},
               reference=1e-5, log=True)
    axes.set_xlabel("largest relative difference from one process after six steps; the check allows 1e-5")
    yield "full", drawn
