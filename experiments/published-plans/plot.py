# SPDX-License-Identifier: Apache-2.0
"""Step of data parallelism over the plan's, beside the largest speed-up that the paper publishes."""
from lib import plots, results


def figures():
    if not (results.RESULTS / "published-plans" / "full.csv").exists():
        return
    rows = [row for row in plots.table("published-plans") if row["over_data"] is not None]
    drawn, axes = plots.figure(height=0.8 + 0.25 * len(rows))
    plots.dots(axes, [f"{row['paper']}, {row['model']}, {row['machine']} {row['mesh']}" for row in rows],
               {"published": [row["published"] for row in rows], "Egret's plan": [row["over_data"] for row in rows]})
    axes.set_xlabel("time of a step with data parallelism over the plan's (predicted); published: measured, at most")
    yield "full", drawn
