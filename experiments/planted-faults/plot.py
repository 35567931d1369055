# SPDX-License-Identifier: Apache-2.0
"""Seconds that `egret reduce` took to shrink the model, by fault, of each machine."""
from lib import plots, results


def figures():
    for path in sorted((results.RESULTS / "planted-faults").glob("full*.csv")):
        rows = plots.table("planted-faults", path.stem)
        drawn, axes = plots.figure(height=0.8 + 0.35 * len(rows))
        plots.dots(axes, [row["fault"] for row in rows], {"reduction": [row["reduce_s"] for row in rows]})
        axes.set_xlim(left=0)
        axes.set_xlabel(f"seconds to reduce the model of {rows[0]['nodes']:.0f} nodes (goal 120)")
        yield path.stem, drawn
