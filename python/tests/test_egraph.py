# SPDX-License-Identifier: Apache-2.0
import threading

import egret
import pytest

SUMS = ["(+ ?a ?b) => (+ ?b ?a)", "(+ ?a (+ ?b ?c)) => (+ (+ ?a ?b) ?c)"]


def long_sum(terms=14):
    """2 to the power of the number of terms classes, once SUMS ran."""
    text = "x0"
    for i in range(1, terms):
        text = f"(+ x{i} {text})"
    return text



def test_the_example_of_the_front_page():
    g = egret.EGraph()
    a = g.add("(+ x (* y 0))")
    run = g.run(["(* ?a 0) => 0", "(+ ?a 0) => ?a"])
    assert run.stop_reason == "saturated"
    found = g.extract(a)
    assert str(found) == "x" and found.cost == 1
    assert sum(run.applied.values()) == 2
    assert g.same(a, "x") and not g.same(a, "y")


def test_union_closes_under_congruence():
    g = egret.EGraph()
    fa, fb = g.add("(f a)"), g.add("(f b)")
    assert not g.same(fa, fb)
    assert g.union("a", "b")
    assert g.same(fa, fb) and g.find(fa) == g.find(fb)
    assert not g.union("a", "b")
    assert sorted(g.terms("a")) == ["a", "b"]


def test_rules_as_a_text_with_names_and_comments():
    g = egret.EGraph()
    a = g.add("(/ (* x 2) 2)")
    run = g.run(
        """
        # halves of doubles
        halve: (/ (* ?a ?b) ?b) => ?a
        commute: (* ?a ?b) => (* ?b ?a)
        """
    )
    assert run.applied == {"halve": 1, "commute": 1}
    assert g.extract(a).term == "x"


def test_costs_decide_what_is_extracted():
    g = egret.EGraph()
    a = g.add("(* x 2)")
    g.run(["(* ?a 2) => (<< ?a 1)"])
    assert g.extract(a, costs={"*": 3}).term == "(<< x 1)"
    assert g.extract(a, costs={"<<": 3}).term == "(* x 2)"


def test_shared_terms_are_paid_once():
    g = egret.EGraph()
    a = g.add("(pair (f x) (f x))")
    found = g.extract(a, extractor="auto")
    assert (found.cost, found.tree_cost, found.optimal) == (3, 5, True)
    assert found.bound == 3


def test_limits_end_a_run():
    g = egret.EGraph()
    g.add(long_sum())
    assert g.run(SUMS, nodes=500, iterations=100).stop_reason == "node limit"
    assert g.node_count >= 400
    assert g.run(SUMS, iterations=1, nodes=10**6).iterations == 1


def test_dumps_and_pictures(tmp_path):
    g = egret.EGraph()
    a = g.add("(+ x y)")
    assert "+ c" in g.dump()
    assert g.dump("dot").startswith("digraph")
    assert g.dump("svg", roots=[a]).startswith("<svg") and g._repr_svg_().startswith("<svg")
    g.save_svg(tmp_path / "g.svg")
    assert (tmp_path / "g.svg").read_text().startswith("<svg")
    with pytest.raises(egret.Usage, match="text, dot and svg"):
        g.dump("png")


def test_mistakes_are_named():
    g = egret.EGraph()
    with pytest.raises(egret.BadInput):
        g.add("(+ x")
    with pytest.raises(egret.BadInput, match="rule 2"):
        g.run(["(f ?a) => ?a", "(f ?a => ?a"])
    with pytest.raises(egret.Usage, match="no class 77"):
        g.extract(77)
    with pytest.raises(egret.Usage, match="no class -1"):
        g.find(-1)
    with pytest.raises(egret.Usage, match="backoff"):
        g.run(["(f ?a) => ?a"], scheduler="no-such")
    with pytest.raises(egret.Usage, match="unknown extractor"):
        g.extract(g.add("x"), extractor="no-such")


def test_other_threads_keep_out_of_a_run():
    g = egret.EGraph()
    a = g.add(long_sum())
    started = threading.Event()
    refused = []

    def look():
        started.wait()
        while not refused and thread.is_alive():
            try:
                g.find(a)
            except egret.Usage as error:
                refused.append(str(error))

    thread = threading.Thread(
        target=lambda: g.run(SUMS, iterations=1000, nodes=300_000, progress=lambda p: started.set())
    )
    looker = threading.Thread(target=look)
    thread.start()
    looker.start()
    thread.join()
    started.set()
    looker.join()
    assert refused and "another thread" in refused[0]
    assert g.find(a) == g.find(a)
