#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts that stand for speed, against a kept table: a change that makes a model slower shows here without a clock.

    tests/gate/gate.py [--egret PROGRAM] [--table FILE] [--models NAME,NAME] [--without PART] [--rewrite]

For each model of the table: the kernels of the CPU backend's plan, those of them that only move data, and the arithmetic
and memory traffic of all; the operators and the plan of the result of `egret optimize` with static costs; and the work of
this optimization, as e-nodes, matches and, where valgrind is, executed instructions.

Counts are those of AVX2, whatever the processor has, and of a Release build. Exit code 1 and the row where a count is
above the kept one by more than its tolerance. --rewrite keeps the counts of this build: do so on purpose, in a commit
that says why they grow. --without is an ablation of `egret bench`; the gate then has to fail.
"""
import argparse
import csv
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = pathlib.Path(__file__).with_name("table.csv")

# By how much a count may grow. Plans are deterministic; compilers differ in instructions.
TOLERANCES = {"kernels": 0.0, "moving_kernels": 0.0, "flops": 0.001, "bytes": 0.001,
              "operators_after": 0.0, "kernels_after": 0.0, "moving_after": 0.0, "flops_after": 0.001,
              "bytes_after": 0.001, "e_nodes": 0.02, "matches": 0.02, "instructions": 0.05}
COLUMNS = ["model", "backend", *TOLERANCES]

# Limits that do not depend on the clock.
STATIC = ["--cost", "flops", "--extractor", "dag-greedy", "--no-measure", "--no-check", "--limit-nodes", "3000",
          "--limit-iterations", "4", "--limit-time", "3600", "--extract-time", "3600"]
LIMIT_REACHED = 5  # the exit code
COUNTED = {"squeezenet1.1"}  # whose instructions are counted: valgrind runs a program thirty times as long


@dataclasses.dataclass(frozen=True)
class Growth:
    model: str
    column: str
    kept: float
    now: float

    def __str__(self):
        return (f"{self.model}: {self.column} grew from {self.kept:g} to {self.now:g} "
                f"(at most {1 + TOLERANCES[self.column]:g} times as many)")


def growths(kept, now):
    """Counts of one model that are above the kept ones. A count that is not known on one side is not compared."""
    found = []
    for column, tolerance in TOLERANCES.items():
        if kept.get(column, "") == "" or now.get(column, "") == "":
            continue
        before, after = float(kept[column]), float(now[column])
        if after > before * (1 + tolerance):
            found.append(Growth(kept["model"], column, before, after))
    return found


class Counter:
    """Runs the program in a folder of its own, so that no measured time of this machine takes part."""

    def __init__(self, program, folder, without=()):
        self.program = program
        self.folder = pathlib.Path(folder)
        self.without = [flag for part in without for flag in ("--without", part)]
        # With a policy given, the program does not start itself again, which valgrind forbids.
        self.environment = dict(os.environ, ONEDNN_MAX_CPU_ISA="AVX2", OMP_WAIT_POLICY="PASSIVE")

    def call(self, *arguments, before=()):
        command = [*before, self.program, *map(str, arguments), "--json", "--quiet", "--threads", "1",
                   "--progress=never"]
        done = subprocess.run(command, capture_output=True, text=True, env=self.environment, check=False)
        if done.returncode not in (0, LIMIT_REACHED):
            raise RuntimeError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
        return done

    def plan(self, path):
        answer = json.loads(self.call("bench", path, "--runs", "1", "--time", "0", "--kernels", "--cost-db",
                                      self.folder / "rates.db", *self.without).stdout)
        kernels = answer["kernels"]
        return {"kernels": len(kernels), "moving_kernels": sum(kernel["flops"] == 0 for kernel in kernels),
                "flops": int(sum(kernel["flops"] for kernel in kernels)),
                "bytes": int(sum(kernel["bytes"] for kernel in kernels))}

    def optimization(self, path, result):
        return ["optimize", path, "-o", result, *STATIC, "--cost-db", self.folder / "none.db"]

    def instructions(self, path):
        """Of the optimization under valgrind; none where that is missing."""
        valgrind = shutil.which("valgrind")
        if valgrind is None:
            return ""
        counted = self.call(*self.optimization(path, self.folder / "counted.onnx"),
                            before=(valgrind, "--tool=cachegrind", "--cache-sim=no",
                                    f"--cachegrind-out-file={self.folder / 'cachegrind.out'}"))
        line = next(line for line in counted.stderr.splitlines() if "refs:" in line)
        return int(line.rsplit(None, 1)[1].replace(",", ""))

    def row(self, model):
        path, result = self.folder / "model.onnx", self.folder / "result.onnx"
        self.call("zoo", model, "-o", path)
        answer = json.loads(self.call(*self.optimization(path, result)).stdout)
        after = self.plan(result)
        return {"model": model, "backend": "cpu", **self.plan(path), "operators_after": answer["operators_after"],
                "kernels_after": after["kernels"], "moving_after": after["moving_kernels"],
                "flops_after": after["flops"], "bytes_after": after["bytes"], "e_nodes": answer["e_nodes"],
                "matches": sum(step["matches"] for step in answer["growth"]),
                "instructions": self.instructions(path) if model in COUNTED else ""}


def read(table):
    with open(table, newline="") as file:
        return list(csv.DictReader(file))


def write(table, rows):
    with open(table, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--egret", default=ROOT / "build" / "release" / "bin" / "egret", type=pathlib.Path)
    parser.add_argument("--table", default=TABLE, type=pathlib.Path)
    parser.add_argument("--models", default="", help="names, separated by commas, instead of all of the table")
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--rewrite", action="store_true")
    arguments = parser.parse_args()

    chosen = [name for name in arguments.models.split(",") if name]
    kept = {row["model"]: row for row in (read(arguments.table) if arguments.table.exists() else [])}
    unknown = [name for name in chosen if name not in kept]
    if unknown and not arguments.rewrite:
        parser.error(f"the table has no row of {', '.join(unknown)}; --rewrite adds it")
    found = []
    for model in chosen or list(kept):
        with tempfile.TemporaryDirectory() as folder:
            now = Counter(arguments.egret, folder, arguments.without).row(model)
        if arguments.rewrite:
            kept[model] = now
            write(arguments.table, kept.values())
            continue
        worse = growths(kept[model], now)
        found += worse
        print(f"{model}: {'WORSE' if worse else 'ok'}", flush=True)
    for growth in found:
        print(growth)
    if found:
        print("If this is meant: tests/gate/gate.py --rewrite, in a commit that says why.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
