# SPDX-License-Identifier: Apache-2.0
"""Predicted times of what each way chooses, relative to the original's."""
from lib import plots, results

WAYS = ("algebra", "fusion", "layout", "sequential", "joint", "all")


def figures():
    for path in sorted((results.RESULTS / "kernel-ablation").glob("full.*.csv")):
        rows = sorted(plots.table("kernel-ablation", path.stem), key=lambda row: row["model"])
        drawn, axes = plots.figure(height=0.8 + 0.2 * len(rows))
        plots.dots(axes, [plots.short(row["model"]) for row in rows],
                   {way: [row[f"{way}_ms"] / row["original_ms"] for row in rows] for way in WAYS
                    if f"{way}_ms" in rows[0]})
        axes.set_xlabel("predicted time relative to the original's")
        yield path.stem, drawn
