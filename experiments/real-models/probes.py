# SPDX-License-Identifier: Apache-2.0
"""Small models after public issues of onnxsim, OnnxSlim and ONNX Runtime, each through all three programs.

Usage: .venv/bin/python experiments/real-models/probes.py EGRET [CSV]

A row has the nodes before and after, and the seconds of each program. It fails if Egret refuses the model, writes more
nodes than the better of the others whose result is right, or computes something else in ONNX Runtime.
"""
import csv
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

PEERS = ("onnxsim", "onnxslim")
COLUMNS = ("model", "nodes", "egret", "onnxsim", "onnxslim", "egret_s", "onnxsim_s", "onnxslim_s", "verdict")
FLOAT, HALF, INT64, BOOL = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT64, TensorProto.BOOL
node = helper.make_node


def value(name, sizes, dtype=FLOAT):
    return helper.make_tensor_value_info(name, dtype, sizes)


def weight(name, *shape, dtype=numpy.float32):
    drawn = numpy.random.default_rng(len(name) + sum(shape)).normal(0, 0.5, shape)
    return numpy_helper.from_array(drawn.astype(dtype), name)


def constant(name, numbers, dtype=numpy.int64):
    return numpy_helper.from_array(numpy.array(numbers, dtype=dtype), name)


def model(nodes, inputs, outputs, constants=(), opset=17, functions=(), domains=(), ir_version=8):
    graph = helper.make_graph(nodes, "probe", inputs, outputs, list(constants))
    opsets = [helper.make_opsetid("", opset)] + [helper.make_opsetid(name, 1) for name in domains]
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir_version, functions=list(functions))


def custom_operator():
    return model([node("Relu", ["x"], ["a"]), node("Relu", ["a"], ["b"]), node("Mystery", ["b"], ["c"], domain="org.example"),
                  node("Identity", ["c"], ["d"]), node("Relu", ["d"], ["y"])],
                 [value("x", ["n", 8])], [value("y", ["n", 8])], domains=["org.example"])


def loop():
    body = helper.make_graph(
        [node("Identity", ["go"], ["goes"]), node("Add", ["state", "scaled"], ["next"])], "body",
        [value("i", [], INT64), value("go", [], BOOL), value("state", ["n", 8])], [value("goes", [], BOOL), value("next", ["n", 8])])
    return model([node("Mul", ["x", "two"], ["p"]), node("Div", ["p", "two"], ["q"]), node("Mul", ["q", "two"], ["scaled"]),
                  node("Loop", ["trips", "", "x"], ["y"], body=body)],
                 [value("x", ["n", 8])], [value("y", ["n", 8])], [constant("two", 2, numpy.float32), constant("trips", 3)])


def nonzero():
    return model([node("Transpose", ["x"], ["t"], perm=[1, 0]), node("Transpose", ["t"], ["u"], perm=[1, 0]),
                  node("NonZero", ["u"], ["i"]), node("Transpose", ["i"], ["y"], perm=[1, 0])],
                 [value("x", ["n", 8])], [value("y", ["count", 2], INT64)])


def attention():
    return model([node("Identity", ["q"], ["r"]), node("Attention", ["r", "k", "v"], ["a"]), node("Neg", ["a"], ["b"]),
                  node("Neg", ["b"], ["y"])],
                 [value(name, ["batch", 2, "seq", 8]) for name in "qkv"], [value("y", ["batch", 2, "seq", 8])], opset=23, ir_version=10)


def constant_condition():
    branch = lambda op: helper.make_graph([node(op, ["x"], [op])], op, [], [value(op, ["n", 4])])
    return model([node("If", ["go"], ["a"], then_branch=branch("Relu"), else_branch=branch("Neg")), node("Relu", ["a"], ["y"])],
                 [value("x", ["n", 4])], [value("y", ["n", 4])], [constant("go", True, bool)])


