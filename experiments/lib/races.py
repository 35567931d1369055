"""How predicted times order graphs that were raced twice; rows of experiments/cost-model.

A row has `by_original` and `again_by_original`, a graph's times in the two races as shares of the program's.
"""
import itertools

from . import correlation

APART = 0.02  # of the program's time, in both races: by as much two graphs can be told apart


def measured(row):
    """The mean of both races."""
    return (float(row["by_original"]) + float(row["again_by_original"])) / 2


def agreement(rows, column):
    """Rank correlation of a prediction with what was measured; of the second race's times with the first race's."""
    truth = [float(row["by_original"]) if column == "again_by_original" else measured(row) for row in rows]
    return correlation.spearman([float(row[column]) for row in rows], truth)


def pairs_apart(rows):
    """Pairs of which both races say that the second takes longer, by enough to be told apart."""
    times = [(float(row["by_original"]), float(row["again_by_original"]), row) for row in rows]
    return [(a[2], b[2]) for a, b in itertools.permutations(times, 2)
            if min(b[0] - a[0], b[1] - a[1]) >= APART]


def share_in_order(rows, column):
    """Of pairs that can be told apart, those that a prediction puts in the order that was measured."""
    pairs = pairs_apart(rows)
    right = sum(float(a[column]) < float(b[column]) for a, b in pairs)
    return right / len(pairs) if pairs else 1.0
