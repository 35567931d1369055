#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Single nodes of all operators that the importer knows, drawn by node_draws.py, against ONNX Runtime: Egret's
interpreter and CPU backend compute what it computes, and `optimize --quick` changes nothing of it.

Usage: operator_matrix.py [--count N] [--first SEED] [--operators A,B] [--jobs N] [--keep FOLDER] [--refused]

A seed stands for one node of each operator. Nodes that ONNX Runtime does not take are drawn again. 60 of the others
at a time go through `optimize` as one model. --refused lists what Egret does not import. The package egret must be
in PYTHONPATH.
"""

import argparse
import collections
import concurrent.futures
import pathlib
import random
import sys

import oracle  # first: it finds the Python that has the packages

import node_draws
import contrib_draws  # noqa: F401, adds builders

numpy, onnx, onnxruntime = oracle.numpy, oracle.onnx, oracle.onnxruntime
try:
    import egret
except ImportError as error:
    oracle.skip(f"{error} (the package egret is not built)")

OPSETS = (7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23)
OPERATORS = sorted(node_draws.BUILDERS)
TOGETHER = 60
TRIES = 12
# Rounded to integers on the way: a tie may fall to either side.
STEPS = {"QuantizeLinear", "QLinearConv", "QLinearMatMul", "DynamicQuantizeLinear"}


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    data = model if isinstance(model, bytes) else model.SerializeToString()
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def types_of(arrays):
    return [(onnx.helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for a in arrays]


class Case:
    """A node, what ONNX Runtime computes of it, and where it came from."""

    def __init__(self, node, expected, seed):
        self.node, self.expected, self.seed = node, expected, seed

    def model(self):
        return node_draws.model_of([self.node], [types_of(self.expected)])

    def name(self):
        return f"{self.node.name()}:{self.seed}"


def draw(op, seed):
    """The first node of this seed that ONNX Runtime takes; None: there is none."""
    for attempt in range(TRIES):
        rng = random.Random(f"{op} {seed} {attempt}")
        draws = node_draws.Draw(rng.randrange(1 << 30), rng.choice(OPSETS))
        node = draws.node(op)
        if node is None:
            continue
        try:
            names = [f"n0_{name}" for name in node.named()]
            session = session_of(node_draws.model_of([node], [None]))
            arrays = session.run(names, node.feeds("n0_"))
        except Exception:
            continue
        if all(isinstance(a, numpy.ndarray) for a in arrays):
            return Case(node, arrays, seed)
    return None


def agree(a, b) -> bool:
    """As oracle.agree(), with a bound for f16 that is relative to the largest element: sums are in f16 there."""
    if a.dtype == numpy.float16 and a.shape == b.shape and a.dtype == b.dtype:
        wide = a.astype(numpy.float64)
        finite = numpy.abs(wide[numpy.isfinite(wide)])
        return bool(numpy.allclose(wide, b.astype(numpy.float64), rtol=2e-2, equal_nan=True,
                                   atol=5e-3 * max(1.0, float(finite.max(initial=0)))))
    return oracle.agree(a, b)


def differing(case, got) -> list:
    """Names of outputs that differ."""
    wrong = []
    for name, a, b in zip(case.node.named(), case.expected, got):
        if case.node.op_type in STEPS and a.dtype.kind in "iu" and a.shape == b.shape and a.dtype == b.dtype:
            if numpy.abs(a.astype(int) - b.astype(int)).max(initial=0) <= 1:
                continue
        if not agree(a, b):
            wrong.append(name)
    return wrong


def example(case, got) -> str:
    for name, a, b in zip(case.node.named(), case.expected, got):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{name}: {b.dtype}{list(b.shape)} instead of {a.dtype}{list(a.shape)}"
        if not agree(a, b):
            with numpy.errstate(all="ignore"):
                gap = numpy.nan_to_num(numpy.abs(a.astype(float) - b.astype(float)), nan=numpy.inf)
            place = numpy.unravel_index(gap.argmax() if gap.max(initial=0) > 0 else 0, a.shape)
            return f"{name}{[int(i) for i in place]}: {b[place]} instead of {a[place]}"
    return ""


def computed(case, backend):
    """"ok", "refused: ...", "differs: ..."."""
    try:
        results = egret.Session(case.model().SerializeToString(), backend=backend, threads=1).run(case.node.feeds("n0_"))
    except egret.Error as error:
        return f"refused: {error}"
    got = [numpy.asarray(results[f"n0_{name}"]) for name in case.node.named()]
    return "differs: " + example(case, got) if differing(case, got) else "ok"


def optimized(cases) -> list:
    """The same by case, of `optimize` of all of them side by side."""
    nodes, types = [c.node for c in cases], [types_of(c.expected) for c in cases]
    feeds = {}
    for i, case in enumerate(cases):
        feeds.update(case.node.feeds(f"n{i}_"))
    try:
        result = egret.optimize(node_draws.model_of(nodes, types).SerializeToString(), quick=True, oracle="none",
                                threads=1)
        session = session_of(result.model.SerializeToString())
        known = {value.name for value in session.get_inputs()}
        names = [f"n{i}_{name}" for i, node in enumerate(nodes) for name in node.named()]
        arrays = dict(zip(names, session.run(names, {k: v for k, v in feeds.items() if k in known})))
    except Exception as error:
        if len(cases) == 1:
            return [f"refused: {error}"]
        middle = len(cases) // 2
        return optimized(cases[:middle]) + optimized(cases[middle:])
    verdicts = []
    for i, case in enumerate(cases):
        got = [arrays[f"n{i}_{name}"] for name in case.node.named()]
        verdicts.append("differs: " + example(case, got) if differing(case, got) else "ok")
    return verdicts


def examine(work) -> list:
    """(operator, seed, text, way, verdict) of all cases of some seeds."""
    operators, seeds = work
    cases = [case for seed in seeds for op in operators if (case := draw(op, seed))]
    found = []
    for way, backend in (("interpreted", "reference"), ("on the CPU", "cpu")):
        found += [(case, way, computed(case, backend)) for case in cases]
    by_opset = collections.defaultdict(list)
    for case in cases:
        by_opset[case.node.opset].append(case)
    for group in by_opset.values():
        for i in range(0, len(group), TOGETHER):
            part = group[i : i + TOGETHER]
            found += [(case, "optimized", verdict) for case, verdict in zip(part, optimized(part))]
    return [(case.node.name(), case.seed, case.node.text(), way, verdict) for case, way, verdict in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=3, help="seeds")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--operators", type=lambda text: text.split(","), default=OPERATORS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", help="folder for the models that differ")
    parser.add_argument("--refused", action="store_true")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.count)
    step = max(1, min(8, options.count // options.jobs))
    work = [(options.operators, seeds[i : i + step]) for i in range(0, len(seeds), step)]
    models, refused, failures, known = collections.Counter(), collections.Counter(), [], collections.Counter()
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        for rows in pool.map(examine, work):
            for op, seed, text, way, verdict in rows:
                models[op] += way == "interpreted"
                if verdict.startswith("refused") and way != "optimized":
                    refused[op, verdict] += 1
                elif verdict != "ok" and (reason := explained(op, text, verdict)):
                    known[reason] += 1
                elif verdict != "ok":
                    failures.append((op, seed))
                    print(f"{op}:{seed} {way}: {verdict}\n    {text}", flush=True)
    for op, seed in sorted(set(failures)) if options.keep else []:
        pathlib.Path(options.keep).mkdir(parents=True, exist_ok=True)
        onnx.save(draw(op, seed).model(), pathlib.Path(options.keep, f"{op}_{seed}.onnx"))
    if options.refused:
        for (op, verdict), count in sorted(refused.items()):
            print(f"{count} {op}: {verdict}")
    for reason, count in known.items():
        print(f"explained: {count} of {reason}")
    absent = [op for op in options.operators if not models[op]]
    print(f"{models.total()} models of {len(+models)} operators; none of {absent or 'no operator'}; "
          f"{sum(refused.values()) // 2} not imported; {len(set(failures))} differ")
    sys.exit(1 if failures or not models else 0)


# Differences that stay; docs/engines.md has them.
KNOWN = [
    ({"Slice"}, lambda text, _: "147483647" in text or "2147483648" in text,
     "Slice backward to INT_MAX: ONNX clamps it, ONNX Runtime goes on to the first element"),
    ({"MeanVarianceNormalization"}, lambda _, verdict: "instead of nan" in verdict,
     "MeanVarianceNormalization of equal elements: rounding decides whether the root is of a negative number"),
    ({"MaxPool", "AveragePool", "LpPool"}, lambda text, _: "SAME" in text and "dilations" in text,
     "pools with SAME padding and dilations: ONNX Runtime pads as if there were none"),
    ({"ConvTranspose"}, lambda text, _: "SAME" in text,
     "ConvTranspose with SAME padding that would be negative: ONNX Runtime's output is smaller"),
    ({"Resize"}, lambda text, _: "align_corners" in text,
     "Resize with align_corners and scales that give no whole size: ONNX takes the product for the new length, ONNX "
     "Runtime the size"),
    ({"InstanceNormalization", "GroupNormalization", "LayerNormalization", "BatchNormalization"},
     lambda text, _: "(float16" in text,
     "normalizations of f16 with few elements: ONNX Runtime computes the variance in f16"),
    ({"Sign"}, lambda _, verdict: "nan instead of 0.0" in verdict, "Sign of NaN: ONNX Runtime gives 0"),
]


def explained(op, text, verdict):
    return next((reason for operators, test, reason in KNOWN if op in operators and test(text, verdict)), None)


if __name__ == "__main__":
    main()
