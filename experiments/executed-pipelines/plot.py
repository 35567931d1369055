# SPDX-License-Identifier: Apache-2.0
"""Predicted and measured steps of pipelines and replicas between virtual hosts."""
from lib import plots


def figures():
    series = {}
    for row in plots.table("executed-pipelines"):
        if row["predicted_s"] and row["measured_s"]:
            series.setdefault(row["plan"], []).append(row)
    yield "full", plots.predictions(series, "predicted seconds of a step")
