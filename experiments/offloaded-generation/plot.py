# SPDX-License-Identifier: Apache-2.0
"""Throughputs of rules and of published policies, relative to the plan's, all under Egret's prices."""
from lib import plots


def figures():
    rows = plots.table("offloaded-generation")
    names = [row["case"] for row in rows]

    def relative(column):
        return [row[column] / row["tokens_s"] if row[column] else None for row in rows]

    drawn, axes = plots.figure(height=0.8 + 0.24 * len(rows))
    plots.dots(axes, names, {"published policy": relative("published_policy_tokens_s"),
                             "weights from the host": relative("zero_tokens_s"),
                             "whole layers": relative("accelerate_tokens_s")}, log=True)
    axes.set_xlabel("tokens/s relative to the plan's")
    yield "full", drawn
