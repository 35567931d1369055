# SPDX-License-Identifier: Apache-2.0
"""egret.plan_offload()."""

import egret
import pytest

GPT = dict(model_layers=12, hidden=4096, heads=32, vocabulary=16384, prompt=256, output_tokens=16, compress="none")


def test_a_plan_is_no_slower_than_its_baselines(tmp_path):
    plan = egret.plan_offload(machine="t4-flexgen", weights_on="", **GPT)
    assert plan.baselines
    assert plan.tokens_per_second >= max(one["tokens_per_second"] for one in plan.baselines.values())
    assert plan.bound_tokens_per_second >= plan.tokens_per_second
    assert abs(sum(plan.plan["weights"].values()) - 1) < 1e-9
    assert "t4-flexgen" in repr(plan)
    plan.save(tmp_path / "plan.toml")
    assert f"gpu-batch = {plan.plan['gpu_batch']}" in (tmp_path / "plan.toml").read_text()


def test_experts():
    plan = egret.plan_offload(machine="rtx6000-fiddler", model_layers=32, hidden=4096, heads=32, kv_heads=8, ffn=14336,
                              gated=True, vocabulary=32000, untied=True, experts=8, prompt=64, output_tokens=64)
    assert 40 < plan.experts_on_accelerator < 70
    assert plan.tokens_per_second >= plan.baselines["fiddler"]["tokens_per_second"]
    with pytest.raises(ValueError, match="to_dict"):
        plan.save("plan.toml")


def test_errors():
    with pytest.raises(egret.Usage, match="host"):
        egret.plan_offload(machine="dgx-a100", **GPT)
    with pytest.raises(egret.Usage, match="--weights-on"):
        egret.plan_offload(machine="t4-flexgen", weights_on="1,2,3", **GPT)
