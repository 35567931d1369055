# SPDX-License-Identifier: Apache-2.0
"""Files of the largest room of each folder, in both trees."""
from lib import plots


def figures():
    rows = [row for row in plots.table("layout") if row["folder"] != "all"]
    trees = list(dict.fromkeys(plots.values_of(rows, "tree")))
    folders = list(dict.fromkeys(plots.values_of(rows, "folder")))
    largest = {(row["tree"], row["folder"]): row["largest_room"] for row in rows}
    drawn, axes = plots.figure(height=0.8 + 0.25 * len(folders))
    plots.bars(axes, folders, {str(tree): [largest.get((tree, folder)) for folder in folders] for tree in trees},
               reference=40)
    axes.set_xlabel("files in the largest room (line: the limit)")
    yield "full", drawn
