# SPDX-License-Identifier: Apache-2.0
"""egret.plan_cluster()."""

import egret
import pytest

GPT = dict(model_layers=8, hidden=2048, heads=16, global_batch=32, vocabulary=16384)


def test_a_plan_is_no_slower_than_its_baselines():
    plan = egret.plan_cluster(machine="dgx-a100", devices=8, **GPT)
    assert plan.plan["fits"]
    assert plan.bound_seconds <= plan.seconds
    fitting = [one["seconds"] for one in plan.baselines.values() if one["fits"]]
    assert fitting and plan.seconds <= min(fitting)
    assert "dgx-a100" in repr(plan)


def test_given_degrees_are_kept_and_the_step_is_simulated(tmp_path):
    plan = egret.plan_cluster(machine="dgx-a100", devices=8, tp=4, zero=1, **GPT)
    assert plan.plan["tp"] == 4 and plan.plan["zero"] == 1
    chosen = plan.plan
    chunks = chosen["chunks"]
    step = egret.simulate(
        system="dgx-a100",
        **GPT,
        **{key: chosen[key] for key in ("tp", "cp", "pp", "vpp", "dp", "micro_batch", "schedule", "zero", "offload")},
        sequence_parallel=chosen["sequence_parallel"],
        stage_layers=",".join(str(chunk["layers"]) for chunk in chunks),
        full_layers=",".join(str(chunk["full"]) for chunk in chunks),
        selective_layers=",".join(str(chunk["selective"]) for chunk in chunks),
    )
    assert step.seconds == plan.seconds
    plan.save(tmp_path / "plan.toml")
    assert "tp = 4" in (tmp_path / "plan.toml").read_text()


def test_errors():
    with pytest.raises(egret.Usage, match="--devices is missing"):
        egret.plan_cluster(**GPT)
    with pytest.raises(egret.Usage, match="no plan exists"):
        egret.plan_cluster(machine="dgx-a100", devices=8, tp=3, **GPT)
