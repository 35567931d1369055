# SPDX-License-Identifier: Apache-2.0
"""Speed in bf16 relative to f32, and to OpenVINO in bf16."""
from lib import plots


def figures():
    rows = plots.table("inference-bf16")
    drawn, axes = plots.figure(height=0.8 + 0.2 * len(rows))
    plots.dots(axes, [plots.short(row["model"]) for row in rows],
               {"f32 / bf16 of Egret": plots.values_of(rows, "speedup"),
                "OpenVINO's bf16 / Egret's bf16": plots.values_of(rows, "ratio")}, log=False)
    axes.set_xlabel("ratio of times, one thread")
    yield "full", drawn
