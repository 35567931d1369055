# SPDX-License-Identifier: Apache-2.0
"""Seconds from the death of a rank to the end of the run."""
from lib import plots


def figures():
    rows = plots.table("rank-death")
    drawn, axes = plots.figure(height=2.5)
    plots.cumulative(axes, {signal: [row["seconds"] for row in rows if row["signal"] == signal]
                            for signal in ("SIGKILL", "SIGSTOP")})
    axes.set_xlim(left=0)
    axes.set_xlabel("seconds until the run has ended with code 8")
    axes.set_ylabel("share of the runs")
    yield "full", drawn
