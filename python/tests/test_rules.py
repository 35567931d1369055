# SPDX-License-Identifier: Apache-2.0
import egret
import numpy as np
import pytest

PROVEN = "rule relu-of-relu relu(relu(?x)) => relu(?x)"
WRONG = "rule relu-is-nothing relu(?x) => ?x"


def test_rules_are_read_from_text():
    rules = egret.Rules(PROVEN + "\n" + WRONG)
    assert rules.names == ["relu-of-relu", "relu-is-nothing"]
    assert len(rules) == 2 and "relu-of-relu" in rules
    assert egret.Rules(str(rules)).hash == rules.hash
    assert rules.status("relu-is-nothing") == "untested"
    with pytest.raises(egret.Usage, match="no rule 'other'"):
        rules.status("other")


def test_mistakes_name_line_and_column():
    with pytest.raises(egret.BadInput, match=r"mine:1:\d+") as error:
        egret.Rules("rule broken rel(?x) => ?x", name="mine")
    assert "relu" in str(error.value)  # the nearest name


def test_sets_that_come_with_egret():
    default = egret.rules.default
    assert len(default) > 100
    assert {default.status(name) for name in default.names[:5]} == {"proven"}
    assert len(egret.rules.all) > len(default)
    assert len(egret.Rules.load("default,-transpose*")) < len(default)
    with pytest.raises(AttributeError, match="starter"):
        egret.rules.no_such_set


def test_rules_are_read_from_files(tmp_path):
    path = tmp_path / "mine.rules"
    egret.Rules(PROVEN).save(path)
    assert egret.Rules.load(path).names == ["relu-of-relu"]


def test_verdicts_are_saved_and_read_with_the_rules(tmp_path, wasteful):
    path = tmp_path / "mine.rules"
    rules = egret.Rules("rule once relu(relu(relu(relu(?x)))) => relu(?x)")
    rules.save(path)
    assert not (tmp_path / "mine.rules.status.json").exists()
    assert egret.Rules.load(path).status("once") == "untested"
    assert rules.verify().all_proven
    rules.save(path)
    assert egret.Rules.load(path).status("once") == "proven"
    both = egret.rules.default + egret.Rules.load(path)
    assert both.status("once") == "proven"
    egret.optimize(wasteful, rules=both, quick=True)  # without allow=
    egret.optimize(wasteful, rules=f"default,{path}", quick=True)


def test_sets_are_added():
    a, b = egret.Rules(PROVEN), egret.Rules(WRONG)
    assert (a + b).names == ["relu-of-relu", "relu-is-nothing"]
    assert (a + a).names == a.names
    assert (a + b).only("relu-is-nothing").names == b.names
    other = egret.Rules("rule relu-of-relu relu(neg(?x)) => neg(?x)", name="mine.rules")
    assert (a + other).names == ["relu-of-relu", "mine/relu-of-relu"]
    assert (a + other + other).names == (a + other).names
    with pytest.raises(TypeError):
        a + "text"


def test_verify_proves_and_refutes():
    rules = egret.Rules(PROVEN + "\n" + WRONG)
    verdicts = rules.verify()
    assert [v.status for v in verdicts] == ["proven", "refuted"]
    assert not verdicts.all_proven and verdicts["relu-of-relu"].proven
    assert verdicts[0].families > 0 and verdicts[0].counterexample is None
    assert "relu-of-relu" in repr(verdicts) and "refuted" in repr(verdicts)
    assert rules.status("relu-of-relu") == "proven"
    assert rules.status("relu-is-nothing") == "refuted"


def test_a_counterexample_is_arrays():
    (verdict,) = egret.Rules(WRONG).verify()
    found = verdict.counterexample
    (x,) = found.inputs.values()
    np.testing.assert_array_equal(found.left, np.maximum(x, 0))
    np.testing.assert_array_equal(found.right, x)
    assert (found.left != found.right).any()
    assert "rule relu-is-nothing" in verdict.reason


def test_optimize_runs_proven_rules_alone(wasteful):
    rules = egret.Rules("rule twice relu(relu(?x)) => relu(?x)\nrule wrong relu(?x) => ?x")
    # Known to Egret already under another name: statuses go by the meaning of a rule.
    good = rules.only("twice")
    good.verify()
    result = egret.optimize(wasteful, rules=good, quick=True)
    assert {rule["name"] for rule in result.rules_used} <= {"twice"}
    assert result.operators_after == 4
    with pytest.raises(egret.Usage, match="wrong"):
        egret.optimize(wasteful, rules=rules, quick=True)
    rules.verify()
    for allow in ("proven", "untested"):
        with pytest.raises(egret.Usage, match="wrong"):
            egret.optimize(wasteful, rules=rules, quick=True, allow=allow)


def test_rules_of_the_user_run_beside_the_default_set(wasteful):
    own = egret.Rules(
        "rule product-of-relu relu(relu(relu(?x))) => relu(?x)", name="own"
    )
    with pytest.raises(egret.Usage, match="product-of-relu"):
        egret.optimize(wasteful, rules=egret.rules.default + own, quick=True)
    assert own.verify().all_proven
    result = egret.optimize(wasteful, rules=egret.rules.default + own, quick=True)
    assert result.operators_after == 2


def test_derive_says_which_rules_a_set_makes_unnecessary():
    goals = egret.Rules("rule thrice relu(relu(relu(?x))) => relu(?x)\nrule other neg(neg(?x)) => ?x")
    found = {d.name: d for d in egret.Rules(PROVEN).derive(goals)}
    assert found["thrice"].derived and not found["other"].derived
    assert found["other"].reason


def test_generate_finds_and_proves_rules():
    rules = egret.Rules.generate(["relu", "neg"], max_ops=2)
    assert len(rules) > 0
    assert {rules.status(name) for name in rules} == {"proven"}
    assert egret.Rules(str(rules)).derive(PROVEN_SET())[0].derived
    with pytest.raises(egret.Usage, match="operators or a space"):
        egret.Rules.generate()
    with pytest.raises(egret.Usage, match="no-such-space"):
        egret.Rules.generate(space="no-such-space")


def PROVEN_SET():
    return egret.Rules(PROVEN)


def test_a_rule_source_sees_the_model(wasteful):
    seen = []

    @egret.rule_source
    def source(model):
        seen.append(model)
        return PROVEN

    # What Egret knows of a rule goes by its meaning: this one is among its own.
    result = egret.optimize(wasteful, rules=source, quick=True, allow="untested")
    assert seen == [wasteful]
    assert result.operators_after == 4
    with pytest.raises(TypeError, match="not int"):
        egret.optimize(wasteful, rules=lambda model: 3)


def test_ctrl_c_keeps_the_verdicts_that_were_found():
    import signal
    import threading

    rules = egret.rules.all
    main = threading.main_thread().ident
    pressed = []

    def press_once(progress):
        if progress.fraction > 0 and not pressed:
            pressed.append(progress)
            signal.pthread_kill(main, signal.SIGINT)

    verdicts = rules.verify(progress=press_once)
    assert pressed
    assert verdicts.interrupted and 0 < len(verdicts) < len(rules)
    assert not verdicts.all_proven and verdicts[0].proven
