# SPDX-License-Identifier: Apache-2.0
"""Time and memory of the e-graph engine on the literature's workloads, beside egg's figures.

Each pass through the workloads is saved workload by workload (MODE.passes.csv), so a run that was interrupted goes on
where it stopped; the table is made of the fastest rounds of all passes.
"""
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

from lib import egret, results, settings

import egglog_peer

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = egret.PROGRAM.with_name("egraph_bench")
SAME = ["nodes", "classes", "iterations", "stop_reason", "ticks", "bytes_per_node"]
TIMES = ["seconds", "search_s", "apply_s", "rebuild_s"]
EGG = ["egg_seconds", "egg_bytes_per_node", "same_size_as_egg"]
PASS_COLUMNS = (["workload", "pass"] + SAME + TIMES + ["peak_bytes", "instructions"] + EGG +
                ["search_2_threads_s", "search_beside_s", "egglog_seconds"])
COLUMNS = (["workload", "nodes", "classes", "iterations", "stop_reason"] + TIMES +
           ["ticks", "instructions", "bytes_per_node", "peak_bytes", "egg_seconds", "times_egg", "egg_bytes_per_node",
            "same_size_as_egg", "egglog_seconds", "times_egglog", "search_2_threads_s", "search_2_threads_times",
            "search_beside_s", "two_processes_times"])


def command(workload, rounds, threads=1):
    return [str(PROGRAM), "--workload", workload, "--repeat", str(rounds), "--threads", str(threads), "--json"]


def run(*commands):
    """The fastest round of each of these, side by side."""
    running = [subprocess.Popen(c, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for c in commands]
    measured = []
    for process, started in zip(running, commands):
        text, errors = process.communicate()
        if process.returncode != 0:
            raise RuntimeError(f"{' '.join(started)}: exit code {process.returncode}\n{errors}")
        measured.append(json.loads(text))
    return measured


def count_instructions(workload):
    """Of the run alone, by valgrind's callgrind, for machines that count none; None where it is not installed."""
    if shutil.which("valgrind") is None:
        return None
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                           "--toggle-collect=egret::egraph::Runner::run*", *command(workload, 1)],
                          capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


def run_egglog(workload, nodes):
    """Seconds in egglog of the workloads that it can run, or None; their e-graphs must have as many nodes."""
    name, _, number = workload.partition("-")
    if name not in ("mm", "assoc"):
        return None
    shown = subprocess.run([PROGRAM, "--show", workload], capture_output=True, text=True, check=True).stdout
    rules, terms = shown.removeprefix("rules:").split("terms:")
    measured = egglog_peer.measure(rules, terms.split("\n")[1:-1], int(number) if name == "mm" else None)
    if measured is None:
        return None
    seconds, egglog_nodes = measured
    if egglog_nodes != nodes:
        raise RuntimeError(f"{workload}: egglog has {egglog_nodes} e-nodes, we have {nodes}")
    return seconds


def measure(size, workload, number):
    """One pass: the fastest of its rounds with one thread, with two, and in two processes side by side."""
    rounds = size["rounds_of_short"] if workload in size.get("short", []) else size["rounds"]
    [best] = run(command(workload, rounds))
    row = {column: best.get(column) for column in SAME + TIMES + ["peak_bytes", "instructions"] + EGG}
    if size.get("with_threads", False):
        [two] = run(command(workload, rounds, threads=2))
        if any(two[column] != best[column] for column in SAME):
            raise RuntimeError(f"{workload}: two threads gave another e-graph than one")
        row["search_2_threads_s"] = two["search_s"]
        beside = run(command(workload, rounds), command(workload, rounds))
        row["search_beside_s"] = sum(one["search_s"] for one in beside) / 2
    if number == 1:
        if row["instructions"] is None and workload not in size.get("without_instructions", []):
            row["instructions"] = count_instructions(workload)
        if workload not in size.get("without_egglog", []):
            row["egglog_seconds"] = run_egglog(workload, best["nodes"])
    if row["same_size_as_egg"] is not None:
        row["same_size_as_egg"] = int(row["same_size_as_egg"])
    return {column: "" if value is None else value for column, value in row.items()}


def summarize(passes):
    """One row of the fastest rounds; passes: the rows of one workload."""
    if any(row[column] != passes[0][column] for row in passes for column in SAME):
        raise RuntimeError(f"{passes[0]['workload']}: passes gave different e-graphs")
    row = dict(min(passes, key=lambda one: float(one["seconds"])))
    for column in ("instructions", "egglog_seconds"):
        row[column] = passes[0][column]
    seconds, search = float(row["seconds"]), float(row["search_s"])
    for column in TIMES:
        row[column] = f"{float(row[column]):.4f}"
    row["bytes_per_node"] = f"{float(row['bytes_per_node']):.1f}"
    if row["egg_seconds"]:
        row["times_egg"] = f"{float(row['egg_seconds']) / seconds:.2f}"
    if row["egglog_seconds"]:
        row["times_egglog"] = f"{float(row['egglog_seconds']) / seconds:.2f}"
        row["egglog_seconds"] = f"{float(row['egglog_seconds']):.4f}"
    for column, times, factor in (("search_2_threads_s", "search_2_threads_times", 1),
                                  ("search_beside_s", "two_processes_times", 2)):
        measured = [one for one in passes if one[column]]
        if not measured:
            continue
        row[column] = f"{min(float(one[column]) for one in measured):.4f}"
        ratios = [factor * float(one["search_s"]) / float(one[column]) for one in measured]
        row[times] = f"{statistics.median(ratios):.2f}"
    row.pop("pass")
    return row


def main():
    mode, config = settings.read(__doc__, HERE)
    size = config[mode]
    manifest = {"egret": egret.version(), "threads": 1, "passes": size["passes"], "rounds": size["rounds"],
                "rounds_of_short": size.get("rounds_of_short", size["rounds"]), "egglog": egglog_peer.version()}
    passes = results.Table("egraph-engine", f"{mode}.passes", PASS_COLUMNS, ["workload", "pass"], manifest)
    for number in range(1, size["passes"] + 1):
        for workload in size["workloads"]:
            key = {"workload": workload, "pass": number}
            if passes.has(**key):
                continue
            row = measure(size, workload, number)
            passes.add(**key, **row)
            print(f"  pass {number}, {workload}: {row['seconds']:.4f} s", flush=True)
    table = results.Table("egraph-engine", mode, COLUMNS, ["workload"], manifest)
    table.rows = []
    for workload in size["workloads"]:
        table.add(**summarize([row for row in passes.rows if row["workload"] == workload]))
    passes.finish()
    table.finish()
    table.print()
    compared = [row for row in table.rows if row["same_size_as_egg"] != ""]
    values = {row["workload"]: float(row["times_egg"]) for row in compared}
    values["least_same_size_as_egg"] = min(int(row["same_size_as_egg"]) for row in compared)
    values["most_bytes_per_node"] = max(float(row["bytes_per_node"]) for row in table.rows)
    return results.judge(HERE / "expected.json", mode, values)


if __name__ == "__main__":
    sys.exit(main())
