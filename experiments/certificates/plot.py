# SPDX-License-Identifier: Apache-2.0
"""Steps of certificates, and the share of checking in optimizing."""
from lib import plots

from pathlib import Path

RESULTS = Path(__file__).resolve().parents[1] / "results" / "certificates"


def figures():
    for path in sorted(RESULTS.glob("full.*.csv")):
        rows = [row for row in plots.table("certificates", path.stem) if row["verdict"] == "accepted"]
        rows.sort(key=lambda row: row["steps"])
        drawn, axes = plots.figure(columns=2, height=0.8 + 0.17 * len(rows), sharey=True)
        labels = [plots.short(row["model"]) for row in rows]
        plots.stacked(axes[0], labels, {kind: [row[column] or 0 for row in rows] for kind, column in (
            ("instances of rules", "rule_steps"), ("folded constants", "folds"), ("by code", "code_steps"))})
        axes[0].set_xlabel("steps, without symmetry, transitivity and congruence")
        plots.dots(axes[1], labels, {"checking": [100 * row["share"] for row in rows]}, reference=5)
        axes[1].set_xlabel("time of egret-check, % of egret optimize")
        yield path.stem, drawn
