# SPDX-License-Identifier: Apache-2.0
"""Median error of interpolated times and of the roofline, by operator."""
from lib import plots


def figures():
    rows = [row for row in plots.table("cost-interpolation")
            if row["left_out"] == "each operator" and row["median_error"]]
    drawn, axes = plots.figure(height=1 + 0.16 * len(rows))
    plots.dots(axes, [f"{row['operator']} ({row['entries']:.0f})" for row in rows],
               {"interpolated": plots.values_of(rows, "median_error"),
                "roofline": plots.values_of(rows, "roofline_median_error")}, reference=None, log=True)
    axes.set_xlabel("median relative error of the predicted time (number of operators in parentheses)")
    yield "full", drawn
