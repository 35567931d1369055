# SPDX-License-Identifier: Apache-2.0
"""Compares what JAX and PyTorch (on a CPU too) make of zoo models with ONNX Runtime: python check_peers.py EGRET.

Needs onnx, onnxruntime, and jax or torch, which may be an environment of their own.
"""
import itertools
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnxruntime

import jax_peer
import torch_peer
from lib.onnx_graph import input_shapes

MODELS = ["squeezenet1.1", "resnet18", "mobilenet-v2", "bert-taso", "bert-base", "gpt2", "inception-v3", "llama-block", "nasrnn",
          "nasnet-a"]
BOUNDS = {"f32": 1e-4, "bf16": 0.1}


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
    good = True
    peers = [peer for peer in (jax_peer, torch_peer) if peer.version() != "not installed"]
    if not peers:
        print("neither jax nor torch is installed")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        for model in MODELS:
            path = pathlib.Path(folder) / "model.onnx"
            subprocess.run([sys.argv[1], "zoo", model, "-o", path, "-q"], check=True)
            random = numpy.random.default_rng(1)
            given = {name: random.random(sizes, "f4").astype(kind) for name, sizes, kind in input_shapes(path)}
            expected = onnxruntime.InferenceSession(str(path)).run(None, given)
            for peer, precision in itertools.product(peers, BOUNDS):
                actual = peer.outputs(path, list(given.values()), precision)
                error = max(difference(numpy.asarray(a), e) for a, e in zip(actual, expected))
                print(f"{model}, {peer.__name__}, {precision}: {error:.2g}", flush=True)
                good = good and error <= BOUNDS[precision]
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
