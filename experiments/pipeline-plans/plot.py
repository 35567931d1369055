# SPDX-License-Identifier: Apache-2.0
"""Steps without stages and of single ranks, relative to the step of the planned pipeline."""
from lib import plots


def figures():
    rows = [row for row in plots.table("pipeline-plans") if not row["says"]]
    drawn, axes = plots.figure(height=0.8 + 0.3 * len(rows))
    def relative(column):
        return [row[column] / row["step_s"] if row[column] else None for row in rows]
    plots.dots(axes, [f"{row['model']}, {row['mesh']}" for row in rows],
               {"no stages": relative("unstaged_s"), "stages of single ranks": relative("single_ranks_s")})
    axes.set_xlabel("simulated step relative to that of the planned pipeline")
    yield "full", drawn
