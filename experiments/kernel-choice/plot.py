# SPDX-License-Identifier: Apache-2.0
"""Predicted over measured time of the graph that extraction finds best, by operators and by kernels."""
from lib import plots, results


def figures():
    for path in sorted((results.RESULTS / "kernel-choice").glob("full.*.csv")):
        rows = sorted(plots.table("kernel-choice", path.stem), key=lambda row: row["model"])
        drawn, axes = plots.figure(height=0.8 + 0.2 * len(rows))
        plots.dots(axes, [plots.short(row["model"]) for row in rows], {
            f"by {way}": [row[f"{way}_predicted_ms"] / row[f"{way}_measured_ms"] for row in rows]
            for way in ("operators", "kernels")})
        axes.set_xlabel("predicted time relative to the measured one")
        yield path.stem, drawn
