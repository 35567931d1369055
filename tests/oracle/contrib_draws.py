# SPDX-License-Identifier: Apache-2.0
"""Random nodes of the operators of com.microsoft that ONNX Runtime's optimizer makes and Egret imports, as in
node_draws.py. Importing this adds them to its builders."""

import node_draws
import numpy
import onnx
from node_draws import BUILDERS, Refused

DOMAIN = "com.microsoft"


def builds(*names):
    return node_draws.builds(*(f"{DOMAIN}.{name}" for name in names))


def made(d, op, inputs, attributes, outputs=1):
    node = d.made(op.removeprefix(DOMAIN + "."), inputs, attributes, outputs)
    node.domain = DOMAIN
    return node


def reals(d):
    """Most of these operators exist for f32 alone on a CPU."""
    return numpy.float32 if d.chance(0.85) else d.pick(numpy.float64, numpy.float16)


def in_f32(node):
    """The inputs of a drawn node as they are drawn, in f32."""
    arrays = [array.astype(numpy.float32) if name else None for name, array, _ in node.inputs]
    return [(array,) if fixed else array for array, (_, _, fixed) in zip(arrays, node.inputs)]


# By the operator's ONNX name: its numbers, in order.
CONV_ACTIVATIONS = {"Relu": (), "Tanh": (), "Sigmoid": (), "LeakyRelu": ("alpha",), "Clip": ("min", "max"),
                    "HardSigmoid": ("alpha", "beta")}
GEMM_ACTIVATIONS = {"Relu": (), "Tanh": (), "Sigmoid": (), "LeakyRelu": ("alpha",), "HardSigmoid": ("alpha", "beta"),
                    "Elu": ("alpha",), "Selu": ("alpha", "gamma"), "Softplus": (), "Softsign": (),
                    "ThresholdedRelu": ("alpha",)}


def number(d, name):
    if name in ("min", "max"):
        return d.rng.uniform(-2, 0) if name == "min" else d.rng.uniform(0.5, 6)
    return d.rng.uniform(0.05, 1.5)


@builds("FusedConv")
def fused_conv(d, op):
    conv = BUILDERS["Conv"](d, "Conv")
    inputs = in_f32(conv)
    attributes = dict(conv.attributes)
    if activation := d.maybe(d.pick(*CONV_ACTIVATIONS), 0.9):
        attributes["activation"] = activation
        if numbers := [number(d, name) for name in CONV_ACTIVATIONS[activation]]:
            attributes["activation_params"] = numbers
    if d.chance(0.4):  # a summand of the size of the result
        conv.inputs = [(name, array.astype(numpy.float32) if name else None, fixed) for name, array, fixed in conv.inputs]
        shaped = onnx.shape_inference.infer_shapes(node_draws.model_of([conv], [[(1, None)]]))
        shape = tuple(size.dim_value for size in shaped.graph.output[0].type.tensor_type.shape.dim)
        inputs += [None] * (3 - len(inputs)) + [d.fixed(d.values(numpy.float32, shape))]
    return made(d, op, inputs, attributes)


@builds("FusedGemm")
def fused_gemm(d, op):
    if d.opset < 11:
        raise Refused
    gemm = BUILDERS["Gemm"](d, "Gemm")
    inputs = in_f32(gemm)
    attributes = dict(gemm.attributes)
    if activation := d.maybe(d.pick(*GEMM_ACTIVATIONS), 0.9):
        attributes["activation"] = activation
        for name in GEMM_ACTIVATIONS[activation]:
            attributes["activation_" + name] = number(d, name)
    return made(d, op, inputs, attributes)


@builds("FusedMatMul", "TransposeMatMul")
def fused_mat_mul(d, op):
    rank, k, dtype = d.rank(1, 4), d.size(), numpy.float32
    lead = d.shape(max(rank - 2, 0))
    sides = []
    for letter in "AB":
        sizes = (d.size(), k) if letter == "A" else (k, d.size())
        if rank == 1:
            sizes, attributes = (k,), {}
        else:
            attributes = {"trans" + letter: 1} if d.chance(0.4) else d.pick({}, {"trans" + letter: 0})
            if attributes.get("trans" + letter):
                sizes = sizes[::-1]
            sizes = tuple(1 if d.chance(0.2) else size for size in lead) + sizes
            if rank >= 3 and d.chance(0.3):  # the rows come first, before the axes of the batch
                sizes = (sizes[-2], *sizes[:-2], sizes[-1])
                attributes["transBatch" + letter] = 1
        sides.append((sizes, attributes))
    attributes = sides[0][1] | sides[1][1]
    if "FusedMatMul" in op and d.chance():
        attributes["alpha"] = round(d.rng.uniform(-2, 2), 3)
    if "TransposeMatMul" in op:  # its schema is an older one
        attributes = {name: value for name, value in attributes.items() if "Batch" not in name}
    return made(d, op, [d.values(dtype, sides[0][0]), d.fixed(d.values(dtype, sides[1][0]), 0.5)], attributes)


@builds("Gelu")
def gelu(d, op):
    return made(d, op, [d.values(numpy.float32, d.shape(d.rank()))], {})


@builds("BiasGelu", "FastGelu")
def biased_gelu(d, op):
    shape = d.shape(d.rank(1))
    bias = d.fixed(d.values(numpy.float32, shape[-1:]), 0.6)
    return made(d, op, [d.values(numpy.float32, shape), bias if "Bias" in op else d.maybe(bias)], {})


@builds("QuickGelu")
def quick_gelu(d, op):
    alpha = d.maybe(d.pick(1.0, round(d.rng.uniform(-2, 2), 3)), 0.7)
    return made(d, op, [d.values(numpy.float32, d.shape(d.rank()))], {} if alpha is None else {"alpha": alpha})


@builds("SkipLayerNormalization", "SkipSimplifiedLayerNormalization")
def skip_norm(d, op):
    shape, dtype = d.shape(3), reals(d)
    skip = d.pick(shape, shape, (1,) + shape[1:], shape[1:])
    vector = lambda: d.fixed(d.values(dtype, shape[-1:]), 0.6)
    inputs = [d.values(dtype, shape), d.values(dtype, skip), vector()]
    if "Simplified" not in op:
        inputs.append(d.maybe(vector()))
    inputs.append(d.maybe(vector(), 0.4))
    outputs = ["o0"] if d.chance() else ["o0", "", "", "o3"]
    return made(d, op, inputs, {"epsilon": d.pick(1e-5, 1e-3, 0.1)}, outputs)


@builds("EmbedLayerNormalization")
def embedding(d, op):
    batch, length, width, words = d.size(), d.size(), d.size(), d.pick(5, 9)
    table = lambda rows: d.fixed(d.values(numpy.float32, (rows, width)), 0.8)
    vector = lambda: d.fixed(d.values(numpy.float32, (width,)), 0.8)
    ids = lambda rows: d.np.integers(0, rows, (batch, length)).astype(numpy.int32)
    segments, rows = d.chance(), length + d.pick(0, 2)
    inputs = [ids(words), ids(2) if segments else None, table(words), table(rows), table(2) if segments else None,
              vector(), vector(), d.maybe(ids(2), 0.4), d.maybe(ids(rows), 0.3)]
    outputs = ["o0", "mask_index"] + (["sum"] if d.chance(0.3) else [])
    return made(d, op, inputs, {"epsilon": d.pick(1e-5, 1e-3, 0.1)}, outputs)
