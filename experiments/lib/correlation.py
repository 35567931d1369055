# SPDX-License-Identifier: Apache-2.0
"""Whether two columns of numbers order their rows alike."""
import statistics


def ranks(values):
    """From 1; equal values share the mean of theirs."""
    below = [sum(other < value for other in values) for value in values]
    return [rank + (1 + values.count(value)) / 2 for rank, value in zip(below, values)]


def spearman(left, right):
    return statistics.correlation(ranks(left), ranks(right))
