# SPDX-License-Identifier: Apache-2.0
"""Verdicts of `egret verify` on the files of other tools."""
from lib import plots

from pathlib import Path

RESULTS = Path(__file__).resolve().parents[1] / "results" / "foreign-results"
VERDICTS = ("proven", "undecided", "different", "refused", "the tool failed")


def figures():
    for path in sorted(RESULTS.glob("full.*.csv")):
        rows = plots.table("foreign-results", path.stem)
        tools = sorted({row["tool"] for row in rows})
        drawn, axes = plots.figure(columns=1, height=1.6)
        plots.stacked(axes, tools, {verdict: [sum(row["tool"] == tool and row["verdict"] == verdict for row in rows)
                                              for tool in tools] for verdict in VERDICTS})
        axes.set_xlabel("models")
        yield path.stem, drawn
