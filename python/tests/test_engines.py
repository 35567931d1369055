# SPDX-License-Identifier: Apache-2.0
"""egret.optimize() in the engine of this Python."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import egret
import numpy as np
import onnx
import pytest

onnxruntime = pytest.importorskip("onnxruntime")


def outputs(model, feeds):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def test_candidates_are_raced_and_checked_in_the_engine(wasteful):
    # Microseconds on a busy machine may favour the original.
    result = egret.optimize(
        wasteful, engine="onnxruntime", measure_time=0.1, threads=1, allow_slower=True
    )
    assert result.engine == f"onnxruntime {onnxruntime.__version__}"
    assert result.status in ("improved", "rewritten")
    assert result.operators_after < result.operators_before
    assert result.check["passed"]
    feeds = {"x": np.random.default_rng(1).standard_normal((16, 32)).astype(np.float32)}
    for got, expected in zip(outputs(result.model, feeds), outputs(wasteful, feeds)):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)
    metadata = {row.key: row.value for row in result.model.metadata_props}
    assert metadata["egret.engine"] == result.engine


def test_an_engine_with_open_sizes(open_batch):
    result = egret.optimize(open_batch, engine="onnxruntime", measure_time=0.05, at={"batch": 4})
    feeds = {"x": np.ones((7, 16), np.float32)}
    assert outputs(result.model, feeds)[0].shape == (7, 32)


def test_the_program_of_the_package_finds_this_python(wasteful, tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(wasteful, path)
    command = [sys.executable, "-m", "egret", "compare", path, path, "--engine", "onnxruntime"]
    packages = os.pathsep.join(p for p in sys.path if p)
    environment = {**os.environ, "PATH": str(tmp_path), "PYTHONPATH": packages}  # an environment that is not activated
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr


def model_of(nodes, inputs, outputs, initializers=(), opset=17):
    graph = onnx.helper.make_graph(
        nodes,
        "g",
        [onnx.helper.make_tensor_value_info(*one) for one in inputs],
        [onnx.helper.make_tensor_value_info(*one) for one in outputs],
        [onnx.numpy_helper.from_array(value, name) for name, value in initializers],
    )
    opsets = [onnx.helper.make_opsetid("", opset), onnx.helper.make_opsetid("com.microsoft", 1)]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8)


def test_operators_without_kernels_for_their_parts_are_raced_as_they_are():
    # What ConvInteger means is a convolution of integers, which ONNX Runtime lacks.
    weights = np.random.default_rng(1).integers(-9, 9, (4, 3, 3, 3)).astype(np.int8)
    f32, u8 = onnx.TensorProto.FLOAT, onnx.TensorProto.UINT8
    model = model_of(
        [
            onnx.helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"]),
            onnx.helper.make_node("ConvInteger", ["q", "w", "zero"], ["c"]),
            onnx.helper.make_node("Cast", ["c"], ["f"], to=f32),
            onnx.helper.make_node("Mul", ["f", "scale"], ["m"]),
            onnx.helper.make_node("Identity", ["m"], ["i"]),
            onnx.helper.make_node("Relu", ["i"], ["y"]),
        ],
        [("x", f32, ("batch", 3, 8, 8))],
        [("y", f32, ("batch", 4, 6, 6))],
        [("w", weights)],
    )
    result = egret.optimize(model, engine="onnxruntime", measure_time=0.05, threads=1)
    assert result.engine
    feeds = {"x": np.random.default_rng(2).standard_normal((2, 3, 8, 8)).astype(np.float32)}
    for got, expected in zip(outputs(result.model, feeds), outputs(model, feeds)):
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)
    assert {"ConvInteger", "DynamicQuantizeLinear"} <= {n.op_type for n in result.model.graph.node}


def test_operators_that_only_the_engine_knows_run_in_its_race():
    f32 = onnx.TensorProto.FLOAT
    model = model_of(
        [
            onnx.helper.make_node("Identity", ["x"], ["i"]),
            onnx.helper.make_node(
                "MultiHeadAttention", ["i", "i", "i"], ["g"], domain="com.microsoft", num_heads=2
            ),
            onnx.helper.make_node("Mul", ["g", "one"], ["y"]),
        ],
        [("x", f32, (2, 4, 16))],
        [("y", f32, (2, 4, 16))],
        [("one", np.ones((), np.float32))],
    )
    result = egret.optimize(model, engine="onnxruntime", measure_time=0.05, threads=1)
    feeds = {"x": np.random.default_rng(2).standard_normal((2, 4, 16)).astype(np.float32)}
    np.testing.assert_allclose(outputs(result.model, feeds)[0], outputs(model, feeds)[0], rtol=1e-5)


def test_a_model_is_compared_in_the_engine(wasteful, tmp_path):
    result = egret.optimize(wasteful, quick=True)
    assert egret.compare(wasteful, result.model, engine="onnxruntime")
    path = tmp_path / "faster.onnx"
    result.save(path)
    assert egret.compare(wasteful, path, engine="onnxruntime", threads=1)
    wrong = onnx.ModelProto.FromString(wasteful.SerializeToString())
    wrong.graph.initializer[0].CopyFrom(
        onnx.numpy_helper.from_array(
            onnx.numpy_helper.to_array(wrong.graph.initializer[0]) + 1,
            wrong.graph.initializer[0].name,
        )
    )
    assert not egret.compare(wasteful, wrong, engine="onnxruntime")


def test_an_engine_that_crashes_in_a_comparison_is_named(wasteful, tmp_path):
    engine = own_engine(tmp_path, ("run",), "sys.exit(3)")
    with pytest.raises(egret.Error, match="engine.py"):
        egret.compare(wasteful, wasteful, engine=engine)


ENGINE = r"""
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if request["op"] in %r:
        %s
    print(json.dumps({"ok": True, "version": "0", "seconds": 1e-3}), flush=True)
