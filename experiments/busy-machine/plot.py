# SPDX-License-Identifier: Apache-2.0
"""Slowdown beside busy processes, of Egret and of ONNX Runtime."""
from lib import plots, results


def figures():
    for path in sorted((results.RESULTS / "busy-machine").glob("full*.csv")):
        rows = [row for row in plots.table("busy-machine", path.stem) if row["busy"]]
        labels = [f"{row['model']}, {row['threads']:.0f} threads, {row['busy']:.0f} busy" for row in rows]
        drawn, axes = plots.figure(height=0.8 + 0.2 * len(rows))
        plots.dots(axes, labels, {"Egret": plots.values_of(rows, "egret_slowdown"),
                                  "ONNX Runtime": plots.values_of(rows, "onnxruntime_slowdown")})
        axes.set_xlabel("time of a run relative to the idle machine's")
        yield path.stem, drawn
