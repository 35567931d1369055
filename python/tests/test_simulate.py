# SPDX-License-Identifier: Apache-2.0
"""egret.simulate()."""

import json

import pytest

import egret

GPT = {"model_layers": 16, "hidden": 2048, "heads": 16, "tp": 2, "pp": 4, "dp": 2, "global_batch": 32}


def test_a_step_has_time_and_memory():
    step = egret.simulate(**GPT)
    assert step.devices == 16
    assert sum(step.time.values()) == pytest.approx(step.seconds)
    assert len(step.pipeline) == 4
    assert 0 < step.mfu < 1
    assert "16 devices" in repr(step)


def test_more_ranks_of_a_pipeline_idle_more():
    bubble = [egret.simulate(**{**GPT, "pp": pp}).time["bubble"] for pp in (2, 4, 8)]
    assert bubble == sorted(bubble)


def test_a_trace_is_written(tmp_path):
    step = egret.simulate(**GPT)
    step.trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    last = max(event["ts"] + event["dur"] for event in events if event["ph"] == "X")
    assert last * 1e-6 == pytest.approx(step.seconds)


def test_random_steps_have_a_distribution():
    step = egret.simulate(**GPT, jitter=0.1, trials=20)
    assert step.distribution["mean"] > step.seconds


def test_errors_are_those_of_the_command_line():
    with pytest.raises(egret.Usage, match="dgx-a100"):
        egret.simulate(system="dgx-a10")
    with pytest.raises(egret.Usage, match="--trials"):
        egret.simulate(jitter=0.1)
