# SPDX-License-Identifier: Apache-2.0
"""Times of benchmark models in ONNX Runtime beside onnxsim and OnnxSlim."""
from lib import plots, results


def figures():
    for path in sorted((results.RESULTS / "inference-engines").glob("full*.csv")):
        yield path.stem, plots.beside_optimizers(plots.table("inference-engines", path.stem))
