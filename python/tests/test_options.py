# SPDX-License-Identifier: Apache-2.0
"""The options of Python functions are the flags of the command line's verbs."""

import re
import subprocess

import pytest
from egret import _egret
from egret.__main__ import program

# Flags of runs of a plan file over ranks.
RANKS = {"exchange", "limit-exchange"}
# Flags about the program's own input and output.
COMMON = {"json", "color", "progress", "config", "print-config", "quiet", "verbose", "help", "output", "input"}
# Flags of plans without a model, which another function makes.
CLUSTER = {row["name"] for row in _egret.plan_cluster_options()}
# Flags of plans of pipelines, likewise.
PLANNED_PIPELINE = {row["name"] for row in _egret.plan_pipeline_options()}

# Pipelines run over ranks, as plans do.
PIPELINE = {"pipeline-stages", "micro-batches", "schedule", "stages-per-rank", "stage-layers", "stage-operators", "replicas",
            "stage-ranks", "stage-strategy", "stage-machine", "stage-time", "zero-1", "no-overlap"}

# Training steps within less memory, which Python does not run yet.
RECOMPUTE = {"recompute-by", "recompute-time", "recompute-prices", "offload-to", "offload-rate"}

FUNCTIONS = {
    # verb: options, flags that are parameters of their own or that other functions have
    "optimize": (_egret.optimize_options, {"in-place"}),  # of files
    "run": (_egret.session_options, {"at", "output-folder", "trace", "check"} | RANKS),
    "compare": (_egret.compare_options, {"at"}),
    "plan": (_egret.plan_options, {"threads", "report", "certificate", "rank-models"} | CLUSTER | PLANNED_PIPELINE),
    "offload": (_egret.plan_offload_options, {"trace", "threads"}),
    "train-step": (_egret.training_options, {"steps", "check", "predict", "curve"} | RANKS | PIPELINE | RECOMPUTE),
}


def flags_of(verb):
    text = subprocess.run([program(), "help", verb], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^ +(?:-\w, )?--([a-z0-9-]+)", text, re.M))


@pytest.mark.parametrize("verb", FUNCTIONS)
def test_options_are_the_flags_of_the_verb(verb):
    describe, apart = FUNCTIONS[verb]
    names = {row["name"] for row in describe()}
    flags = flags_of(verb)
    assert len(names) > 5
    assert names <= flags
    assert flags - names - COMMON - apart == set()


def test_a_cluster_is_planned_with_flags_of_plan():
    assert CLUSTER <= flags_of("plan")
    assert {"devices", "hidden", "zero", "explain"} <= CLUSTER


def test_a_pipeline_is_planned_with_flags_of_plan():
    assert PLANNED_PIPELINE <= flags_of("plan")
    assert {"pipeline-stages", "stage-ranks", "replicas", "piece-time"} <= PLANNED_PIPELINE
