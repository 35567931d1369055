# SPDX-License-Identifier: Apache-2.0
"""What a user's Python program does, in a process of its own; prints its times as JSON.

    in_python.py optimize MODEL OUTPUT OPTIONS     optimize() and save()
    in_python.py extract MODEL NODES               an extractor in NumPy, on an e-graph with a limit of nodes
"""
import json
import sys
import time

start = time.perf_counter()
import egret  # noqa: E402

IMPORT_S = time.perf_counter() - start


def optimize(model, output, options):
    begin = time.perf_counter()
    cpu = time.process_time()
    result = egret.optimize(model, **json.loads(options))
    result.save(output)
    return {"python_s": time.perf_counter() - begin, "python_cpu_s": time.process_time() - cpu,
            "operators": result.operators_after}


def extract(model, limit):
    import numpy as np  # the time to import it is no part of the answer

    seen = {}

    @egret.extractor
    def cheapest_terms(egraph, costs):
        """Of each class the node whose term costs least; repeated until nothing changes."""
        begin = time.perf_counter()
        best = np.full(len(egraph.class_begin) - 1, np.inf)
        choice = np.full(len(best), -1)
        parents = np.repeat(np.arange(len(costs)), np.diff(egraph.child_begin))
        while True:
            totals = costs + np.bincount(parents, best[egraph.children], len(costs))
            cheapest = np.lexsort((totals, egraph.node_class))[egraph.class_begin[:-1]]
            better = totals[cheapest] < best
            if not better.any():
                seen.update(nodes=len(costs), python_s=time.perf_counter() - begin)
                return choice
            choice[better] = cheapest[better]
            best[better] = totals[cheapest][better]

    egret.optimize(model, extractor=cheapest_terms, rules="all", cost="roofline", no_measure=True, no_check=True,
                   limit_nodes=int(limit), limit_iterations=1000, limit_time=300)
    return seen


if __name__ == "__main__":
    answer = {"optimize": optimize, "extract": extract}[sys.argv[1]](*sys.argv[2:])
    print(json.dumps({"import_s": IMPORT_S, **answer}))
