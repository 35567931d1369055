#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far and how fast the e-graphs of real models saturate, with this engine and with another build of the program.

    experiments/egraph-engine/models.py --rules-of 01475eb [--before OTHER/build/release/bin/egret]

Only the saturation phase of `egret optimize` is of interest: nothing is measured, checked or kept of the rest. The
limits are the program's own, as they were then; or larger ones, with all rules. This build takes its rules from the
files of the revision that is named, so that both have the same; the e-graphs must be equal in size. Without --before,
the rows of the other build stay as they were measured. Results: experiments/results/egraph-engine/models.csv.
"""
import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import egret, results  # noqa: E402

MODELS = ["inception-v3", "nasnet-a", "bert-base", "resnext50", "nasrnn"]
LIMITS = {"default": ["--multi-iterations", "2"],  # as both builds had it
          "large": ["--multi-iterations", "4", "--limit-nodes", "200000", "--limit-iterations", "30",
                    "--limit-time", "300"]}
COLUMNS = ["model", "limits", "build", "e_nodes", "e_classes", "iterations", "stop_reason", "seconds", "search_s",
           "apply_s", "rebuild_s"]


def rules_of(revision, folder):
    """What --rules and --allow say in order to have the rules of this revision: its files, and rules that are code."""
    def git(*arguments):
        return subprocess.run(["git", "-C", str(egret.ROOT), *arguments], capture_output=True, text=True,
                              check=True).stdout

    files = []
    for file in git("ls-tree", "-r", "--name-only", revision, "rules/data").split():
        if file.endswith(".rules"):
            files.append(folder / pathlib.PurePath(file).name)
            files[-1].write_text(git("show", f"{revision}:{file}"))

    def in_code(selection):
        done = subprocess.run([egret.PROGRAM, "rules", "list", selection, "--json"], capture_output=True, check=True)
        return [rule["name"] for rule in json.loads(done.stdout)["rules"] if rule["status"] == "dynamic"]

    return {limits: ["--rules", ",".join([*map(str, files), *left_out, *in_code(selection)]), "--allow", "untested"]
            for limits, selection, left_out in (("default", "default", ["-extra"]), ("large", "all", []))}


def kept(path):
    """The rows of the other build, and what the manifest says of it."""
    with open(path.with_suffix(".csv"), newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["build"] == "before"]
    manifest = json.loads(path.with_suffix(".json").read_text())
    return rows, manifest["versions"]["before"], manifest.get("before_measured", manifest["date"])


def run_once(program, model, limits):
    command = [program, "optimize", model, "-o", os.devnull, "--json", "--quiet", "--threads", "1", "--no-measure",
               "--no-check", "--cost", "nodes", "--extractor", "tree-greedy", *limits]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 5):  # 5: a limit was hit, and the result is valid
        raise RuntimeError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
    report = json.loads(done.stdout)
    return {**report, "seconds": sum(report[part] for part in ("search_s", "apply_s", "rebuild_s"))}


def version(program):
    document = json.loads(subprocess.run([program, "version", "--json"], capture_output=True, check=True).stdout)
    return f"{document['version']} ({document['revision']})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--before", type=pathlib.Path, help="another build's egret")
    parser.add_argument("--rules-of", required=True, help="the other build's revision")
    parser.add_argument("--rounds", type=int, default=3, help="the fastest counts (default 3)")
    arguments = parser.parse_args()
    builds = {"now": egret.PROGRAM}
    if arguments.before:
        builds["before"] = arguments.before
    versions = {name: version(program) for name, program in builds.items()}
    manifest = {"versions": versions, "threads": 1, "rounds": arguments.rounds}
    rows_before = []
    if not arguments.before:
        rows_before, versions["before"], manifest["before_measured"] = kept(results.RESULTS / "egraph-engine/models")
    table = results.Table("egraph-engine", "models", COLUMNS, ["model", "limits", "build"], manifest)
    with tempfile.TemporaryDirectory() as folder:
        rules = {"now": rules_of(arguments.rules_of, pathlib.Path(folder)),
                 "before": {"default": [], "large": ["--rules", "all"]}}
        for model in MODELS:
            path = pathlib.Path(folder) / f"{model}.onnx"
            subprocess.run([egret.PROGRAM, "zoo", model, "-o", path, "--quiet"], check=True)
            for limits, flags in LIMITS.items():
                rounds = {name: [] for name in builds}
                for _ in range(arguments.rounds):  # in turn, so that a slow minute meets all
                    for name, program in builds.items():
                        rounds[name].append(run_once(program, path, [*rules[name][limits], *flags]))
                for name, reports in rounds.items():
                    best = min(reports, key=lambda report: report["seconds"])
                    row = {column: best[column] for column in COLUMNS if column in best}
                    for column in ("seconds", "search_s", "apply_s", "rebuild_s"):
                        row[column] = f"{best[column]:.4f}"
                    table.add(model=model, limits=limits, build=name, **row)
                    print(f"  {model}, {limits} limits, {name}: {row['e_nodes']} e-nodes, {row['stop_reason']}, "
                          f"{row['seconds']} s", flush=True)
                for row in rows_before:
                    if row["model"] == model and row["limits"] == limits:
                        table.add(**row)
                ends = {(row["e_nodes"], row["e_classes"], row["stop_reason"]) for row in table.rows
                        if row["model"] == model and row["limits"] == limits}
                if len(ends) != 1:
                    raise RuntimeError(f"{model}, {limits} limits: other e-graphs: {ends}")
            path.unlink()
    table.finish()
    table.print()


if __name__ == "__main__":
    main()
