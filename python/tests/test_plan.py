# SPDX-License-Identifier: Apache-2.0
import json

import egret
import numpy as np
import onnx
import pytest


def test_a_plan_places_all_values(mlp, tmp_path):
    path = tmp_path / "m.onnx"
    onnx.save(mlp, path)
    plan = egret.plan(path, mesh={"x": 2})
    assert plan.mesh == "x=2" and plan.machine == "local"
    assert {"x", "w1", "w2"} <= set(plan.placements)
    assert plan.time_s > 0 and plan.time_s <= min(plan.baselines.values()) * 1.001
    assert plan.check == "passed" and set(plan.baseline_facts) == set(plan.baselines)
    assert egret.plan(path, mesh={"x": 2}, limit_check=0).check == "skipped"
    assert "memory" in str(plan) and repr(plan).startswith("<egret.Plan on x=2")
    with pytest.raises(AttributeError, match="placements"):
        plan.no_such_field


def test_a_saved_plan_runs_with_the_command_line(mlp, tmp_path):
    import subprocess

    from egret.__main__ import program

    path = tmp_path / "m.onnx"
    onnx.save(mlp, path)
    (tmp_path / "plans").mkdir()
    saved = tmp_path / "plans" / "plan.json"
    egret.plan(path, mesh="x=2").save(saved)
    assert json.loads(saved.read_text())["model"] == "../m.onnx"
    subprocess.run([program(), "run", saved, "--check", "--quiet"], check=True, capture_output=True)


def test_a_plan_has_a_certificate(mlp, tmp_path):
    import pathlib
    import subprocess

    from egret.__main__ import program

    check = pathlib.Path(program()).with_name("egret-check-plan")
    if not check.exists():
        pytest.skip("egret-check-plan is not installed beside egret")
    model, saved, proof = (tmp_path / name for name in ("m.onnx", "plan.json", "c.json"))
    onnx.save(mlp, model)
    plan = egret.plan(model, mesh="x=2", strategy="tensor")
    plan.save(saved)
    plan.certificate(proof)
    done = subprocess.run([check, model, saved, proof], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "accepted: 1 outputs on x=2" in done.stdout, done.stderr
    document = json.loads(proof.read_text())
    document["laws"][0]["hash"] = "0" * 32
    proof.write_text(json.dumps(document))
    done = subprocess.run([check, model, saved, proof], capture_output=True, text=True, check=False)
    assert done.returncode == 6 and "law 0" in done.stderr


def test_a_training_step_is_planned(mlp):
    plan = egret.plan(mlp, mesh={"x": 2}, train=dict(optimizer="momentum"))
    assert plan.training["optimizer"] == "momentum"
    assert len(plan.carried) > 2


def test_mistakes_of_plan(mlp):
    with pytest.raises(egret.Usage, match="unknown machine 'no-such'"):
        egret.plan(mlp, machine="no-such")
    with pytest.raises(TypeError, match="did you mean mesh"):
        egret.plan(mlp, mash={"x": 2})


def test_training_lowers_the_loss(mlp):
    step = egret.train_step(mlp, optimizer="adam", lr=0.02, threads=1)
    assert step.inputs == ["x", "labels"] and step.classes == 4
    x = np.random.default_rng(0).standard_normal((8, 16)).astype(np.float32)
    labels = np.arange(8) % 4
    feeds = {"x": x, "labels": labels}
    before = {name: value.copy() for name, value in step.parameters.items()}
    losses = [step.run(feeds) for _ in range(30)]
    assert losses[-1] < 0.5 * losses[0]
    assert set(before) == {"w1", "b1", "w2"}
    assert all((step.parameters[name] != value).any() for name, value in before.items())
    assert len(step.state) > 0


def test_the_first_loss_is_the_cross_entropy(mlp):
    x = np.random.default_rng(0).standard_normal((8, 16)).astype(np.float32)
    labels = np.arange(8) % 4
    logits = egret.run(mlp, {"x": x})["y"].astype(np.float64)
    logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    want = -logs[np.arange(8), labels].mean()
    loss = egret.train_step(mlp).run({"x": x, "labels": labels})
    assert loss == pytest.approx(want, rel=1e-4)
