# SPDX-License-Identifier: Apache-2.0
"""Times of benchmark models in ONNX Runtime beside onnxsim and OnnxSlim."""
from lib import plots, results


def figures():
    for path in sorted((results.RESULTS / "inference-engines").glob("full*.csv")):
        rows = [row for row in plots.table("inference-engines", path.stem) if row["verdict"] == "ok"]

        def known(column):
            return [row[column] if isinstance(row[column], float) else None for row in rows]

        drawn, axes = plots.figure(height=0.8 + 0.2 * len(rows))
        plots.dots(axes, [row["model"] for row in rows], {"Egret": known("ratio"), "onnxsim": known("onnxsim_ratio"),
                                                          "OnnxSlim": known("onnxslim_ratio")})
        axes.set_xlabel("time in ONNX Runtime relative to the original's")
        yield path.stem, drawn
