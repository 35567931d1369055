# SPDX-License-Identifier: Apache-2.0
"""Costs of the extracted graphs of models, as shares of the original's."""
from lib import plots


def figures():
    rows = plots.table("extraction-models")
    labels = list(dict.fromkeys((row["rules"], row["model"], row["limit_nodes"]) for row in rows))
    extractors = list(dict.fromkeys(plots.values_of(rows, "extractor")))
    share = {(row["rules"], row["model"], row["limit_nodes"], row["extractor"]): row["cost"] / row["original"]
             for row in rows if row["cost"]}
    drawn, axes = plots.figure(height=0.8 + 0.2 * len(labels))
    plots.dots(axes, [f"{model}, {rules}, {limit:,.0f}" for rules, model, limit in labels],
               {name: [share.get((*label, name)) for label in labels] for name in extractors})
    axes.set_xlabel("cost as a share of the original's (model, rules, limit of e-nodes)")
    yield "full", drawn
