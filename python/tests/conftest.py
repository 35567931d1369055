# SPDX-License-Identifier: Apache-2.0
"""Models for the tests. The package is that of build/release, or an installed one."""

import pathlib
import signal
import sys

BUILD = pathlib.Path(__file__).parents[2] / "build" / "release" / "python"
if BUILD.is_dir():
    sys.path.insert(0, str(BUILD))

# Shells start programs in the background with SIGINT ignored, and Python then has no handler.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper


def make_model(nodes, inputs, outputs, weights=None, opset=17):
    """inputs and outputs: name to shape, floats. weights: name to array."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in outputs.items()],
        [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    return model


def random_weights(**shapes):
    generator = np.random.default_rng(0)
    return {n: generator.standard_normal(s).astype(np.float32) for n, s in shapes.items()}


@pytest.fixture(autouse=True)
def own_costs(tmp_path_factory, monkeypatch):
    """Measured costs are shared by the tests, and kept out of the user's database."""
    monkeypatch.setenv("EGRET_COST_DB", str(tmp_path_factory.getbasetemp() / "costs.sqlite"))


@pytest.fixture
def wasteful():
    """y = (x + 0) * w, twice transposed: rules remove all but the product."""
    node = helper.make_node
    return make_model(
        [
            node("Transpose", ["x"], ["a"], perm=[1, 0]),
            node("Transpose", ["a"], ["b"], perm=[1, 0]),
            node("MatMul", ["b", "w"], ["c"]),
            node("Relu", ["c"], ["d"]),
            node("Relu", ["d"], ["y"]),
        ],
        {"x": [16, 32]},
        {"y": [16, 64]},
        random_weights(w=(32, 64)),
    )


@pytest.fixture
def mlp():
    node = helper.make_node
    return make_model(
        [
            node("MatMul", ["x", "w1"], ["h"]),
            node("Add", ["h", "b1"], ["hb"]),
            node("Relu", ["hb"], ["r"]),
            node("MatMul", ["r", "w2"], ["y"]),
        ],
        {"x": [8, 16]},
        {"y": [8, 4]},
        random_weights(w1=(16, 32), b1=(32,), w2=(32, 4)),
    )


@pytest.fixture
def open_batch():
    node = helper.make_node
    return make_model(
        [node("MatMul", ["x", "w"], ["h"]), node("Relu", ["h"], ["y"])],
        {"x": ["batch", 16]},
        {"y": ["batch", 32]},
        random_weights(w=(16, 32)),
    )


@pytest.fixture
def attention():
    """A layer that takes seconds to optimize with measured costs."""
    node = helper.make_node
    size, heads, width = 32, 4, 16
    weights = random_weights(q=(64, 64), k=(64, 64), v=(64, 64), o=(64, 64), f1=(64, 256), f2=(256, 64))
    weights["split"] = np.array([1, size, heads, width], np.int64)
    weights["join"] = np.array([1, size, 64], np.int64)
    weights["scale"] = np.array(0.25, np.float32)
    nodes = []
    for name in "qkv":
        nodes += [
            node("MatMul", ["x", name], [f"{name}p"]),
            node("Reshape", [f"{name}p", "split"], [f"{name}r"]),
            node("Transpose", [f"{name}r"], [f"{name}t"], perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3]),
        ]
    nodes += [
        node("MatMul", ["qt", "kt"], ["s"]),
        node("Mul", ["s", "scale"], ["ss"]),
        node("Softmax", ["ss"], ["p"], axis=-1),
        node("MatMul", ["p", "vt"], ["c"]),
        node("Transpose", ["c"], ["ct"], perm=[0, 2, 1, 3]),
        node("Reshape", ["ct", "join"], ["cj"]),
        node("MatMul", ["cj", "o"], ["co"]),
        node("Add", ["co", "x"], ["r1"]),
        node("MatMul", ["r1", "f1"], ["h1"]),
        node("Relu", ["h1"], ["h2"]),
        node("MatMul", ["h2", "f2"], ["h3"]),
        node("Add", ["h3", "r1"], ["y"]),
    ]
    return make_model(nodes, {"x": [1, size, 64]}, {"y": [1, size, 64]}, weights)
