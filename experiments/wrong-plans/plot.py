# SPDX-License-Identifier: Apache-2.0
"""Faults of distributed programs, by what shows them."""
from lib import plots


def figures():
    rows = [row for row in plots.table("wrong-plans") if row["fault"] != "none"]
    kinds = sorted({row["fault"] for row in rows})

    def total(kind, column):
        return sum(row[column] or 0 for row in rows if row["fault"] == kind)
    drawn, axes = plots.figure(height=0.8 + 0.2 * len(kinds))
    columns = {"by_law": "no law or exchange fits", "at_import": "sizes do not fit", "by_values": "other values",
               "wrong_node": "wrong: no law from this node on", "wrong_values": "wrong: another program",
               "wrong_interface": "wrong: other inputs or outputs", "undecided": "undecided",
               "refused": "no valid model", "missed": "not found"}
    if "by_law" in rows[0]:  # a table of the first form of the experiment
        del columns["undecided"]
    plots.stacked(axes, kinds, {text: [total(kind, column) for kind in kinds] for column, text in columns.items()
                                if column in rows[0]})
    axes.set_xlabel("wrong programs")
    yield "full", drawn
