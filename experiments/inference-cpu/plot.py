# SPDX-License-Identifier: Apache-2.0
"""Gain from rewriting, and the time of the fastest other engine, on each processor."""
from lib import plots


def figures():
    for name in ("full.amd-epyc", "full.intel-xeon"):
        rows = [row for row in plots.table("inference-cpu", name) if row["batch"] == 1 and row["threads"] == 2]
        drawn, axes = plots.figure(height=0.8 + 0.17 * len(rows))
        plots.dots(axes, [plots.short(row["model"]) for row in rows],
                   {"original / optimized": plots.values_of(rows, "speedup"),
                    "fastest other engine / optimized": plots.values_of(rows, "ratio")})
        axes.set_xlabel("ratio of times, batch 1, two threads")
        yield name, drawn
