# SPDX-License-Identifier: Apache-2.0
"""Times by step_estimates, and by the two simpler models that it is compared with."""
import collections
import json
import statistics
import subprocess

from lib import egret

PROGRAM = egret.ROOT / "build" / "release" / "bin" / "step_estimates"
# Bytes per second of a device, by data sheets, inside of a node and between nodes; devices of a node.
LINKS = {"a100-4hdr": (3e11, 1.25e10, 8), "dgx-a100": (3e11, 2.5e10, 8), "dgx-h100": (4.5e11, 5e10, 8),
         "dgx-b200": (9e11, 5e10, 8), "gb200-nvl72": (9e11, 5e10, 72), "gh200-sailor": (4.5e11, 2.5e10, 4),
         "p3-16xlarge-8": (1.5e11, 3.9e8, 8)}
LATENCY_S = 1e-5


def price(machine, lines):
    """The documents of all lines on a machine: a preset or a file."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    done = subprocess.run([PROGRAM, str(machine)], input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return [json.loads(line) for line in done.stdout.splitlines()]


def of_cases(cases):
    """The documents of the cases, in their order."""
    by_machine = collections.defaultdict(list)
    for i, case in enumerate(cases):
        by_machine[case.machine].append(i)
    found = [None] * len(cases)
    for machine, places in by_machine.items():
        for i, document in zip(places, price(machine, [cases[i].line for i in places])):
            found[i] = document
    return found


def simulated(cases, *more):
    """The documents of `egret simulate`, which knows more of a step than step_estimates."""
    found = []
    for case in cases:
        flags = [f"--{key}={str(value).lower() if isinstance(value, bool) else value}"
                 for key, value in case.line.items() if value not in ("", False)]
        found.append(egret.call("simulate", "--system", case.machine, *[f.removesuffix("=true") for f in flags],
                                *more))
    return found


def micro_batches(line):
    return line["global-batch"] / line.get("dp", 1) / line["micro-batch"]


def operations_s(case, document):
    """Seconds of the products at the device's peak rate, with the bubble of a pipeline of equal stages."""
    line = case.line
    again = 4 / 3 if line.get("recompute") == "full" else 1
    bubble = 1 + (line.get("pp", 1) - 1) / micro_batches(line) / line.get("vpp", 1)
    return document["mfu"] * document["seconds"] * again * bubble


def ring_s(rate, size, size_bytes, rounds):
    return rounds * (size - 1) * (LATENCY_S + size_bytes / size / rate) if size > 1 else 0


def exchanges_s(case, document):
    """The latency and bandwidth of rings that nothing hides, for tensor and data parallelism."""
    line = case.line
    inside, between, node = LINKS[case.machine]
    tp, pp, dp = (line.get(key, 1) for key in ("tp", "pp", "dp"))
    dp *= line.get("cp", 1)
    tokens_bytes = 2 * line["micro-batch"] * line["sequence-length"] * line["hidden"] / line.get("cp", 1)
    times = (6 if line.get("recompute") == "full" else 4) * line["model-layers"] / pp * micro_batches(line)
    tensor = times * ring_s(inside if tp <= node else between * node, tp, tokens_bytes, 2)
    tokens = line["global-batch"] * line["sequence-length"]
    parameters = 0 if line.get("frozen") else document["model_flops"] / 6 / tokens / tp / pp
    data = ring_s(inside if tp * dp <= node else between, dp, line.get("gradient-bytes", 4) * parameters, 2)
    return tensor + data


def fitted(parts, measured):
    """Times parts[0] / e + parts[1] with the e of the least mean error on these rows."""
    def times(e):
        return [operations / e + others for operations, others in parts]

    def error(e):
        return statistics.mean(abs(t / m - 1) for t, m in zip(times(e), measured))

    return times(min((i / 1000 for i in range(20, 1200, 2)), key=error))


def constant_efficiency(cases, documents):
    return fitted([(operations_s(c, d), 0) for c, d in zip(cases, documents)], [c.measured for c in cases])


def alpha_beta(cases, documents):
    return fitted([(operations_s(c, d), exchanges_s(c, d)) for c, d in zip(cases, documents)],
                  [c.measured for c in cases])
