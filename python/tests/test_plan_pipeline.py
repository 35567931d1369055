# SPDX-License-Identifier: Apache-2.0
"""egret.plan_pipeline()."""

import egret
import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper


@pytest.fixture
def layers(tmp_path):
    """Six equal layers over a batch of 32."""
    random = numpy.random.default_rng(1)
    nodes, weights, x = [], [], "x"
    for i in range(6):
        weights.append(numpy_helper.from_array(random.standard_normal((64, 64), dtype=numpy.float32) / 8, f"w{i}"))
        nodes += [helper.make_node("MatMul", [x, f"w{i}"], [f"p{i}"]), helper.make_node("Tanh", [f"p{i}"], [f"x{i}"])]
        x = f"x{i}"
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [32, 64]) for name in ("x", x)]
    graph = helper.make_graph(nodes, "layers", value[:1], value[1:], weights)
    path = tmp_path / "layers.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_a_plan_is_the_best_of_its_ranking(layers, tmp_path):
    plan = egret.plan_pipeline(layers, mesh={"x": 4}, loss="mse")
    assert plan.ranks == 4
    assert plan.bound_seconds <= plan.seconds == min(one["seconds"] for one in plan.ranking)
    assert "4 ranks" in repr(plan)
    plan.save(tmp_path / "pipeline.toml")
    assert f"replicas = {plan.plan['replicas']}" in (tmp_path / "pipeline.toml").read_text()


def test_given_choices_are_kept(layers):
    plan = egret.plan_pipeline(layers, mesh={"x": 4}, loss="mse", pipeline_stages=2, replicas=2, micro_batches=4)
    chosen = plan.plan
    assert (chosen["pipeline_stages"], chosen["replicas"], chosen["micro_batches"]) == (2, 2, 4)
    assert len(chosen["stages"]) == 2


def test_errors(layers):
    with pytest.raises(egret.Usage, match="no pipeline"):
        egret.plan_pipeline(layers, mesh={"x": 4}, loss="mse", replicas=3)
    with pytest.raises(egret.Unsupported, match="micro-batches"):
        egret.plan_pipeline(layers, mesh={"x": 4}, loss="mse", micro_batches=7)
