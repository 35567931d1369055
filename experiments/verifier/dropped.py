# SPDX-License-Identifier: Apache-2.0
"""Conditions that are dropped from rules, and how those that inference finds instead compare.

Whether one condition implies another is decided by the verifier: a rule on which the first holds and
the second does not is vacuous.
"""
import pathlib
import re

LAST_WHERE = re.compile(r"^  where (?P<condition>.*)\n(?!(?:.*\n)*  where )", re.MULTILINE)


def rules_of(text):
    """The texts of the rules of a file by name, without comments."""
    plain = "".join(line for line in text.splitlines(True) if not line.startswith("#"))
    return {rule.split()[1]: rule for rule in re.split(r"^(?=rule )", plain, flags=re.MULTILINE)[1:]}


def without_last(rule):
    """A rule without its last line of conditions, and these conditions."""
    found = LAST_WHERE.search(rule)
    return rule[:found.start()] + rule[found.end():], found["condition"]


def excludes(rule, name, holds, fails):
    """A rule that is vacuous if `holds` implies `fails` under the conditions that are left."""
    text = without_last(rule)[0].replace(f"rule {rule.split()[1]}", f"rule {name}", 1)
    return text.replace("\n  =>", f"\n  where {holds}\n  where not ({fails})\n  =>", 1)


def comparison(found, dropped, implies):
    """exactly, equivalent, stronger, weaker, other, unknown, or none. `implies` decides between two conditions; its
    answer is None if the verifier does not decide."""
    if not found:
        return "none"
    if found == dropped:
        return "exactly"
    forth, back = implies(found, dropped), implies(dropped, found)
    if None in (forth, back):
        return "unknown"
    return "equivalent" if forth and back else "stronger" if forth else "weaker" if back else "other"


def recovered(name, rule, found, folder, verdicts):
    """How a condition that was found compares with the dropped one. `verdicts` maps a file to the verdict on each rule.
    Conditions are compared on sizes of at least 1."""
    dropped = without_last(rule)[1]

    def implies(a, b):
        path = pathlib.Path(folder) / "implication.rules"
        path.write_text(excludes(rule, name, a, b))
        verdict = verdicts(path)[name]
        return None if verdict["status"] == "undecided" else verdict["status"] == "vacuous" or verdict["only_with_size_0"]

    return comparison(found, dropped, implies)
