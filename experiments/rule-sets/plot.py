# SPDX-License-Identifier: Apache-2.0
"""Costs under both rule sets, and the rules that each model uses."""
import math

import matplotlib

from lib import plots


def figures():
    rows = plots.table("rule-sets")
    models = list(dict.fromkeys(plots.values_of(rows, "model")))
    cell = {(row["model"], row["rules"]): row for row in rows}

    def shares(rules):
        own = [cell[model, rules] for model in models]
        return [row["predicted_ms"] / row["predicted_before_ms"] for row in own]

    drawn, axes = plots.figure(height=0.8 + 0.17 * len(models))
    plots.dots(axes, [plots.short(model) for model in models],
               {"starter (by hand)": shares("starter"), "default (generated)": shares("default")})
    axes.set_xlabel("predicted time as a share of the original's")
    yield "full", drawn

    counts = {(row["rule"], row["model"]): row["count"] for row in plots.table("rule-sets", "full.heatmap")}
    used = [model for model in models if any(model == other for _, other in counts)]
    uses = {}
    for (rule, _), count in counts.items():
        uses.setdefault(rule, []).append(count)
    rules = sorted(uses, key=lambda rule: (-len(uses[rule]), -sum(uses[rule]), rule))
    drawn, axes = plots.figure(height=1.5 + 0.14 * len(rules))
    shades = [[math.log1p(counts.get((rule, model), 0)) for model in used] for rule in rules]
    axes.imshow(shades, cmap=matplotlib.colormaps["Blues"], aspect="auto", interpolation="nearest")
    axes.set_xticks(range(len(used)), [plots.short(model) for model in used], rotation=90, fontsize=6)
    axes.set_yticks(range(len(rules)), rules, fontsize=6)
    axes.grid(visible=False)
    axes.set_xlabel("rules that made part of a result: the darker, the more uses")
    yield "full.heatmap", drawn
