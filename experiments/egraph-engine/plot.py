# SPDX-License-Identifier: Apache-2.0
"""How many times as long egg and egglog take."""
from lib import plots


def figures():
    rows = plots.table("egraph-engine")
    drawn, axes = plots.figure(height=0.8 + 0.25 * len(rows))
    plots.dots(axes, plots.values_of(rows, "workload"),
               {"egg 0.11 (published)": plots.values_of(rows, "times_egg"),
                "egglog (this host)": plots.values_of(rows, "times_egglog")}, log=True)
    axes.set_xlabel("time relative to Egret's")
    yield "full", drawn
    rows = plots.table("egraph-engine", "models")
    labels = list(dict.fromkeys((row["model"], row["limits"]) for row in rows))
    seconds = {(row["model"], row["limits"], row["build"]): row["seconds"] for row in rows}
    drawn, axes = plots.figure(height=0.8 + 0.2 * len(labels))
    plots.dots(axes, [f"{model}, {limits}" for model, limits in labels],
               {build: [seconds.get((*label, build)) for label in labels] for build in ("before", "now")},
               reference=None, log=True)
    axes.set_xlabel("seconds of saturation")
    yield "models", drawn
