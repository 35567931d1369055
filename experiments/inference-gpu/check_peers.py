# SPDX-License-Identifier: Apache-2.0
"""Compares what JAX (on a CPU too) makes of small zoo models with ONNX Runtime: python check_peers.py EGRET.

Needs jax, onnx and onnxruntime, which may be an environment of their own.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnxruntime

import jax_peer
from lib.onnx_graph import Graph

MODELS = ["squeezenet1.1", "resnet18", "mobilenet-v2", "bert-taso", "bert-base", "gpt2", "inception-v3", "llama-block", "nasrnn",
          "nasnet-a"]


def difference(actual, expected):
    """The largest, relative to the largest expected; what is not finite must be so in both."""
    finite = numpy.isfinite(expected)
    if not finite.any() or (numpy.isfinite(actual) != finite).any():
        print("  not finite:", int((~finite).sum()), "of", expected.size, flush=True)
    if (numpy.isfinite(actual) != finite).any():
        return numpy.inf
    return float(numpy.abs(actual[finite] - expected[finite]).max(initial=0) / max(1, numpy.abs(expected[finite]).max(
        initial=0)))


def main():
    worst = 0
    with tempfile.TemporaryDirectory() as folder:
        for model in MODELS:
            path = pathlib.Path(folder) / "model.onnx"
            subprocess.run([sys.argv[1], "zoo", model, "-o", path, "-q"], check=True)
            random = numpy.random.default_rng(1)
            given = {name: random.random(sizes, "f4").astype(kind)
                     for name, sizes, kind in Graph(path, jax_peer.operators(), lambda array: array).input_shapes()}
            expected = onnxruntime.InferenceSession(str(path)).run(None, given)
            actual = jax_peer.outputs(path, list(given.values()))
            error = max(difference(numpy.asarray(a), e) for a, e in zip(actual, expected))
            print(f"{model}: {error:.2g}", flush=True)
            worst = max(worst, error)
    return 1 if worst > 1e-4 else 0


if __name__ == "__main__":
    sys.exit(main())
