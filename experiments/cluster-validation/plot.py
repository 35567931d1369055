# SPDX-License-Identifier: Apache-2.0
"""Mean errors of the three models on each set of measurements."""
from lib import plots

# The errors that vTrain's paper gives for its own simulator on these runs.
PUBLISHED = {"vtrain-one-node": 8.37, "vtrain-nodes": 14.73}


def figures():
    rows = plots.table("cluster-validation")
    data = list(dict.fromkeys(row["data"] for row in rows))
    drawn, axes = plots.figure()
    for i, model in enumerate(dict.fromkeys(row["model"] for row in rows)):
        own = {row["data"]: row["mape"] for row in rows if row["model"] == model}
        places = [place for place, name in enumerate(data) if name in own]
        axes.bar([place + (i - 1) * 0.27 for place in places], [own[data[place]] for place in places], 0.25,
                 color=plots.COLOURS[i], label=model)
    for name, error in PUBLISHED.items():
        place = data.index(name)
        axes.plot([place - 0.4, place + 0.4], [error, error], color=plots.COLOURS[-1],
                  label="vTrain's paper" if place == 0 else None)
    axes.set_xticks(range(len(data)), data, rotation=30, ha="right")
    axes.set_yscale("log")
    axes.set_ylabel("mean absolute error, %")
    axes.legend()
    yield "full", drawn
