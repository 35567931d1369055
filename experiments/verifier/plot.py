# SPDX-License-Identifier: Apache-2.0
"""Verdicts on published and own rules, by set."""
from lib import plots

STATUSES = ["proven", "bounded", "undecided", "refuted", "vacuous", "trivial", "ill-formed"]


def figures():
    rows = plots.table("verifier")
    sets = list(dict.fromkeys(plots.values_of(rows, "set")))
    count = {}
    for row in rows:
        count[row["set"], row["status"]] = count.get((row["set"], row["status"]), 0) + 1
    totals = {name: sum(count.get((name, status), 0) for status in STATUSES) for name in sets}
    drawn, axes = plots.figure(height=0.9 + 0.25 * len(sets))
    plots.stacked(axes, [f"{name} ({totals[name]})" for name in sets],
                  {status: [count.get((name, status), 0) / totals[name] for name in sets] for status in STATUSES})
    axes.set_xlabel("share of the rules of a set (number of rules in parentheses)")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    yield "full", drawn
