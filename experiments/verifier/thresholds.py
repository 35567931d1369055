#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws pairs of rules from templates: one that is wrong only beyond a threshold, and one that is right.

    thresholds.py --seed 1 --each 3

The right side of a wrong rule decides on sizes or attributes that random instances hardly ever have. Beyond
the threshold it has the type of the left side and another value. In the right rule of the pair the decision
chooses between two ways to write the same value.
"""
import argparse
import random

# A template: the left side with its conditions, the right side, the value that belongs in its place, a wrong
# value of the same type, and another way to write the right one.
SLICE = ("slice{{axis=0, start=?s, size=?n, step=1}}(relu(?x)) where rank(?x) == {rank} and ?s >= 1",
         "relu(slice{{axis=0, start={value}, size=?n, step=1}}(?x))", "?s", "?s - 1", "(?s + ?n) - ?n")
STEP = ("slice{{axis=0, start=0, size=?n, step=?t}}(relu(?x)) where rank(?x) == {rank} and ?n >= 2 and ?t >= 2",
        "relu(slice{{axis=0, start=0, size=?n, step={value}}}(?x))", "?t", "?t - 1", "(?t * ?n) / ?n")
MATMUL = ("matmul(?x, ?w) where rank(?x) == 2 and rank(?w) == 2",
          "matmul(slice{{axis=1, start=0, size={value}, step=1}}(?x),"
          " slice{{axis=0, start=0, size={value}, step=1}}(?w))", "dim(?w, 0)", "dim(?w, 0) - 1",
          "dim(?x, 1) + dim(?w, 1) - dim(?w, 1)")
REVERSE = ("reverse{{axis=?a}}(relu(?x)) where rank(?x) == {rank}",
           "relu(reverse{{axis={value}}}(?x))", "?a", "0", "(?a + dim(?x, 0)) - dim(?x, 0)")
ADD = ("add(slice{{axis=0, start=?s, size=?n, step=1}}(?x), ?y) where rank(?x) == 1 and rank(?y) == 1"
       " and dim(?y, 0) == ?n and ?s >= 1",
       "add(?y, slice{{axis=0, start={value}, size=?n, step=1}}(?x))", "?s", "?s - 1", "(?s + ?n) - ?n")
CONV = ("conv{{group=1, pads=[?p, ?q], strides=?t, dilations=?d}}(neg(?x), ?w) where rank(?x) == 3 and ?p >= 1",
        "neg(conv{{group=1, pads=[{value}, ?q + ?p - ({value})], strides=?t, dilations=?d}}(?x, ?w))",
        "?p", "?p - 1", "(?p + dim(?w, 2)) - dim(?w, 2)")
POOL = ("max_pool{{kernel=[?k], pads=[?p, ?q], strides=?t, dilations=?d}}(relu(?x)) where rank(?x) == 3 and ?p >= 1",
        "relu(max_pool{{kernel=[?k], pads=[{value}, ?q + ?p - ({value})], strides=?t, dilations=?d}}(?x))",
        "?p", "?p - 1", "(?p + ?k) - ?k")

# name, template, decision; {t} is the threshold. Decisions of one, two and three sizes; comparisons, minima,
# quotients and remainders.
WRONG = [
    ("matmul-contraction", MATMUL, "dim(?w, 0) > {t}"),
    ("matmul-rows", MATMUL, "dim(?x, 0) >= {t} and dim(?w, 0) >= 2"),
    ("matmul-two", MATMUL, "dim(?w, 0) == dim(?x, 0) + {t}"),
    ("matmul-product", MATMUL, "dim(?x, 0) * dim(?w, 1) > {t} and dim(?w, 0) >= 2"),
    ("matmul-three", MATMUL, "dim(?w, 0) == dim(?x, 0) + dim(?w, 1) + {t}"),
    ("matmul-div", MATMUL, "dim(?w, 0) / 3 > {t}"),
    ("matmul-mod", MATMUL, "dim(?w, 0) % {u} == {u} - 1 and dim(?w, 0) >= 2"),
    ("matmul-max", MATMUL, "max(dim(?w, 0), dim(?x, 0)) == {t} + 1 and dim(?w, 0) >= 2"),
    ("slice-size", SLICE, "?n > {t}"),
    ("slice-start", SLICE, "?s > {t}"),
    ("slice-length", SLICE, "dim(?x, 0) == ?n + ?s + {t}"),
    ("slice-min", SLICE, "min(?s, ?n) > {t}"),
    ("slice-mod", SLICE, "(?s + ?n) % {u} == 0 and ?n > {u}"),
    ("slice-div", SLICE, "dim(?x, 0) / (?n + 1) > {t}"),
    ("slice-product", SLICE, "?s * ?n == {t} * {t}"),
    ("step", STEP, "?t > {t}"),
    ("step-two", STEP, "?t == ?n + {t}"),
    ("step-mod", STEP, "?t % {u} == {u} - 1"),
    ("add-size", ADD, "dim(?y, 0) > {t}"),
    ("add-two", ADD, "dim(?x, 0) == dim(?y, 0) + {t}"),
    ("conv-kernel", CONV, "dim(?w, 2) > {t}"),
    ("conv-channels", CONV, "dim(?x, 1) > {t}"),
    ("conv-filters", CONV, "dim(?w, 0) == dim(?x, 1) + {t}"),
    ("conv-stride", CONV, "?t[0] > {t}"),
    ("conv-pad", CONV, "?p > {t}"),
    ("conv-dilation", CONV, "?d[0] == {t} and dim(?w, 2) >= 2"),
    ("pool-kernel", POOL, "?k > {t}"),
    ("pool-pad", POOL, "?p > {t}"),
    ("pool-stride", POOL, "?t[0] > {t}"),
    ("axis", REVERSE, "?a >= 4"),
    ("axis-and-size", REVERSE, "?a == 4 and dim(?x, 3) > {t}"),
]
RANK = {"axis": 5, "axis-and-size": 5}
LARGEST = {"slice-product": 30, "conv-kernel": 300, "conv-dilation": 300, "pool-kernel": 300, "conv-pad": 300,
           "pool-pad": 300, "conv-channels": 3000, "conv-filters": 3000}


def drawn(rng, most):
    """A threshold from 3 to `most`, as often of each order of magnitude."""
    return min(most, max(3, int(3 * (most / 3) ** rng.random())))


def pair(name, template, decision, number, rng):
    left, right, value, wrong, other = template
    most = LARGEST.get(name, 10**6)
    decision = decision.format(t=drawn(rng, most), u=drawn(rng, min(most, 1000)))
    left = left.format(rank=RANK.get(name, 1))
    for kind, chosen in (("wrong", wrong), ("right", other)):
        decided = f"if({decision}, {chosen}, {value})"
        yield f"rule {kind}-{name}-{number}\n  {left}\n  => {right.format(value=decided)}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=2, help="rules of each template")
    parser.add_argument("--kind", choices=("wrong", "right"), help="only these")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    for name, template, decision in WRONG:
        for number in range(options.each):
            for text in pair(name, template, decision, number, rng):
                if options.kind is None or text.startswith(f"rule {options.kind}"):
                    print(text)


if __name__ == "__main__":
    main()
