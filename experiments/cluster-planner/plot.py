# SPDX-License-Identifier: Apache-2.0
"""Steps of the experts' plans and of the best rule, relative to the plan's, all simulated."""
from lib import plots


def figures():
    rows = plots.table("cluster-planner")
    names = [row["case"] for row in rows]

    def relative(column):
        return [row[column] / row["step_s"] if row[column] else None for row in rows]

    drawn, axes = plots.figure(height=0.8 + 0.22 * len(rows))
    plots.dots(axes, names, {"expert": relative("expert_s"), "best rule": relative("best_rule_s")})
    axes.set_xlabel("simulated step relative to the plan's")
    yield "full", drawn