def opset_6():
    return model([node("Conv", ["x", "w"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
                  node("Add", ["c", "b"], ["d"], broadcast=1, axis=1), node("Dropout", ["d"], ["e"], is_test=1),
                  node("Relu", ["e"], ["y"])],
                 [value("x", [1, 3, 8, 8]), value("w", [4, 3, 3, 3]), value("b", [4])], [value("y", [1, 4, 8, 8])],
                 [weight("w", 4, 3, 3, 3), weight("b", 4)], opset=6, ir_version=3)


def products():
    return model([node("MatMul", ["x", "v"], ["a"]), node("Add", ["a", "b"], ["c"]), node("MatMul", ["c", "w"], ["y"])],
                 [value("x", ["batch", 16])], [value("y", ["batch", 16])], [weight("v", 16, 16), weight("b", 16), weight("w", 16, 16)])


def slices():
    cut = lambda source, to, first, last: node("Slice", [source, first, last, "axis"], [to])
    return model([cut("x", "a", "one", "end"), cut("a", "b", "one", "end"), cut("b", "y", "zero", "four")],
                 [value("x", ["batch", "seq", 8])], [value("y", ["batch", "seq", 4])],
                 [constant("zero", [0]), constant("one", [1]), constant("four", [4]), constant("end", [2**63 - 1]), constant("axis", [2])])


def half():
    return model([node("Cast", ["x"], ["a"], to=HALF), node("MatMul", ["a", "w"], ["b"]), node("Cast", ["b"], ["c"], to=FLOAT),
                  node("Cast", ["c"], ["d"], to=HALF), node("Add", ["d", "e"], ["f"]), node("Cast", ["f"], ["y"], to=FLOAT)],
                 [value("x", ["n", 8])], [value("y", ["n", 4])], [weight("w", 8, 4, dtype=numpy.float16), weight("e", 4, dtype=numpy.float16)])


def quantized():
    scale = [constant("s", 0.05, numpy.float32), constant("z", 0, numpy.int8), constant("t", 0.01, numpy.float32)]
    weights = numpy_helper.from_array(numpy.random.default_rng(1).integers(-100, 100, (4, 3, 3, 3)).astype(numpy.int8), "w")
    return model([node("QuantizeLinear", ["x", "s", "z"], ["a"]), node("DequantizeLinear", ["a", "s", "z"], ["b"]),
                  node("DequantizeLinear", ["w", "t", "z"], ["v"]), node("Conv", ["b", "v"], ["c"], pads=[1, 1, 1, 1]),
                  node("Relu", ["c"], ["d"]), node("QuantizeLinear", ["d", "s", "z"], ["e"]),
                  node("DequantizeLinear", ["e", "s", "z"], ["f"]), node("Identity", ["f"], ["y"])],
                 [value("x", ["n", 3, 8, 8])], [value("y", ["n", 4, 8, 8])], [*scale, weights], opset=13)


def functions():
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    inner = helper.make_function("local", "Twice", ["a"], ["b"], [node("Relu", ["a"], ["m"]), node("Relu", ["m"], ["b"])], opsets)
    outer = helper.make_function("local", "Block", ["a"], ["b"], [node("Twice", ["a"], ["m"], domain="local"),
                                                                  node("Identity", ["m"], ["b"])], opsets)
    return model([node("Block", ["x"], ["a"], domain="local"), node("Block", ["a"], ["y"], domain="local")],
                 [value("x", ["n", 4])], [value("y", ["n", 4])], functions=[inner, outer], domains=["local"])


def scan():
    body = helper.make_graph([node("Add", ["state", "item"], ["sum"]), node("Identity", ["sum"], ["out"])], "body",
                             [value("state", [4]), value("item", [4])], [value("sum", [4]), value("out", [4])])
    return model([node("Identity", ["x"], ["a"]), node("Scan", ["zero", "a"], ["last", "all"], body=body, num_scan_inputs=1),
                  node("Relu", ["all"], ["b"]), node("Relu", ["b"], ["y"])],
                 [value("x", ["n", 4])], [value("y", ["n", 4])], [constant("zero", [0] * 4, numpy.float32)])


def sequences():
    return model([node("SequenceConstruct", ["x", "x"], ["many"]), node("SequenceAt", ["many", "one"], ["a"]),
                  node("Relu", ["a"], ["b"]), node("Relu", ["b"], ["y"])],
                 [value("x", ["n", 4])], [value("y", ["n", 4])], [constant("one", 1)])


def computed_resize():
    return model([node("Shape", ["x"], ["s"]), node("Gather", ["s", "two"], ["h"]), node("Gather", ["s", "three"], ["w"]),
                  node("Mul", ["h", "factor"], ["h2"]), node("Mul", ["w", "factor"], ["w2"]),
                  node("Unsqueeze", ["h2", "first"], ["h3"]), node("Unsqueeze", ["w2", "first"], ["w3"]),
                  node("Concat", ["h3", "w3"], ["tail"], axis=0), node("Shape", ["x"], ["r"]),
                  node("Slice", ["r", "first", "second", "first"], ["head"]), node("Concat", ["head", "tail"], ["sizes"], axis=0),
                  node("Resize", ["x", "", "", "sizes"], ["y"], mode="nearest", coordinate_transformation_mode="asymmetric",
                       nearest_mode="floor")],
                 [value("x", ["n", 3, "h", "w"])], [value("y", ["n", 3, "rows", "columns"])],
                 [constant("two", 2), constant("three", 3), constant("factor", 2), constant("first", [0]), constant("second", [2])])


def external_data():
    return model([node("MatMul", ["x", "w"], ["a"]), node("Add", ["a", "b"], ["c"]), node("Identity", ["c"], ["y"])],
                 [value("x", ["n", 64])], [value("y", ["n", 64])], [weight("w", 64, 64), weight("b", 64)])


PROBES = {"custom operator": custom_operator, "Loop": loop, "NonZero": nonzero, "Attention-23": attention,
          "If of a constant": constant_condition, "opset 6": opset_6, "open batch, two products": products,
          "Slice of Slice": slices, "f16": half, "QDQ": quantized, "local functions": functions, "Scan": scan,
          "sequences": sequences, "Resize to computed sizes": computed_resize, "external data": external_data}


def count(path):
    """Nodes, those of bodies included; a constant is none."""
    def within(graph):
        total = 0
        for each in graph.node:
            total += each.op_type != "Constant"
            total += sum(within(attribute.g) for attribute in each.attribute if attribute.HasField("g"))
        return total
    loaded = onnx.load(path, load_external_data=False)
    return within(loaded.graph) + sum(len(function.node) for function in loaded.functions)


def outputs_of(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    drawn = numpy.random.default_rng(0)
    feed = {one.name: drawn.normal(0, 1, [size if isinstance(size, int) else 5 for size in one.shape]).astype(numpy.float32)
            for one in session.get_inputs()}
    return session.run(None, feed)


def is_right(path, expected):
    if expected is None:
        return True  # ONNX Runtime does not take the original
    try:
        got = outputs_of(path)
    except Exception:
        return False
    return all(a.shape == b.shape and numpy.allclose(a, b, rtol=1e-3, atol=1e-4, equal_nan=True) for a, b in zip(expected, got))


def timed(command, target):
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    taken = time.perf_counter() - start
    return taken if done.returncode in (0, 5) and target.exists() else None


def row_of(egret, name, folder):
    source = pathlib.Path(folder, "model.onnx")
    outside = {"save_as_external_data": True, "location": "model.bin", "size_threshold": 0} if name == "external data" else {}
    onnx.save(PROBES[name](), source, **outside)
    try:
        expected = outputs_of(source)
    except Exception:
        expected = None
    commands = {"egret": [egret, "optimize", source, "--quick", "--quiet", "--cost-db", f"{folder}/costs", "-o"]}
    commands |= {peer: [sys.executable, "-m", peer, source] for peer in PEERS if importlib.util.find_spec(peer)}
    row = {"model": name, "nodes": count(source), "verdict": "ok"}
    best = None
    for program, command in commands.items():
        target = pathlib.Path(folder, program + ".onnx")
        taken = timed([*map(str, command), str(target)], target)
        right = taken is not None and is_right(target, expected)
        row[program] = count(target) if right else "refused" if taken is None else "wrong"
        row[program + "_s"] = f"{taken:.2f}" if taken is not None else ""
        if program != "egret" and right:
            best = min(best or row[program], row[program])
    if not isinstance(row["egret"], int):
        row["verdict"] = row["egret"]
    elif best is not None and row["egret"] > best:
        row["verdict"] = f"{row['egret'] - best} more nodes"
    return row


def main():
    rows = []
    for name in PROBES:
        with tempfile.TemporaryDirectory(prefix="egret-probe-") as folder:
            rows.append(row_of(sys.argv[1], name, folder))
            print("  ".join(str(rows[-1].get(column, "")).ljust(25 if column == "model" else 8) for column in COLUMNS), flush=True)
    for peer in PEERS:
        if importlib.util.find_spec(peer) is None:
            print(f"{peer} is not installed: scripts/setup.sh --peers")
    if len(sys.argv) > 2:
        with open(sys.argv[2], "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    sys.exit(any(row["verdict"] != "ok" for row in rows))


if __name__ == "__main__":
    main()
