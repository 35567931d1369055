# SPDX-License-Identifier: Apache-2.0
"""Predicted and measured communication times between virtual hosts."""
from lib import plots


def figures():
    series = {}
    for row in plots.table("virtual-hosts"):
        if row["predicted_s"] and row["measured_s"]:
            rate, delay = row["rate"], row["delay"]
            name = f"{rate}, delay {delay}" if delay else f"{rate}, no delay"
            series.setdefault(name, []).append(row)
    yield "full", plots.predictions(series, "predicted seconds of communication")
