# SPDX-License-Identifier: Apache-2.0
"""Terms, candidates and rules of four operators of TASO's space, and the time of their generation."""
from lib import plots


def figures():
    rows = [row for row in plots.table("generator") if row["run"] == "taso-4" and row["operators"] != "all"]
    labels = [f"{row['operators']:.0f} operators" for row in rows]
    drawn, (left, right) = plots.figure(columns=2, height=0.9 + 0.45 * len(rows))
    names = ("terms", "classes", "candidates", "kept")
    plots.bars(left, labels, {name: plots.values_of(rows, name) for name in names}, log=True)
    left.set_xlabel("number")
    plots.stacked(right, labels, {"enumeration": [row["enumeration_s"] or 0 for row in rows],
                                  "decision": [row["decision_s"] or 0 for row in rows]})
    right.set_xlabel("seconds on two processors")
    yield "full", drawn
