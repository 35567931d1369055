# SPDX-License-Identifier: Apache-2.0
"""Time and memory of the e-graph engine on the literature's workloads, beside egg's figures."""
import json
import pathlib
import subprocess
import sys

from lib import egret, results, settings

import egglog_peer

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = egret.PROGRAM.with_name("egraph_bench")
COLUMNS = ["workload", "nodes", "classes", "iterations", "stop_reason", "seconds", "search_s", "apply_s",
           "rebuild_s", "ticks", "instructions", "bytes_per_node", "peak_bytes", "egg_seconds", "times_egg",
           "egg_bytes_per_node", "same_size_as_egg", "egglog_seconds", "times_egglog", "search_2_threads_s",
           "search_2_threads_times"]
SAME = ["nodes", "classes", "iterations", "stop_reason", "ticks", "bytes_per_node"]


def run(workload, rounds, threads=1):
    command = [PROGRAM, "--workload", workload, "--repeat", str(rounds), "--threads", str(threads), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"egraph_bench --workload {workload}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


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


def better(new, old):
    return new if old is None or new["seconds"] < old["seconds"] else old


def to_row(best, best_of_two, egglog_seconds):
    row = {column: best.get(column) for column in COLUMNS}
    for column in ("seconds", "search_s", "apply_s", "rebuild_s"):
        row[column] = f"{best[column]:.4f}"
    row["bytes_per_node"] = f"{best['bytes_per_node']:.1f}"
    if "egg_seconds" in best:
        row["times_egg"] = f"{best['egg_seconds'] / best['seconds']:.2f}"
        row["same_size_as_egg"] = int(best["same_size_as_egg"])
    if best_of_two:
        if any(best_of_two[column] != best[column] for column in SAME):
            raise RuntimeError(f"{best['workload']}: two threads gave another e-graph than one")
        row["search_2_threads_s"] = f"{best_of_two['search_s']:.4f}"
        row["search_2_threads_times"] = f"{best['search_s'] / best_of_two['search_s']:.2f}"
    if egglog_seconds is not None:
        row["egglog_seconds"] = f"{egglog_seconds:.4f}"
        row["times_egglog"] = f"{egglog_seconds / best['seconds']:.2f}"
    return {column: "" if value is None else value for column, value in row.items()}


def measure(size):
    """The rows, of the fastest rounds of all passes."""
    best, best_of_two, egglog_seconds = {}, {}, {}
    for number in range(size["passes"]):
        for workload in size["workloads"]:
            rounds = size["rounds_of_short"] if workload in size.get("short", []) else size["rounds"]
            best[workload] = better(run(workload, rounds), best.get(workload))
            if size.get("with_threads", False):
                best_of_two[workload] = better(run(workload, rounds, threads=2), best_of_two.get(workload))
            if number == 0 and workload not in size.get("without_egglog", []):
                egglog_seconds[workload] = run_egglog(workload, best[workload]["nodes"])
            print(f"  pass {number + 1}, {workload}: {best[workload]['seconds']:.4f} s", flush=True)
    return [to_row(best[name], best_of_two.get(name), egglog_seconds.get(name)) for name in size["workloads"]]


def main():
    mode, config = settings.read(__doc__, HERE)
    size = config[mode]
    table = results.Table("egraph-engine", mode, COLUMNS, ["workload"],
                          {"egret": egret.version(), "threads": 1, "passes": size["passes"],
                           "rounds": size["rounds"], "rounds_of_short": size.get("rounds_of_short", size["rounds"]),
                           "egglog": egglog_peer.version()})
    for row in measure(size):
        table.add(**row)
    table.finish()
    table.print()
    compared = [row for row in table.rows if row["same_size_as_egg"] != ""]
    values = {row["workload"]: float(row["times_egg"]) for row in compared}
    values["least_same_size_as_egg"] = min(int(row["same_size_as_egg"]) for row in compared)
    values["most_bytes_per_node"] = max(float(row["bytes_per_node"]) for row in table.rows)
    return results.judge(HERE / "expected.json", mode, values)


if __name__ == "__main__":
    sys.exit(main())
