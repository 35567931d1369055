# SPDX-License-Identifier: Apache-2.0
import time

import egret
import numpy as np
import pytest


@egret.extractor
def greedy(egraph, costs):
    """The cheapest term of each class, each use paid."""
    best = np.full(len(egraph.class_begin) - 1, np.inf)
    choice = np.full(len(best), -1, np.int64)
    owner = egraph.node_class
    children = egraph.children
    begins = egraph.child_begin
    counts = np.diff(begins)
    parents = np.repeat(np.arange(len(owner)), counts)
    while True:
        of_children = np.bincount(parents, best[children], len(owner))
        totals = costs + of_children
        order = np.lexsort((totals, owner))
        first = order[egraph.class_begin[:-1]]
        better = totals[first] < best
        if not better.any():
            return choice
        choice[better] = first[better]
        best[better] = totals[first][better]


@egret.cost_model
def nodes(op, attrs, inputs, outputs):
    return 1e-6


def test_an_extractor_is_used(wasteful):
    calls = []

    @egret.extractor
    def counted(egraph, costs):
        calls.append((len(egraph.node_op), len(costs)))
        assert not egraph.children.flags.writeable
        return greedy(egraph, costs)

    result = egret.optimize(wasteful, extractor=counted, quick=True)
    assert calls and all(a == b for a, b in calls)
    assert result.extraction["extractor"] == "python:counted"
    assert result.extraction["status"] == "feasible"
    assert result.operators_after == 2


@pytest.mark.parametrize(
    "answer, message",
    [
        (lambda g: [0], "must have one node for each"),
        (lambda g: np.full(len(g.class_begin) - 1, -1), "is needed and has no node"),
        (lambda g: np.full(len(g.class_begin) - 1, 10**9), "whose nodes are"),
        (lambda g: "text", "could not convert|invalid literal"),
        (lambda g: None, "int|None"),
    ],
)
def test_wrong_answers_are_refused(wasteful, answer, message):
    with pytest.raises((egret.Usage, ValueError, TypeError), match=message):
        egret.optimize(wasteful, extractor=lambda egraph, costs: answer(egraph), quick=True)


def test_a_cyclic_answer_is_refused(wasteful):
    """The last node of each class: with rules that make x equal to a term of x, some choice is cyclic."""

    @egret.extractor
    def last(egraph, costs):
        return egraph.class_begin[1:].astype(np.int64) - 1

    try:
        egret.optimize(wasteful, extractor=last, quick=True, rules="all", allow="untested")
    except egret.Usage as error:
        assert "needs itself" in str(error) or "infinite cost" in str(error) or "untested" in str(error)


def test_exceptions_name_the_line_of_the_user(mlp):
    @egret.extractor
    def broken(egraph, costs):
        return egraph.no_such_array

    @egret.cost_model
    def divided(op, attrs, inputs, outputs):
        return 1 / (len(inputs) - len(inputs))

    with pytest.raises(AttributeError, match="no_such_array") as caught:
        egret.optimize(mlp, extractor=broken, quick=True)
    assert caught.traceback[-1].path.name == "test_extensions.py"
    assert "no_such_array" in str(caught.traceback[-1].statement)
    with pytest.raises(ZeroDivisionError) as caught:
        egret.optimize(mlp, cost=divided, no_measure=True)
    assert any(entry.name == "divided" for entry in caught.traceback)


def test_a_cost_model_is_used(wasteful):
    seen = []

    @egret.cost_model
    def flops(op, attrs, inputs, outputs):
        seen.append((op, attrs, inputs, outputs))
        return 1e-6 if op != "relu" else 1.0

    result = egret.optimize(wasteful, cost=flops, no_measure=True)
    assert result.extraction["cost_model"] == "python:flops"
    assert result.operators_after == 2
    assert len({(op, str(attrs), inputs) for op, attrs, inputs, _ in seen}) == len(seen)  # once each
    product = [one for one in seen if one[2] == (egret.TensorType("f32", (16, 32)), egret.TensorType("f32", (32, 64)))]
    op, attrs, inputs, outputs = product[0]
    assert op == "matmul" and outputs[0].dtype == "f32" and outputs[0].elements == 16 * 64
    moved = [attrs for op, attrs, inputs, outputs in seen if op == "transpose"]
    assert [1, 0] in [attrs["perm"] for attrs in moved]
    assert result.predicted_after_s < result.predicted_before_s


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), "text", None])
def test_costs_that_are_none_are_refused(mlp, value):
    with pytest.raises(egret.Usage, match="cost model"):
        egret.optimize(mlp, cost=lambda op, attrs, inputs, outputs: value, no_measure=True)


def test_a_scheduler_decides_which_rules_run(wasteful):
    class Nothing(egret.Scheduler):
        def start(self, rules):
            self.rules = list(rules)
            self.asked = 0

        def match_limit(self, iteration, rule):
            self.asked += 1
            return 0

    scheduler = Nothing()
    result = egret.optimize(wasteful, scheduler=scheduler, quick=True)
    assert scheduler.asked > 0 and len(scheduler.rules) > 100
    assert result.rules_used == []
    result = egret.optimize(wasteful, scheduler=egret.Scheduler(), quick=True)
    assert result.operators_after == 2


def test_a_scheduler_that_fails_ends_the_work(wasteful):
    class Broken(egret.Scheduler):
        def accept(self, iteration, rule, exceeded):
            raise RuntimeError("not this rule")

    class Wrong(egret.Scheduler):
        def match_limit(self, iteration, rule):
            return "many"

    with pytest.raises(RuntimeError, match="not this rule"):
        egret.optimize(wasteful, scheduler=Broken(), quick=True)
    with pytest.raises(TypeError, match="match_limit"):
        egret.optimize(wasteful, scheduler=Wrong(), quick=True)
    with pytest.raises(TypeError, match="needs the method start"):
        egret.optimize(wasteful, scheduler=object(), quick=True)


def test_ten_thousand_nodes_in_less_than_five_seconds(attention):
    """The whole of optimize() with an extractor and a cost model in Python."""
    sizes = []

    @egret.extractor
    def timed(egraph, costs):
        sizes.append(len(costs))
        start = time.perf_counter()
        choice = greedy(egraph, costs)
        sizes.append(time.perf_counter() - start)
        return choice

    start = time.perf_counter()
    egret.optimize(
        attention,
        extractor=timed,
        cost=nodes,
        no_measure=True,
        rules="all",
        limit_nodes=10_000,
        limit_iterations=1000,
    )
    seconds = time.perf_counter() - start
    assert sizes[0] >= 9_000
    assert sizes[1] < 5 and seconds < 30
