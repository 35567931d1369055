# SPDX-License-Identifier: Apache-2.0
"""Times of generated contractions relative to the CPU backend's kernels."""
from lib import plots


def figures():
    rows = plots.table("contractions")
    drawn, axes = plots.figure(height=3.0)
    groups = {"convolutions": lambda row: row["kernel"] == "Conv" and "group" not in row["shapes"],
              "grouped convolutions": lambda row: row["kernel"] == "Conv" and "group" in row["shapes"],
              "products": lambda row: row["kernel"] != "Conv"}
    for i, (name, holds) in enumerate(groups.items()):
        chosen = [row for row in rows if holds(row)]
        axes.plot([row["roofline_ms"] for row in chosen], [row["ratio"] for row in chosen], plots.MARKS[i], label=name,
                  color=plots.COLOURS[i], markerfacecolor="none")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.axhline(1, color="#888888", linewidth=0.8)
    axes.set_xlabel("least time by the roofline, ms")
    axes.set_ylabel("time relative to the CPU backend's kernel")
    axes.legend()
    yield "full", drawn
