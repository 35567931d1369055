# SPDX-License-Identifier: Apache-2.0
"""Time of each way to run a subgraph, relative to the original in Egret's backend."""
from lib import plots, results

WAYS = {"a kernel for each operator": "single_ms", "optimized": "optimized_ms", "with kernels chosen": "kernels_ms",
        "ONNX Runtime": "onnxruntime_ms", "PyTorch": "torch_eager_ms", "torch.compile": "torch_compile_ms"}


def figures():
    for path in sorted((results.RESULTS / "fused-subgraphs").glob("full.*.csv")):
        rows = plots.table("fused-subgraphs", path.stem)
        drawn, axes = plots.figure(height=0.8 + 0.35 * len(rows))
        plots.dots(axes, [row["subgraph"] for row in rows], {
            name: [row[column] / row["backend_ms"] if row[column] else None for row in rows]
            for name, column in WAYS.items()}, log=True)
        axes.set_xlabel("time relative to the original in Egret's backend")
        yield path.stem, drawn
