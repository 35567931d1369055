# SPDX-License-Identifier: Apache-2.0
"""Where the seconds of `egret optimize` go, with known costs of operators."""
from lib import plots

PHASES = ["prepare", "saturate", "extract", "profile", "measure", "check"]


def figures():
    for name in ("full.amd-epyc", "full.intel-xeon"):
        rows = sorted(plots.table("optimize-time", name), key=lambda row: row["seconds"])
        drawn, axes = plots.figure(height=0.8 + 0.17 * len(rows))
        plots.stacked(axes, [plots.short(row["model"]) for row in rows],
                      {phase: [row[f"{phase}_s"] or 0 for row in rows] for phase in PHASES})
        axes.set_xlabel("seconds")
        yield name, drawn
