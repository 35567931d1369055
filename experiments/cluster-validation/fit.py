# SPDX-License-Identifier: Apache-2.0
"""Fits the constants of machine files to the given measurements and prints them; parallel/data/systems holds them.

    .venv/bin/python experiments/cluster-validation/fit.py [--halves] [NAME...]

--halves fits to every second group of each data set and reports the errors of the other groups.
"""
import argparse
import math
import pathlib
import re
import statistics
import sys
import tempfile

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import clusters  # noqa: E402
import estimates  # noqa: E402
from lib import egret  # noqa: E402

SYSTEMS = egret.ROOT / "parallel" / "data" / "systems"
CLIP = 0.1  # larger errors, of rows out of line, count linearly
STEP = 0.03

# Name: data sets, and the constants with their place among equal keys of a file (0: the first).
A100 = ["matmul_efficiency", "unaligned_efficiency", "matmul_ramp", "memory_efficiency", "host_seconds_per_kernel",
        "host_seconds_per_collective", "host_seconds_per_step"]
LINK = ["efficiency", "start_s", "hop_s", "ramp"]


def of_machine(cases, machine):
    return [case for case in cases if case.machine == machine]


FITS = {
    "a100": (lambda: [clusters.vtrain_one_node(), clusters.vtrain_nodes(), clusters.megatron_times()], A100),
    "gh200": (lambda: [clusters.sailor("step_s")], ["matmul_efficiency", "seconds_per_kernel"]),
    "b200": (lambda: [of_machine(clusters.mlperf(), "dgx-b200")], ["narrow_efficiency"]),
    "gb200": (lambda: [of_machine(clusters.mlperf(), "gb200-nvl72")], ["narrow_efficiency"]),
    "a100-links": (lambda: [clusters.allreduce("a100")[::2]], LINK),
    "v100-links": (lambda: [clusters.allreduce("v100")[::2]], LINK),
}


class Machines:
    """The presets with other constants, as files."""

    def __init__(self, folder, names):
        self.folder = pathlib.Path(folder)
        self.texts = {name: (SYSTEMS / f"{name}.toml").read_text() for name in names}

    def value(self, key):
        return float(re.search(rf"(?m)^{key} = (.*)$", next(iter(self.texts.values()))).group(1))

    def files(self, values):
        files = {}
        for name, text in self.texts.items():
            for key, value in values.items():
                value = min(value, 1) if key.endswith("efficiency") else value
                text = re.sub(rf"(?m)^{key} = .*$", f"{key} = {value:.8g}", text, count=1)
            files[name] = self.folder / f"{name}.toml"
            files[name].write_text(text)
        return files


def log_errors(machines, keys, x, sets):
    files = machines.files({key: math.exp(value) for key, value in zip(keys, x)})
    errors = []
    for cases in sets:
        moved = [clusters.Case(files[c.machine], c.line, c.measured, c.group) for c in cases]
        errors += [math.log(d["seconds"] / c.measured) for d, c in zip(estimates.of_cases(moved), cases)]
    return numpy.array(errors)


def fit(machines, keys, sets, rounds=10):
    """Levenberg and Marquardt with Huber's weights; data sets count alike, whatever their rows."""
    share = numpy.concatenate([numpy.full(len(cases), 1 / len(cases)) for cases in sets])

    def cost(r):
        size = numpy.abs(r)
        return float((share * numpy.where(size < CLIP, r * r / 2, CLIP * (size - CLIP / 2))).sum())

    x = numpy.log([machines.value(key) for key in keys])
    r = log_errors(machines, keys, x, sets)
    damping = 1e-2
    for _ in range(rounds):
        jacobian = numpy.stack([(log_errors(machines, keys, x + STEP * unit, sets) - r) / STEP
                                for unit in numpy.eye(len(keys))], axis=1)
        weights = share * numpy.minimum(1, CLIP / numpy.maximum(numpy.abs(r), 1e-9))
        normal = (jacobian.T * weights) @ jacobian + 1e-6 * numpy.eye(len(keys))
        gradient = (jacobian.T * weights) @ r
        for _ in range(5):
            step = numpy.linalg.solve(normal + damping * numpy.diag(numpy.diag(normal)), -gradient)
            moved = x + numpy.clip(step, -0.4, 0.4)
            after = log_errors(machines, keys, moved, sets)
            if cost(after) < cost(r):
                x, r, damping = moved, after, damping / 3
                break
            damping *= 4
        else:
            break
    return x


def report(name, machines, keys, x, sets, label):
    errors = numpy.abs(numpy.exp(log_errors(machines, keys, x, sets)) - 1) * 100
    begin = 0
    for number, cases in enumerate(sets):
        own = errors[begin:begin + len(cases)]
        begin += len(cases)
        print(f"{name} set {number} ({label}, {len(cases)} rows): mean {own.mean():.2f} %, "
              f"median {statistics.median(own):.2f} %, worst {own.max():.1f} %")


def every_second_group(cases, odd):
    groups = list(dict.fromkeys(case.group for case in cases))
    return [case for case in cases if groups.index(case.group) % 2 == odd]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--halves", action="store_true")
    parser.add_argument("names", nargs="*", help=", ".join(FITS))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.names or FITS:
            load, keys = FITS[name]
            sets = load()
            machines = Machines(folder, list(dict.fromkeys(c.machine for cases in sets for c in cases)))
            given = [every_second_group(cases, 0) for cases in sets] if arguments.halves else sets
            x = fit(machines, keys, given)
            print(name, {key: float(f"{math.exp(value):.4g}") for key, value in zip(keys, x)})
            report(name, machines, keys, x, given, "fitted to")
            if arguments.halves:
                report(name, machines, keys, x, [every_second_group(cases, 1) for cases in sets], "held out")


if __name__ == "__main__":
    main()
