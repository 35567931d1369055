# SPDX-License-Identifier: Apache-2.0
"""Measured layers of a machine file ([[measured_layer]]), from measured steps.

A step's time is linear in that of its layers, so two predictions tell the time of a layer with which a step takes as
long as measured. Of several steps with layers of one shape, the median counts.
"""
import collections
import statistics
import tempfile
import pathlib

import clusters
import estimates
from lib import egret

SYSTEMS = egret.ROOT / "parallel" / "data" / "systems"
SHAPE = ["hidden", "heads", "sequence-length", "tp", "micro-batch"]
FIRST_S = 3e-3


def shape_of(case):
    return tuple(case.line[key] for key in SHAPE)


def machine_file(folder, name, seconds):
    """The preset with these seconds by shape."""
    text = (SYSTEMS / f"{name}.toml").read_text()
    for shape, time in seconds.items():
        text += "[[measured_layer]]\n" + "".join(f"{key} = {value}\n" for key, value in zip(SHAPE, shape))
        text += f"seconds = {time:.6g}\n"
    path = pathlib.Path(folder) / f"{name}.toml"
    path.write_text(text)
    return path


def predicted(cases, seconds):
    with tempfile.TemporaryDirectory() as folder:
        files = {name: machine_file(folder, name, seconds) for name in {case.machine for case in cases}}
        moved = [clusters.Case(files[c.machine], c.line, c.measured, c.group) for c in cases]
        return [document["seconds"] for document in estimates.of_cases(moved)]


def of_steps(cases):
    """Seconds of a layer by shape."""
    shapes = dict.fromkeys(map(shape_of, cases))
    once, twice = (predicted(cases, dict.fromkeys(shapes, factor * FIRST_S)) for factor in (1, 2))
    found = collections.defaultdict(list)
    for case, a, b in zip(cases, once, twice):
        found[shape_of(case)].append(FIRST_S * (1 + (case.measured - a) / (b - a)))
    return {shape: statistics.median(times) for shape, times in found.items() if statistics.median(times) > 0}


def predicted_by_other_half(cases):
    """Every second group (of the same work on the same devices) is predicted with layers of the other groups."""
    groups = list(dict.fromkeys(case.group for case in cases))
    halves = [[i for i, case in enumerate(cases) if groups.index(case.group) % 2 == odd] for odd in (0, 1)]
    times = [0.0] * len(cases)
    for here, other in (halves, halves[::-1]):
        layers = of_steps([cases[i] for i in other])
        for i, time in zip(here, predicted([cases[i] for i in here], layers)):
            times[i] = time
    return times
