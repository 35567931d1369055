# SPDX-License-Identifier: Apache-2.0
"""Predicted times and bytes of other people's clusters, beside what they measured."""
import dataclasses
import pathlib
import statistics
import sys

import clusters
import errors
import estimates
import measured_layers
from lib import egret, results, settings

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["data", "model", "cases", "mape", "median", "worst", "bias", "pairs", "ordered", "regret", "worst_regret"]
STEPS = {"vtrain-one-node": clusters.vtrain_one_node, "vtrain-nodes": clusters.vtrain_nodes,
         "megatron": clusters.megatron_times, "sailor": lambda: clusters.sailor("step_s"), "mlperf": clusters.mlperf}


def add(table, data, model, cases, predicted):
    table.add(data=data, model=model, **errors.summary(cases, predicted))


def steps(table, data, cases):
    documents = estimates.of_cases(cases)
    add(table, data, "egret", cases, [d["seconds"] for d in documents])
    add(table, data, "constant efficiency", cases, estimates.constant_efficiency(cases, documents))
    add(table, data, "alpha-beta", cases, estimates.alpha_beta(cases, documents))


def from_layers(table):
    """With times of layers from measured steps of other groups."""
    cases = clusters.vtrain_one_node()
    add(table, "vtrain-one-node", "measured layers", cases, measured_layers.predicted_by_other_half(cases))


def from_graphs(table):
    """With the kernels of graphs instead of lists, beside the same simulation with lists."""
    for data, make in dict(STEPS, experts=clusters.experts).items():
        cases = make()
        for model, flags in (("simulated", []), ("graphs", ["--from-graphs"])):
            if (data, model) == ("experts", "simulated"):
                continue  # the row of egret itself
            add(table, data, model, cases, [d["seconds"] for d in estimates.simulated(cases, *flags)])


def experts(table):
    cases = clusters.experts()
    documents = estimates.simulated(cases)
    add(table, "experts", "egret", cases, [d["seconds"] for d in documents])
    add(table, "experts", "constant efficiency", cases, estimates.constant_efficiency(cases, documents))


def memory(table):
    cases = clusters.megatron_memory()
    whole = [clusters.Case(c.machine, dict(c.line, recompute="none", **{"sequence-parallel": False}), 0, "")
             for c in cases]
    parts = zip(estimates.of_cases(cases), estimates.of_cases(whole))
    add(table, "megatron-memory", "egret", cases, [100 * a["layer_bytes"] / b["layer_bytes"] for a, b in parts])
    cases = [dataclasses.replace(c, group=str(i))
             for i, c in enumerate(clusters.sailor("max_memory_bytes"))]
    add(table, "sailor-memory", "egret", cases, [d["memory_bytes"] for d in estimates.of_cases(cases)])


def allreduce(table, name):
    """Even places were fitted to; odd ones are reported. The simpler models are fitted to every eighth of the former."""
    cases = clusters.allreduce(name)
    held = cases[1::2]
    add(table, f"allreduce-{name}", "egret", held, [d["seconds"] for d in estimates.of_cases(held)])
    inside = estimates.LINKS[held[0].machine][0]
    parts = [(2 * (c.line["size"] - 1) / c.line["size"] * c.line["bytes"] / inside, c.line["size"]) for c in cases]

    def times(e, latency, places):
        return [parts[i][0] / e + latency * 2 * (parts[i][1] - 1) for i in places]

    def error(choice):
        return statistics.mean(abs(t / c.measured - 1)
                               for t, c in zip(times(*choice, range(0, len(cases), 16)), cases[::16]))

    for model, latencies in (("constant efficiency", [0]), ("alpha-beta", [i * 1e-6 for i in range(1, 20)])):
        best = min(((e / 50, latency) for e in range(5, 50) for latency in latencies), key=error)
        add(table, f"allreduce-{name}", model, held, times(*best, range(1, len(cases), 2)))


def measured(rows):
    values = {}
    for row in rows:
        if row["model"] in ("constant efficiency", "alpha-beta"):
            continue
        name = row["data"] if row["model"] == "egret" else f"{row['data']}.{row['model']}"
        for column in ("mape", "median", "worst", "ordered", "regret"):
            if row[column]:
                values[f"{name}.{column}"] = float(row[column])
    return values


def main():
    mode, _ = settings.read(__doc__, HERE)
    if not clusters.VTRAIN.exists() or not clusters.OTHERS.exists():
        print(f"skipped: {clusters.VTRAIN} and {clusters.OTHERS} are needed; EGRET_SHARED names another folder")
        return 0
    table = results.Table("cluster-validation", mode, COLUMNS, ["data", "model"], {"egret": egret.version()},
                          of_host=False)
    table.rows = []
    for data, cases in STEPS.items():
        steps(table, data, cases())
    from_layers(table)
    from_graphs(table)
    experts(table)
    memory(table)
    for name in clusters.NODES:
        allreduce(table, name)
    table.finish()
    table.print()
    return results.judge(HERE / "expected.json", mode, measured(table.rows))


if __name__ == "__main__":
    sys.exit(main())
