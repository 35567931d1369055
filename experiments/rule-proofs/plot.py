# SPDX-License-Identifier: Apache-2.0
"""Proofs of rules: replayed without a solver, by whether they have contradictions, or in need of one."""
from lib import plots

from pathlib import Path

RESULTS = Path(__file__).resolve().parents[1] / "results" / "rule-proofs"


def figures():
    for path in sorted(RESULTS.glob("full.*.csv")):
        rows = plots.table("rule-proofs", path.stem)
        accepted = [row for row in rows if row["verdict"] == "accepted"]
        parts = {
            "normal form alone": sum(not row["contradictions"] for row in accepted),
            "with proofs of contradictions": sum(bool(row["contradictions"]) for row in accepted),
            "needs the solver": sum(row["verdict"] == "needs the solver" for row in rows)}
        drawn, axes = plots.figure(columns=1, height=1.2)
        plots.stacked(axes, ["rules"], {name: [count] for name, count in parts.items()})
        axes.set_xlabel("rules whose certificates were replayed")
        yield path.stem, drawn
