# SPDX-License-Identifier: Apache-2.0
"""Faults of distributed programs, by what shows them."""
from lib import plots


def figures():
    rows = [row for row in plots.table("wrong-plans") if row["fault"] != "none"]
    kinds = sorted({row["fault"] for row in rows})

    def total(kind, column):
        return sum(row[column] or 0 for row in rows if row["fault"] == kind)
    drawn, axes = plots.figure(height=0.8 + 0.2 * len(kinds))
    plots.stacked(axes, kinds, {text: [total(kind, column) for kind in kinds] for text, column in (
        ("no law or exchange fits", "by_law"), ("sizes do not fit", "at_import"), ("other values", "by_values"),
        ("not found", "missed"))})
    axes.set_xlabel("wrong programs")
    yield "full", drawn
