# SPDX-License-Identifier: Apache-2.0
import json

import egret
import onnx
import pytest
from conftest import make_model
from onnx import helper


def certified(model, tmp_path, **options):
    """The result and the file of its certificate."""
    path = tmp_path / "c.json"
    result = egret.optimize(model, quick=True, certificate=path, **options)
    return result, path


def test_a_certificate_is_accepted(wasteful, tmp_path):
    result, path = certified(wasteful, tmp_path)
    check = egret.check_certificate(wasteful, result.model_bytes, path)
    assert check.outputs == 1 and check.rule_steps > 0 and check.rules > 0
    assert check.sizes == {} and check.open_sizes == {}


def test_open_sizes_have_ranges(tmp_path):
    relu = [helper.make_node("Relu", [a], [b]) for a, b in ("xa", "ay")]
    model = make_model(relu, {"x": ["n", 4]}, {"y": ["n", 4]})
    result, path = certified(model, tmp_path, range={"n": (1, 100)})
    check = egret.check_certificate(model, result.model, path)
    assert check.open_sizes == {"n": (1, 100)}
    assert check.assumptions == () and not check.reals
    result, path = certified(model, tmp_path, bind={"n": 3})
    assert egret.check_certificate(model, result.model, path).sizes == {"n": 3}


def test_assumptions_are_listed(tmp_path):
    nodes = [helper.make_node("Add", ["x", "z"], ["a"]), helper.make_node("Relu", ["a"], ["y"])]
    model = make_model(nodes, {"x": ["n", 4], "z": ["m", 4]}, {"y": ["n", 4]})
    result, path = certified(model, tmp_path)
    check = egret.check_certificate(model, result.model, path)
    assert check.open_sizes.keys() == {"n", "m"}
    assert check.assumptions == ("m == n",)


def test_the_first_wrong_step_is_named(wasteful, tmp_path):
    result, path = certified(wasteful, tmp_path)
    document = json.loads(path.read_text())
    number = next(i for i, step in enumerate(document["steps"]) if step[0] == "rule")
    document["rules"][document["steps"][number][1]]["hash"] = "0" * 32
    path.write_text(json.dumps(document))
    with pytest.raises(egret.Mismatch, match=rf"step {number} \(rule .*no known rule has the hash"):
        egret.check_certificate(wasteful, result.model_bytes, path)


def test_another_model_is_rejected(wasteful, tmp_path):
    result, path = certified(wasteful, tmp_path)
    other = onnx.ModelProto()
    other.CopyFrom(result.model)
    next(node for node in other.graph.node if node.op_type == "Relu").op_type = "Abs"
    with pytest.raises(egret.Mismatch, match="output 'y'"):
        egret.check_certificate(wasteful, other, path)


def test_a_graph_chosen_with_its_kernels_is_certified(wasteful, tmp_path):
    result, path = certified(wasteful, tmp_path, kernels_from="egraph")
    egret.check_certificate(wasteful, result.model_bytes, path)


def test_what_cannot_be_certified_is_an_error(wasteful, tmp_path):
    with pytest.raises(egret.Usage, match="--certificate excludes"):
        certified(wasteful, tmp_path, error_budget=1e-2)
    with pytest.raises(egret.Error):
        egret.check_certificate(wasteful, wasteful, tmp_path / "none.json")
