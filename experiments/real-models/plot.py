# SPDX-License-Identifier: Apache-2.0
"""Times and nodes of shipped models beside onnxsim and OnnxSlim."""
from lib import plots, results


def figures():
    for path in sorted((results.RESULTS / "real-models").glob("full.*.csv")):
        yield path.stem, plots.beside_optimizers(plots.table("real-models", path.stem))

    rows = plots.table("real-models", "open_sizes")
    drawn, axes = plots.figure(height=0.8 + 0.2 * len(rows))
    plots.dots(axes, [plots.short(row["model"]) for row in rows],
               {"nodes": [row["open_nodes"] / row["bound_nodes"] if row["bound_nodes"] else None for row in rows],
                "time": [row["open_ms"] / row["bound_ms"] if row["bound_ms"] else None for row in rows]})
    axes.set_xlabel("open sizes relative to fixed sizes")
    yield "open_sizes", drawn

    rows = plots.table("real-models", "probes")
    drawn, axes = plots.figure(height=0.8 + 0.25 * len(rows))

    def left(column):
        return [row[column] / row["nodes"] if isinstance(row[column], float) else None for row in rows]

    plots.dots(axes, plots.values_of(rows, "model"),
               {"Egret": left("egret"), "onnxsim": left("onnxsim"), "OnnxSlim": left("onnxslim")})
    axes.set_xlabel("nodes as a share of the original's")
    yield "probes", drawn
