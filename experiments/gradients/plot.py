# SPDX-License-Identifier: Apache-2.0
"""Relative differences of gradients from JAX's."""
from lib import plots


def figures():
    rows = plots.table("gradients")
    networks = list(dict.fromkeys(plots.values_of(rows, "network")))
    drawn, axes = plots.figure(height=0.8 + 0.15 * len(rows))
    plots.dots(axes, plots.values_of(rows, "parameter"),
               {network: [row["error"] if row["network"] == network else None for row in rows]
                for network in networks}, reference=2 ** -24, log=True)
    axes.set_xlabel("relative difference of the gradient from JAX's (line: half a unit of f32)")
    yield "full", drawn
