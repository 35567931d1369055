# SPDX-License-Identifier: Apache-2.0
"""Time of the plan that each search finds, relative to the integer program's."""
from lib import plots


def figures():
    rows = plots.table("plan-searches")
    labels = list(dict.fromkeys((row["model"], row["mesh"]) for row in rows))
    searches = list(dict.fromkeys(plots.values_of(rows, "search")))
    cell = {(row["model"], row["mesh"], row["search"]): row for row in rows}

    def values(search, column, base):
        found = []
        for label in labels:
            row = cell.get((*label, search))
            known = row and row[column] is not None
            found.append(row[column] / (cell[(*label, "egret")][column] if base else 1) if known else None)
        return found

    drawn, (left, right) = plots.figure(columns=2, height=0.8 + 0.25 * len(labels), sharey=True)
    names = [f"{model}, {mesh}" for model, mesh in labels]
    plots.dots(left, names, {search: values(search, "time_s", True) for search in searches})
    plots.dots(right, names, {search: values(search, "seconds", False) for search in searches},
               reference=None, log=True)
    right.get_legend().remove()
    left.set_xlabel("predicted time relative to Egret's plan")
    right.set_xlabel("seconds of search")
    yield "full", drawn
