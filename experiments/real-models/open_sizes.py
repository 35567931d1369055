# SPDX-License-Identifier: Apache-2.0
"""Symbolic against bound optimization of the models with open sizes in config.toml.

Usage: .venv/bin/python experiments/real-models/open_sizes.py [CSV]

Each model is optimized with its sizes open, and with all of them fixed to the first ones of config.toml. A row has the
nodes of the original and of both results, and the seconds that the cost model predicts for the results at these sizes.
The open result is compared with the original in ONNX Runtime at ten random assignments of sizes, within the ranges that
config.toml spans; sizes that are always equal there stay equal. Assignments that the original refuses are drawn again.
`own_error` is the difference of the original from itself, with and without ONNX Runtime's optimizations, at the same
sizes: where activations are quantized at run time, the last bit of a number may decide over a quantum. A model that
differs from itself at least as much as its result does is "sensitive". The script fails if another result differs, or refuses a size that the original takes. Nothing is
measured, so that a busy machine does not change the table.
"""
import csv
import math
import pathlib
import sys
import tempfile
import tomllib

import numpy
import onnx

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from lib import deployed, egret  # noqa: E402
import run  # noqa: E402

COLUMNS = ("model", "symbols", "nodes", "open_nodes", "bound_nodes", "open_ms", "bound_ms", "undecided", "assumed",
           "checked", "largest_error", "own_error", "only_open", "mode", "verdict")
ASSIGNMENTS = 10
MOST_DRAWS = 200
MISMATCH = 6  # the exit code


def drawn_sizes(sizes, random):
    """Multiples of what divides all sizes of a symbol, between the least and the largest; symbols with the same values
    everywhere share one."""
    by_values = {}
    for symbol in sizes[0]:
        by_values.setdefault(tuple(one[symbol] for one in sizes), []).append(symbol)
    drawn = {}
    for values, symbols in by_values.items():
        step = math.gcd(*values)
        number = step * int(random.integers(min(values) // step, max(values) // step, endpoint=True))
        drawn.update(dict.fromkeys(symbols, number))
    return drawn


def named_as_egret_does(path, sizes):
    """Dimensions that are called "?" have the names that Egret gives to those without a name."""
    named = {name: size for name, size in sizes.items() if name != "?"}
    graph = onnx.load(path, load_external_data=False).graph
    for value in graph.input:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.dim_param == "?" and "?" in sizes:
                named[f"{value.name}_{axis}"] = sizes["?"]
    return named


def kinds(path):
    counts = {}
    for node in onnx.load(path, load_external_data=False).graph.node:
        counts[node.op_type] = counts.get(node.op_type, 0) + 1
    return counts


def compared(path, opened, model):
    """How many assignments were compared, and the largest errors of the result and of the original itself."""
    before, same = deployed.session(path, "ORT_DISABLE_ALL"), deployed.session(path, "ORT_ENABLE_ALL")
    after = deployed.session(opened, "ORT_DISABLE_ALL")
    random = numpy.random.default_rng(47)
    agree, worst, own, draws = 0, 0.0, 0.0, 0
    while agree < ASSIGNMENTS and draws < MOST_DRAWS:
        draws += 1
        sizes = drawn_sizes(model["sizes"], random)
        feed = deployed.inputs_of(before, sizes, model.get("draw", {}), draws)
        try:
            expected = before.run(None, feed)
        except Exception:  # the original has no meaning at these sizes
            continue
        worst = max(worst, deployed.error_between(expected, after.run(None, feed)))
        own = max(own, deployed.error_between(expected, same.run(None, feed)))
        agree += 1
    return agree, worst, own


def row_of(model, path, folder):
    """With --quick where the check refuses the result."""
    try:
        return {**compared_with_bound(model, path, folder, ("--no-measure", "--cost", "roofline")), "mode": "full"}
    except egret.EgretError as error:
        if error.code != MISMATCH:
            raise
    return {**compared_with_bound(model, path, folder, ("--quick",)), "mode": "quick"}


def compared_with_bound(model, path, folder, how):
    opened, bound = folder / "open.onnx", folder / "bound.onnx"
    ranges = [flag for name, (low, high) in model.get("draw", {}).items() for flag in ("--input-range", f"{name}={low}..{high}")]
    common = (*how, "--threads", 1, *ranges)
    at = named_as_egret_does(path, model["sizes"][0])
    profile = ",".join(f"{name}={size}" for name, size in at.items())
    answer = egret.call("optimize", path, "-o", opened, *common, "--at", profile)
    fixed = [flag for name, size in at.items() for flag in ("--bind", f"{name}={size}")]
    gained = egret.call("optimize", path, "-o", bound, *common, *fixed)
    agree, worst, own = compared(path, opened, model)
    first, second = kinds(opened), kinds(bound)
    more = {kind: count - second.get(kind, 0) for kind, count in first.items() if count > second.get(kind, 0)}
    only_open = " ".join(f"{kind}:{count}" for kind, count in sorted(more.items(), key=lambda item: -item[1])[:6])
    tolerance = 1e-3
    is_right = agree == ASSIGNMENTS and worst <= tolerance
    is_sensitive = agree == ASSIGNMENTS and worst <= own
    verdict = "ok" if is_right else "sensitive" if is_sensitive else "differs"
    return {"symbols": len(at), "nodes": deployed.node_count(path), "open_nodes": sum(first.values()),
            "bound_nodes": sum(second.values()), "open_ms": f"{1e3 * answer['predicted_after_s']:.3f}",
            "bound_ms": f"{1e3 * gained['predicted_after_s']:.3f}", "undecided": answer.get("rules_undecided", 0),
            "assumed": len(answer.get("sizes_assumed", [])), "checked": agree, "largest_error": f"{worst:.1e}",
            "own_error": f"{own:.1e}", "only_open": only_open, "verdict": verdict}


def main():
    rows = []
    for model in tomllib.loads((HERE / "config.toml").read_text())["model"]:
        if not model["sizes"][0]:
            continue
        name = run.name_of(model)
        try:
            path = run.file_of(model)
        except StopIteration:  # what an earlier run left of a failed download
            path = None
        if path is None:
            print(f"{name}: the package cannot be downloaded; left out")
            continue
        with tempfile.TemporaryDirectory(prefix="egret-open-") as folder:
            try:
                row = row_of(model, path, pathlib.Path(folder))
            except Exception as error:  # the message is the row's
                row = {"verdict": str(error)[-300:].replace("\n", " ")}
        rows.append({"model": name, **row})
        print("  ".join(f"{column}={rows[-1].get(column, '')}" for column in COLUMNS), flush=True)
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent / "results" / "real-models" / "open_sizes.csv"
    with open(target, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    sys.exit(any(row["verdict"] not in ("ok", "sensitive") for row in rows))


if __name__ == "__main__":
    main()
