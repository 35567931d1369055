#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators of ONNX over open sizes: two negations behind each disappear, so the operator's result has a type; the
result is right in ONNX Runtime at several sizes.

Usage: open_models.py EGRET [NAME...]
"""

import pathlib
import subprocess
import sys
import tempfile

import oracle

import numpy
import onnx
import onnx.helper
import onnxruntime
from onnx import TensorProto, helper

FLOAT, INT64, INT32, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL
SIZES = 6  # random assignments
TYPES = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32,
         "tensor(bool)": numpy.bool_}
node = helper.make_node
CASES = {}


def tensor(name, sizes, dtype=FLOAT):
    return helper.make_tensor_value_info(name, dtype, sizes)


def constant(name, numbers, dtype=numpy.int64):
    return onnx.numpy_helper.from_array(numpy.array(numbers, dtype=dtype), name)


def reals(name, *numbers):
    return constant(name, numbers, numpy.float32)


def weight(name, *shape):
    return onnx.numpy_helper.from_array(numpy.random.default_rng(len(name)).normal(0, 0.5, shape).astype(numpy.float32), name)


def body(name, nodes, inputs, outputs):
    return helper.make_graph(nodes, name, inputs, outputs)


IMAGE = tensor("x", ["n", 3, "h", "w"])
ROWS = tensor("x", ["n", "s", 8])
S = [node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "i1"], ["s"])]  # s, a number, and as a list
LIST = [node("Unsqueeze", ["s", "v0"], ["sv"])]
REAL = [node("Cast", ["s"], ["sf"], to=FLOAT)]
MEAN = [node("ReduceMean", ["x"], ["mean"], keepdims=0)]  # so that a result depends on an input's elements
NUMBERS = [constant("i0", 0), constant("i1", 1), constant("i2", 2), constant("i3", 3), constant("im", -1), constant("v0", [0]),
           constant("v1", [1]), constant("v2", [2]), constant("v4", [4]), constant("vm", [-1]), constant("end", [2**63 - 1])]


def case(name, nodes, inputs, constants=(), opset=17):
    """The nodes make r."""
    read = {value for one in nodes for value in one.input}
    known = [one for one in NUMBERS if one.name in read]
    nodes = [*nodes, node("Neg", ["r"], ["negated"]), node("Neg", ["negated"], ["y"])]
    graph = helper.make_graph(nodes, "open", inputs, [tensor("y", None)], [*known, *constants])
    opsets = [helper.make_opsetid("", opset)]
    CASES[name] = helper.make_model(graph, opset_imports=opsets, ir_version=10 if opset > 20 else 8)


def windows():
    kernel = dict(strides=[2, 2], kernel_shape=[3, 3])
    for side in ("SAME_UPPER", "SAME_LOWER"):
        case(f"conv {side}", [node("Conv", ["x", "k", "b"], ["r"], auto_pad=side, **kernel)], [IMAGE],
             [weight("k", 4, 3, 3, 3), weight("b", 4)])
        case(f"max_pool {side}", [node("MaxPool", ["x"], ["r"], auto_pad=side, **kernel)], [IMAGE])
    case("residual block", [node("Conv", ["x", "k"], ["c"], auto_pad="SAME_UPPER", **kernel),
                            node("BatchNormalization", ["c", "g", "b", "m", "v"], ["n1"]),
                            node("Conv", ["x", "k1"], ["d"], auto_pad="SAME_UPPER", strides=[2, 2], kernel_shape=[1, 1]),
                            node("Add", ["n1", "d"], ["r"])], [IMAGE],
         [weight("k", 4, 3, 3, 3), weight("k1", 4, 3, 1, 1), *(weight(one, 4) for one in "gbm"), reals("v", 1, 2, 3, 4)])
    case("max_pool ceil", [node("MaxPool", ["x"], ["r"], ceil_mode=1, pads=[1, 1, 1, 1], **kernel)], [IMAGE])
    case("max_pool ceil, small", [node("MaxPool", ["x"], ["r"], ceil_mode=1, strides=[3, 3], kernel_shape=[2, 2])], [IMAGE])
    case("avg_pool ceil", [node("AveragePool", ["x"], ["r"], ceil_mode=1, strides=[2, 2], kernel_shape=[2, 2])], [IMAGE], opset=19)
    case("conv_transpose SAME", [node("ConvTranspose", ["x", "k"], ["r"], auto_pad="SAME_UPPER", **kernel)], [IMAGE],
         [weight("k", 3, 4, 3, 3)])


def resizes():
    def resize(name, scale, **modes):
        case(name, [node("Resize", ["x", "", "k"], ["r"], **modes)], [IMAGE], [reals("k", 1, 1, scale, scale)])
    resize("resize nearest", 2, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    resize("resize linear", 1.5, mode="linear", coordinate_transformation_mode="align_corners")
    resize("resize cubic", 2, mode="cubic")
    for rule in ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"):
        resize(f"resize linear {rule}", 2.5, mode="linear", coordinate_transformation_mode=rule)
        resize(f"resize nearest {rule}", 0.5, mode="nearest", coordinate_transformation_mode=rule)
    case("upsample", [node("Upsample", ["x", "k"], ["r"])], [IMAGE], [reals("k", 1, 1, 2, 2)], opset=9)
    sides = [node("Shape", ["x"], ["shape"]), node("Slice", ["shape", "v2", "v4"], ["hw"]), node("Slice", ["shape", "v0", "v2"], ["nc"])]
    case("resize to computed reals", [*sides, node("Cast", ["hw"], ["f"], to=FLOAT), node("Mul", ["f", "k"], ["g"]),
                                      node("Floor", ["g"], ["l"]), node("Cast", ["l"], ["c"], to=INT64),
                                      node("Concat", ["nc", "c"], ["t"], axis=0), node("Resize", ["x", "", "", "t"], ["r"])],
         [IMAGE], [reals("k", 1.5, 1.5)])
    case("resize by computed scales", [*sides, node("Mul", ["hw", "v2"], ["t"]), node("Cast", ["t"], ["tf"], to=FLOAT),
                                       node("Cast", ["hw"], ["hf"], to=FLOAT), node("Div", ["tf", "hf"], ["q"]),
                                       node("Concat", ["ones", "q"], ["k"], axis=0), node("Resize", ["x", "", "k"], ["r"])],
         [IMAGE], [reals("ones", 1, 1)])
    case("resize like another", [*sides, node("Shape", ["z"], ["zs"]), node("Slice", ["zs", "v2", "v4"], ["zhw"]),
                                 node("Concat", ["nc", "zhw"], ["t"], axis=0),
                                 node("Resize", ["x", "", "", "t"], ["q"], mode="linear"), node("Add", ["q", "z"], ["r"])],
         [IMAGE, tensor("z", ["n", 3, "h2", "w2"])])


def ranges():
    used = [node("Cast", ["range"], ["f"], to=FLOAT), node("Unsqueeze", ["f", "v1"], ["u"]), node("Mul", ["x", "u"], ["r"])]
    case("range to a size", [*S, node("Range", ["i0", "s", "i1"], ["range"]), *used], [ROWS])
    case("range from a size", [*S, node("Shape", ["p"], ["ps"]), node("Gather", ["ps", "i1"], ["past"]), node("Add", ["past", "s"], ["all"]),
                               node("Range", ["past", "all", "i1"], ["range"]), *used], [ROWS, tensor("p", ["n", "past", 8])])
    case("range downwards", [*S, node("Sub", ["s", "i1"], ["last"]), node("Range", ["last", "im", "im"], ["range"]),
                             node("Gather", ["x", "range"], ["r"], axis=1)], [ROWS])
    case("range by 3", [*S, node("Range", ["i1", "s", "i3"], ["range"]), node("Cast", ["range"], ["f"], to=FLOAT),
                         *MEAN, node("Add", ["f", "mean"], ["r"])], [ROWS])
    case("range of reals", [*S, *REAL, node("Range", ["f0", "sf", "f1"], ["range"]), *used], [ROWS],
         [constant("f0", 0, numpy.float32), constant("f1", 1, numpy.float32)])
    case("range around 0", [*S, *REAL, node("Div", ["sf", "f2"], ["half"]), node("Neg", ["half"], ["from"]),
                            node("Range", ["from", "half", "f2"], ["range"]), *MEAN, node("Add", ["range", "mean"], ["r"])], [ROWS],
         [constant("f2", 2, numpy.float32)])
    case("pad to a multiple", [*S, *REAL, node("Div", ["sf", "f3"], ["q"]), node("Ceil", ["q"], ["c"]), node("Cast", ["c"], ["ci"], to=INT64),
                               node("Mul", ["ci", "i3"], ["m"]), node("Sub", ["m", "s"], ["more"]), node("Unsqueeze", ["more", "v0"], ["mv"]),
                               node("Concat", ["z4", "mv", "v0"], ["pads"], axis=0), node("Pad", ["x", "pads"], ["r"])], [ROWS],
         [constant("f3", 3, numpy.float32), constant("z4", [0] * 4)])


def parts():
    case("split in halves", [node("Split", ["x"], ["a", "b"], axis=1), node("Mul", ["a", "b"], ["r"])], [ROWS], opset=13)
    case("split, uneven", [node("Split", ["x"], ["a", "b"], axis=1, num_outputs=2), node("Concat", ["b", "a"], ["r"], axis=1)],
         [ROWS], opset=18)
    case("split by sizes", [*S, *LIST, node("Sub", ["sv", "v1"], ["rest"]), node("Concat", ["rest", "v1"], ["sizes"], axis=0),
                            node("Split", ["x", "sizes"], ["a", "b"], axis=1), node("Add", ["a", "b"], ["r"])], [ROWS], opset=13)
    case("split at half", [*S, node("Div", ["s", "i2"], ["half"]), node("Unsqueeze", ["half", "v0"], ["h"]),
                           node("Slice", ["x", "v0", "h", "v1"], ["a"]), node("Slice", ["x", "h", "end", "v1"], ["b"]),
                           node("Concat", ["b", "a"], ["r"], axis=1)], [ROWS])
    case("top_k of all", [*S, *LIST, node("TopK", ["x", "sv"], ["r", "places"], axis=1)], [ROWS])
    case("one_hot", [*S, node("OneHot", ["id", "s", "values"], ["o"]), node("MatMul", ["o", "x"], ["r"])],
         [ROWS, tensor("id", ["n", "t"], INT64)], [reals("values", 0, 1)])
    case("eye", [node("EyeLike", ["x"], ["e"]), node("Add", ["x", "e"], ["r"])], [tensor("x", ["n", "m"])])
    case("space_to_depth", [node("SpaceToDepth", ["x"], ["r"], blocksize=2)], [IMAGE])
    case("3000 parts", [node("Concat", ["x"] * 3000, ["r"], axis=1)], [tensor("x", ["n", 2])])


def vanishing():
    """Opaque nodes that rewriting removes."""
    case("difference of equals", [node("NonZero", ["x"], ["i"]), node("Cast", ["i"], ["f"], to=FLOAT),
                                  node("ReduceSum", ["f"], ["sum"], keepdims=0), node("Add", ["x", "sum"], ["a"]),
                                  node("Sub", ["a", "a"], ["z"]), node("Add", ["z", "x"], ["r"])], [tensor("x", ["n", "m"])])
    case("expand of every other", [node("Shape", ["x"], ["shape"]), node("Slice", ["x", "v0", "end", "v1", "v2"], ["h"]),
                                   node("Expand", ["h", "shape"], ["r"])], [ROWS])


def untyped():
    """Nodes whose results the model does not declare."""
    layer = [weight("w", 1, 16, 8), weight("k", 1, 16, 4)]
    sequence = tensor("x", ["s", "n", 8])
    case("lstm", [node("LSTM", ["x", "w", "k"], ["o", "h"], hidden_size=4), node("Squeeze", ["o", "v1"], ["r"])], [sequence], layer)
    case("gru with lengths", [node("GRU", ["x", "w", "k", "", "len"], ["o", "r"], hidden_size=4)],
         [sequence, tensor("len", ["n"], INT32)], [weight("w", 1, 12, 8), weight("k", 1, 12, 4)])
    case("attention", [node("Attention", ["q", "k", "v"], ["r"], is_causal=1)], [tensor(one, ["b", 2, "s", 8]) for one in "qkv"], opset=23)
    case("rotary", [node("RotaryEmbedding", ["q", "cos", "sin"], ["r"])],
         [tensor("q", ["b", 2, "s", 8]), tensor("cos", ["b", "s", 4]), tensor("sin", ["b", "s", 4])], opset=23)
    case("dft", [node("DFT", ["x"], ["r"], axis=1)], [tensor("x", ["n", 16, 1])])
    case("stft", [node("STFT", ["x", "step", "", "length"], ["r"])], [tensor("x", ["n", "len", 1])], [constant("step", 4), constant("length", 8)])
    case("window", [*S, node("HannWindow", ["s"], ["f"]), *MEAN, node("Add", ["f", "mean"], ["r"])], [ROWS])
    case("grid_sample", [node("GridSample", ["x", "g"], ["r"])], [IMAGE, tensor("g", ["n", "h2", "w2", 2])])
    case("roi_align", [node("RoiAlign", ["x", "ro", "bi"], ["r"], output_height=2, output_width=2)],
         [IMAGE, tensor("ro", ["k", 4]), tensor("bi", ["k"], INT64)])
    case("nonzero", [node("NonZero", ["x"], ["i"]), node("Transpose", ["i"], ["t"], perm=[1, 0]), node("GatherND", ["x", "t"], ["r"])],
         [tensor("x", ["n", "m"])])
    case("boxes", [node("NonMaxSuppression", ["b", "k", "most"], ["i"]), node("Slice", ["i", "v2", "end", "v1"], ["j"]),
                   node("Squeeze", ["j", "v1"], ["k1"]), node("Gather", ["z", "k1"], ["r"])],
         [tensor("b", [1, "k", 4]), tensor("k", [1, 1, "k"]), tensor("z", ["k", 4])], [constant("most", [10])])
    case("compress", [node("Compress", ["x", "c"], ["r"], axis=0)], [ROWS, tensor("c", ["n"], BOOL)])
    case("unique", [node("Unique", ["x"], ["r"])], [tensor("x", ["n"])])
    case("center_crop", [node("CenterCropPad", ["x", "v4"], ["r"], axes=[1])], [ROWS], opset=18)
    case("col2im", [node("Col2Im", ["x", "image", "block"], ["r"])], [tensor("x", ["n", 5, 5])],
         [constant("image", [5, 5]), constant("block", [1, 5])], opset=18)
    case("reshape to given sizes", [node("Reshape", ["x", "t"], ["r"])], [ROWS, tensor("t", [2], INT64)])


def bodies():
    """Control flow; its results have the types that the bodies declare."""
    loose = lambda name: tensor(name, [None, None, 8])
    turn = body("turn", [node("Identity", ["go"], ["goes"]), node("Add", ["state", "state"], ["next"]), node("Relu", ["next"], ["slice"])],
                [tensor("i", [], INT64), tensor("go", [], BOOL), loose("state")], [tensor("goes", [], BOOL), loose("next"), loose("slice")])
    case("loop", [node("Loop", ["i3", "", "x"], ["last", "r"], body=turn)], [ROWS])
    step = body("step", [node("Add", ["state", "row"], ["sum"]), node("Identity", ["sum"], ["slice"])],
                [tensor("state", [8]), tensor("row", [8])], [tensor("sum", [8]), tensor("slice", [8])])
    case("scan", [node("Scan", ["zero", "x"], ["last", "r"], body=step, num_scan_inputs=1)], [tensor("x", ["n", 8])], [reals("zero", *[0] * 8)])
    branch = lambda op: body(op, [node("NonZero", ["x"], ["i"]), node("Cast", ["i"], ["f"], to=FLOAT), node(op, ["f"], [op])], [],
                             [tensor(op, [3, None])])
    case("if", [*S, node("Greater", ["s", "i3"], ["c"]), node("If", ["c"], ["r"], then_branch=branch("Relu"), else_branch=branch("Abs"))], [ROWS])


def inputs_of(session, random):
    """Random ones at random sizes; indices are 0, so that they are in range, and lengths 1."""
    sizes, feed = {}, {}
    for value in session.get_inputs():
        shape = [one if isinstance(one, int) else sizes.setdefault(one, int(random.integers(1, 20))) for one in value.shape]
        if value.name == "t" and shape == [2]:
            feed[value.name] = numpy.array([-1, 4], numpy.int64)
        elif value.type == "tensor(float)":
            feed[value.name] = random.normal(0, 1, shape).astype(numpy.float32)
        elif value.type == "tensor(bool)":
            feed[value.name] = random.integers(0, 2, shape).astype(numpy.bool_)
        else:
            feed[value.name] = numpy.full(shape, value.name == "len", TYPES[value.type])
    return feed


def opened(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def fault(egret, name, folder):
    """What is wrong, or an empty string."""
    source, target = folder / "model.onnx", folder / "result.onnx"
    onnx.save(CASES[name], source)
    target.unlink(missing_ok=True)
    done = subprocess.run([egret, "optimize", source, "--quick", "--cost-db", folder / "costs", "-o", target],
                          capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        return f"exit code {done.returncode}: {done.stderr.strip()[-200:]}"
    result = onnx.load(target)
    if not oracle.is_valid(result):
        return "the result is no valid model"
    left = sum(one.op_type == "Neg" for one in result.graph.node) - sum(one.op_type == "Neg" for one in CASES[name].graph.node) + 2
    if left > 0:
        return f"{left} negations are left: {[one.op_type for one in result.graph.node]}"
    before, after = opened(source), opened(target)
    random, ran = numpy.random.default_rng(1), 0
    for _ in range(20 * SIZES):
        feed = inputs_of(before, random)
        try:
            expected = before.run(None, feed)
        except Exception:  # sizes that the model does not take
            continue
        got = after.run(None, feed)
        if not all(map(oracle.agree, expected, got)):
            return f"another result for {[value.shape for value in feed.values()]}"
        ran += 1
        if ran == SIZES:
            return ""
    return f"only {ran} assignments of sizes are valid"


def main():
    for group in (windows, resizes, ranges, parts, vanishing, untyped, bodies):
        group()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="egret-open-") as folder:
        for name in sys.argv[2:] or CASES:
            wrong = fault(sys.argv[1], name, pathlib.Path(folder))
            failed += wrong != ""
            print(f"{name}: {wrong or 'ok'}", flush=True)
    print(f"{len(CASES)} models, {failed} wrong")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
