# SPDX-License-Identifier: Apache-2.0
"""What each part of the CPU backend and each rule set gains."""
from lib import plots

PARTS = {"plain_ms": "plain", "fusion_ms": "fusion", "layout_ms": "layouts", "alone_ms": "backend, original model",
         "starter_ms": "rewritten, starter rules", "default_ms": "rewritten, default rules"}


def figures():
    rows = plots.table("inference-parts")
    drawn, axes = plots.figure(height=0.8 + 0.2 * len(rows))
    plots.dots(axes, [plots.short(row["model"]) for row in rows],
               {name: [row[column] / row["plain_ms"] if row[column] and row["plain_ms"] else None for row in rows]
                for column, name in PARTS.items() if column != "plain_ms"}, log=True)
    axes.set_xlabel("time as a share of the backend's without any of its parts")
    yield "full", drawn
