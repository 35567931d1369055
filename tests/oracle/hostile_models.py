#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models whose sizes, ranges and scopes are made to explode: `egret optimize` handles or refuses each
in less than a second, within 2 GiB, and names the place where it refuses.

Usage: hostile_models.py EGRET
"""

import pathlib
import resource
import subprocess
import sys
import tempfile

import oracle

import numpy
import onnx
from onnx import TensorProto, helper

LARGEST = 2**63 - 1
SMALLEST = -(2**63)
SECONDS = 1
BYTES = 2 << 30

node = helper.make_node


def tensor(name, sizes, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, sizes)


def integers(name, *values):
    return onnx.numpy_helper.from_array(numpy.array(values, dtype=numpy.int64), name)


def model(nodes, inputs, constants=(), functions=()):
    """With the output y, whose type is not known."""
    output = tensor("y", None)
    output.type.tensor_type.ClearField("shape")
    graph = helper.make_graph(nodes, "hostile", inputs, [output], list(constants))
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("f", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10, functions=list(functions))


SIZES = [node("Shape", ["x"], ["sizes"]), node("Gather", ["sizes", "zero"], ["a"]), node("Gather", ["sizes", "one"], ["b"])]
NUMBERS = [integers("zero", 0), integers("one", 1), integers("k0", 3), integers("k1", 7), integers("k2", 2)]


def of_sizes(nodes, last):
    """A tensor whose size the nodes compute from a and b, the sizes of x."""
    ends = [node("Max", [last, "one"], ["bounded"]), node("ConstantOfShape", ["bounded"], ["y"])]
    return model(SIZES + nodes + ends, [tensor("x", ["n", "m"])], NUMBERS)


def nest(operators, depth):
    nodes, current = [], "a"
    for k in range(depth):
        nodes.append(node(operators[k % len(operators)], [current, "b" if k % 2 else f"k{k % 3}"], [f"v{k}"]))
        current = f"v{k}"
    return of_sizes(nodes, current)


def fibonacci(operator, depth):
    """Each size is made of the two before: twice as long in few steps."""
    nodes, before, current = [], "a", "b"
    for k in range(depth):
        nodes.append(node(operator, [before, current], [f"v{k}"]))
        before, current = current, f"v{k}"
    return of_sizes(nodes, current)


def doubled(operator, depth):
    nodes, current = [node("Add", ["a", "b"], ["sum"])], "sum"
    for k in range(depth):
        nodes.append(node(operator, [current, current], [f"v{k}"]))
        current = f"v{k}"
    return of_sizes(nodes, current)


def joined(depth):
    """Tensors, not sizes: each is two of the one before."""
    nodes, current = [], "x"
    for k in range(depth):
        nodes.append(node("Concat", [current, current], [f"v{k}"], axis=0))
        current = f"v{k}"
    return model(nodes + [node("Relu", [current], ["y"])], [tensor("x", ["n", "m"])])


def many_symbols(count, reduction, end):
    inputs = [tensor(f"x{k}", [f"n{k}"]) for k in range(count)]
    nodes = [node("Shape", [f"x{k}"], [f"s{k}"]) for k in range(count)]
    nodes += [node("Concat", [f"s{k}" for k in range(count)], ["all"], axis=0), node(reduction, ["all"], ["size"], keepdims=1)]
    last = ["x0", "size"] if end == "Reshape" else ["size"]
    return model(nodes + [node(end, last, ["y"])], inputs)


def product_of_sums(count):
    inputs = [tensor(f"x{k}", [f"n{k}"]) for k in range(2 * count)]
    nodes = [node("Shape", [f"x{k}"], [f"s{k}"]) for k in range(2 * count)]
    nodes += [node("Add", [f"s{2 * k}", f"s{2 * k + 1}"], [f"sum{k}"]) for k in range(count)]
    current = "sum0"
    for k in range(1, count):
        nodes.append(node("Mul", [current, f"sum{k}"], [f"p{k}"]))
        current = f"p{k}"
    return model(nodes + [node("ConstantOfShape", [current], ["y"])], inputs)


def one(operator, inputs, constants):
    return model([node(operator, inputs, ["y"])], [tensor("x", ["n"])], constants)


def nested_ifs(depth):
    made = model([], [tensor("go", [], TensorProto.BOOL), tensor("x", ["n"])])
    graph = made.graph
    for level in range(depth):
        branch = graph.node.add()
        branch.CopyFrom(node("If", ["go"], ["y" if level == 0 else f"y{level}"]))
        other = branch.attribute.add(name="else_branch", type=onnx.AttributeProto.GRAPH)
        other.g.node.add().CopyFrom(node("Identity", ["x"], [f"e{level}"]))
        other.g.output.add().name = f"e{level}"
        inner = branch.attribute.add(name="then_branch", type=onnx.AttributeProto.GRAPH)
        inner.g.output.add().name = f"y{level + 1}"
        graph = inner.g
    graph.node.add().CopyFrom(node("Relu", ["x"], [f"y{depth}"]))
    return made


def as_message(number, content):
    """A field of Protocol Buffers with a message, for what the library refuses to nest."""
    def varint(value):
        text = b""
        while value > 127:
            text += bytes([value & 127 | 128])
            value >>= 7
        return text + bytes([value])
    return varint(number << 3 | 2) + varint(len(content)) + content


def deep_bytes(depth):
    """If within If, 10^5 times: the lengths alone grow with the depth."""
    content = b""
    for _ in range(depth):
        # graph.node.attribute.g, innermost first
        content = as_message(1, as_message(5, as_message(6, content)))
    return as_message(7, content)


def function(name, nodes):
    return helper.make_function("f", name, ["a"], ["b"], nodes, [helper.make_opsetid("", 21), helper.make_opsetid("f", 1)])


def call(name, source, result):
    return node(name, [source], [result], domain="f")


def functions(*bodies):
    return model([call(bodies[-1].name, "x", "y")], [tensor("x", ["n"])], (), bodies)


def external(location, dtype):
    weight = onnx.TensorProto(name="w", data_type=dtype, dims=[4], data_location=onnx.TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value=location)
    return model([node("Cast", ["w"], ["v"], to=1), node("Add", ["x", "v"], ["y"])], [tensor("x", [4])], [weight])


DOUBLING = [function("F0", [node("Relu", ["a"], ["b"])])] + [
    function(f"F{k}", [call(f"F{k - 1}", "a", "m"), call(f"F{k - 1}", "m", "b")]) for k in range(1, 40)]
CHAIN = [function("F0", [node("Relu", ["a"], ["b"])])] + [
    function(f"F{k}", [call(f"F{k - 1}", "a", "b")]) for k in range(1, 5000)]
FLOAT8 = TensorProto.FLOAT8E4M3FN

# By name: the model, and what a refusal must say; "": it may be handled or refused.
CASES = {
    "product of 64 symbols": (many_symbols(64, "ReduceProd", "ConstantOfShape"), ""),
    "reshape by 64 symbols": (many_symbols(64, "ReduceProd", "Reshape"), ""),
    "product of 32 sums": (product_of_sums(32), ""),
    "nest of div and mod": (nest(["Div", "Add", "Mod", "Mul"], 50), ""),
    "nest of min and max": (nest(["Min", "Add", "Max", "Sub"], 1000), ""),
    "nest of products": (nest(["Mul", "Add"], 1000), ""),
    **{f"fibonacci {operator}": (fibonacci(operator, 90), "") for operator in ("Add", "Mul", "Max", "Min")},
    "fibonacci Div": (fibonacci("Div", 90), "division by zero"),
    "doubled 80 times": (doubled("Add", 80), ""),
    "squared 40 times": (doubled("Mul", 40), ""),
    "joined 62 times": (joined(62), ""),
    "joined 90 times": (joined(90), ""),
    "concat of 3000 shapes": (many_symbols(3000, "ReduceSum", "ConstantOfShape"), ""),
    "tile by 2^62": (one("Tile", ["x", "r"], [integers("r", 2**62)]), ""),
    "pad by 2^62": (one("Pad", ["x", "r"], [integers("r", 2**62, 2**62)]), ""),
    "slice to the ends": (one("Slice", ["x", "r", "s", "z", "t"], [
        integers("r", LARGEST), integers("s", SMALLEST), integers("z", 0), integers("t", SMALLEST)]), ""),
    "size beyond 64 bits": (model([node("Shape", ["x"], ["s"]), node("Mul", ["s", "r"], ["t"]), node("Mul", ["t", "r"], ["u"]),
                                   node("ConstantOfShape", ["u"], ["y"])], [tensor("x", ["n"])], [integers("r", 2**62)]), ""),
    "if in if": (nested_ifs(200), "nest too deeply at byte"),
    "if in if 10^5 times": (deep_bytes(10**5), "nest too deeply at byte"),
    "function calls itself": (functions(function("F", [call("F", "a", "b")])), "function 'F' calls itself"),
    "functions call each other": (functions(function("G", [call("F", "a", "b")]), function("F", [call("G", "a", "b")])),
                                  "calls itself"),
    "functions double 40 times": (functions(*DOUBLING), "nodes after its functions are inlined"),
    "functions nest 5000 deep": (functions(*CHAIN), "node 0 (F4999)"),
    "foreign data above the folder": (external("../../etc/passwd", FLOAT8), "initializer 'w'"),
    "foreign data without a place": (external("", FLOAT8), "initializer 'w'"),
    "data above the folder": (external("../../etc/passwd", TensorProto.FLOAT), "'../../etc/passwd' lies outside"),
}

# Options on a small model, and what a refusal must say.
RANGES = {
    f"--range n=1..{LARGEST}": "",
    f"--range n={LARGEST - 1}..{LARGEST}": "'y'",
    f"--range n=1..{LARGEST + 1}": "does not fit into 64 bits",
    f"--at n={LARGEST}": "'y'",
    f"--at n={2**32},m={2**32}": "'y'",
}


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))


def failure(egret, path, wanted, options=()) -> str:
    """"" or what is wrong. A busy machine may need a second try for the time."""
    for _ in range(3):
        text = failure_of_one_run(egret, path, wanted, options)
        if not text.startswith("took"):
            break
    return text


def failure_of_one_run(egret, path, wanted, options) -> str:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [egret, "optimize", str(path), "-o", f"{path}.out", "--quick", "--quiet", "--threads", "1",
               "--cost-db", f"{path}.costs", *options]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, preexec_fn=limited)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode not in (0, 2, 3, 4, 5, 7):
        return f"exit {done.returncode}: {done.stderr[-300:]}"
    if spent > SECONDS:
        return f"took {spent:.1f} s"
    if wanted and (done.returncode == 0 or wanted not in done.stderr):
        return f"exit {done.returncode}, and no word of \"{wanted}\": {done.stderr[-300:]}"
    return "" if len(done.stderr) < 20000 else "a message of more than 20,000 bytes"


if __name__ == "__main__":
    egret = sys.argv[1]
    failures = []
    with tempfile.TemporaryDirectory(prefix="egret-hostile-") as folder:
        path = pathlib.Path(folder, "model.onnx")
        for name, (made, wanted) in CASES.items():
            path.write_bytes(made if isinstance(made, bytes) else made.SerializeToString())
            failures.append((name, failure(egret, path, wanted)))
        path.write_bytes(model([node("Relu", ["x"], ["y"])], [tensor("x", ["n", "m"])]).SerializeToString())
        for options, wanted in RANGES.items():
            failures.append((options, failure(egret, path, wanted, options.split())))
    failures = [(name, text) for name, text in failures if text]
    print("\n".join(f"{name}: {text}" for name, text in failures))
    print(f"{len(CASES) + len(RANGES)} cases, {len(failures)} failures")
    sys.exit(1 if failures else 0)