"""


def own_engine(tmp_path, operations, action):
    path = tmp_path / "engine.py"
    path.write_text(ENGINE % (operations, action))
    return f"exec:{sys.executable} {path}"


def test_branches_with_operators_that_only_the_engine_knows_run_in_its_race():
    f32 = onnx.TensorProto.FLOAT

    def branch(name, node):
        value = onnx.helper.make_tensor_value_info(name, f32, (2, 4, 16))
        return onnx.helper.make_graph([node], name, [], [value])

    attention = onnx.helper.make_node(
        "MultiHeadAttention", ["i", "i", "i"], ["a"], domain="com.microsoft", num_heads=2
    )
    model = model_of(
        [
            onnx.helper.make_node("Identity", ["x"], ["i"]),
            onnx.helper.make_node(
                "If",
                ["condition"],
                ["chosen"],
                then_branch=branch("a", attention),
                else_branch=branch("b", onnx.helper.make_node("Neg", ["i"], ["b"])),
            ),
            onnx.helper.make_node("Mul", ["chosen", "one"], ["y"]),
        ],
        [("x", f32, (2, 4, 16)), ("condition", onnx.TensorProto.BOOL, ())],
        [("y", f32, (2, 4, 16))],
        [("one", np.ones((), np.float32))],
    )
    result = egret.optimize(model, engine="onnxruntime", measure_time=0.05, threads=1)
    for condition in (True, False):
        feeds = {
            "x": np.random.default_rng(2).standard_normal((2, 4, 16)).astype(np.float32),
            "condition": np.array(condition),
        }
        np.testing.assert_allclose(
            outputs(result.model, feeds)[0], outputs(model, feeds)[0], rtol=1e-5
        )


def test_the_original_file_is_the_result_where_it_wins(tmp_path):
    # All models take the same time in this engine.
    zeros = (
        "[open(one['file'], 'wb').write(bytes(4 * 64)) for one in request['outputs']]"
    )
    engine = own_engine(tmp_path, ("outputs",), zeros)
    f32 = onnx.TensorProto.FLOAT
    nodes = [onnx.helper.make_node("Relu", ["x"], ["y"], name="keeps its name")]
    model = model_of(nodes, [("x", f32, (4, 16))], [("y", f32, (4, 16))])
    path, saved = tmp_path / "model.onnx", tmp_path / "result.onnx"
    onnx.save(model, path)
    result = egret.optimize(path, engine=engine, measure_time=0.05, threads=1)
    assert result.status == "unchanged"
    result.save(saved)
    assert saved.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("operations", [("run",), ("outputs",)])
def test_an_engine_that_crashes_costs_nobody_the_result(wasteful, tmp_path, operations):
    engine = own_engine(tmp_path, operations, "sys.exit(3)")
    result = egret.optimize(wasteful, engine=engine, measure_time=0.05)
    assert result.status == "unchanged"
    assert any("not raced" in note or "race failed" in note for note in result.extraction["notes"])
    assert len(result.model.graph.node) == 5


def test_an_engine_that_refuses_the_model_is_an_error(wasteful, tmp_path):
    refuse = """print(json.dumps({"ok": False, "error": "no MatMul"}), flush=True); continue"""
    engine = own_engine(tmp_path, ("load",), refuse)
    with pytest.raises(egret.Unsupported, match="no MatMul"):
        egret.optimize(wasteful, engine=engine)


def test_an_unknown_engine_is_named(wasteful):
    with pytest.raises(egret.Usage, match='did you mean "onnxruntime"'):
        egret.optimize(wasteful, engine="onnxrutime")


@pytest.fixture
def runner():
    path = pathlib.Path(__file__).resolve().parents[2] / "driver" / "engine" / "engine_runner.py"
    if not path.exists():
        pytest.skip("the sources are not at hand")
    spec = importlib.util.spec_from_file_location("engine_runner", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_runner_finds_the_values_that_fused_kernels_store(runner, tmp_path):
    f32 = onnx.TensorProto.FLOAT
    weights = np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32)
    model = model_of(
        [
            onnx.helper.make_node("MatMul", ["x", "w"], ["m"], name="product"),
            onnx.helper.make_node("Add", ["m", "b"], ["a"]),
            onnx.helper.make_node("Neg", ["a"], ["y"], name="last"),
        ],
        [("x", f32, (8, 64))],
        [("y", f32, (8, 64))],
        [("w", weights), ("b", weights[0])],
    )
    onnx.save(model, tmp_path / "model.onnx")
    nodes = runner.nodes_of(tmp_path / "model.onnx")
    assert [(n.name, n.outputs) for n in nodes] == [(n.name, list(n.output)) for n in model.graph.node]

    engine = runner.OnnxRuntime()
    engine.load(str(tmp_path / "model.onnx"), 1, True)
    engine.set_inputs({"x": np.ones((8, 64), np.float32)})
    for _ in range(5):
        engine.run()
    kernels = engine.kernels()
    # ONNX Runtime multiplies and adds in one kernel.
    assert {kernel["type"] for kernel in kernels} >= {"Neg"}
    assert len(kernels) == 2
    assert [kernel["values"] for kernel in kernels if kernel["type"] == "Neg"] == [["y"]]
    (other,) = [kernel["values"] for kernel in kernels if kernel["type"] != "Neg"]
    assert other in (["m"], ["a"])
    assert all(0 <= kernel["seconds"] < 1 for kernel in kernels)


def test_the_time_of_a_kernel_is_the_median_over_runs(runner):
    assert runner.of_one_run([1, 2, 9], 3) == 2
    assert runner.of_one_run([1, 1, 2, 2, 9, 9], 3) == 4  # twice in each run
    assert runner.of_one_run([3], 6) == 0.5  # not in all runs
