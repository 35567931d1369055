# SPDX-License-Identifier: Apache-2.0
"""egret.optimize() in the engine of this Python."""

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
