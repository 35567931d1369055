# SPDX-License-Identifier: Apache-2.0
"""A Llama in the form of Megatron-LM's ranks: the sequential model, and the model that each of the ranks runs.

Weights are inputs, so the files have no data and any size is possible. The hidden states of the tokens are an input,
too: ranks look up tokens in tables that are cut by rows with masks that differ from rank to rank, which is no law.
"""
import onnx
from onnx import TensorProto, helper


class Writer:
    def __init__(self):
        self.nodes = []
        self.inputs = []
        self.constants = []
        self.types = []

    def input(self, name, shape):
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def integers(self, name, values):
        self.constants.append(helper.make_tensor(name, TensorProto.INT64, [len(values)], values))
        return name

    def number(self, name, value):
        self.constants.append(helper.make_tensor(name, TensorProto.FLOAT, [], [value]))
        return name

    def __call__(self, operator, inputs, output, domain="", **attributes):
        self.nodes.append(helper.make_node(operator, inputs, [output], domain=domain, **attributes))
        return output

    def model(self, output, shape):
        outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)]
        graph = helper.make_graph(self.nodes, "llama", self.inputs, outputs, self.constants)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("egret", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def norm(w, x, weight, name, hidden):
    square = w("Mul", [x, x], name + ".square")
    mean = w("ReduceMean", [square], name + ".mean", axes=[-1], keepdims=1)
    root = w("Sqrt", [w("Add", [mean, "epsilon"], name + ".shifted")], name + ".root")
    return w("Mul", [w("Div", [x, root], name + ".normed"), w.input(weight, [hidden])], name)


def rotated(w, x, name):
    """The first half of each head's elements is turned against the second one."""
    half = name + ".half"
    w.nodes.append(helper.make_node("Split", [x], [half + "0", half + "1"], axis=-1))
    turned = w("Concat", [w("Neg", [half + "1"], name + ".negative"), half + "0"], name + ".turned", axis=-1)
    return w("Add", [w("Mul", [x, "cosines"], name + ".cosine"), w("Mul", [turned, "sines"], name + ".sine")], name)


def llama(layers, hidden, heads, kv_heads, ffn, tokens, ranks=1, vocabulary=0, batch=1):
    """The model of one rank of `ranks`; of 1: the sequential model."""
    w = Writer()
    size = hidden // heads
    own, own_kv, own_ffn = heads // ranks, kv_heads // ranks, ffn // ranks
    repeat = heads // kv_heads
    x = w.input("x", [batch, tokens, hidden])
    w.input("cosines", [tokens, size])
    w.input("sines", [tokens, size])
    w.input("mask", [tokens, tokens])
    w.number("epsilon", 1e-5)
    w.number("scale", size ** -0.5)
    w.integers("query_shape", [batch, tokens, own, size])
    w.integers("key_shape", [batch, tokens, own_kv, size])
    w.integers("group_shape", [batch, own_kv, repeat, tokens, size])
    w.integers("repeated_shape", [batch, own, tokens, size])
    w.integers("joined_shape", [batch, tokens, own * size])
    w.integers("group_axis", [2])

    def summed(value, name):
        if ranks == 1:
            return value
        return w("AllReduce", [value], name, domain="egret", mesh_axis="tp", group_size=ranks, reduction="sum")

    def split(value, weight, columns, shape, name):
        product = w("MatMul", [value, w.input(weight, [hidden, columns])], name + ".product")
        return w("Transpose", [w("Reshape", [product, shape], name + ".shaped")], name, perm=[0, 2, 1, 3])

    def repeated(value, name):
        """Each head of keys or values serves several heads of queries."""
        if repeat == 1:
            return value
        wide = w("Expand", [w("Unsqueeze", [value, "group_axis"], name + ".grouped"), "group_shape"], name + ".wide")
        return w("Reshape", [wide, "repeated_shape"], name)

    for i in range(layers):
        p = f"layer{i}."
        h = norm(w, x, p + "norm1", p + "h1", hidden)
        q = rotated(w, split(h, p + "wq", own * size, "query_shape", p + "q"), p + "q.rotated")
        k = rotated(w, split(h, p + "wk", own_kv * size, "key_shape", p + "k"), p + "k.rotated")
        v = split(h, p + "wv", own_kv * size, "key_shape", p + "v")
        k, v = repeated(k, p + "k.repeated"), repeated(v, p + "v.repeated")
        across = w("Transpose", [k], p + "k.across", perm=[0, 1, 3, 2])
        scores = w("Mul", [w("MatMul", [q, across], p + "scores"), "scale"], p + "scaled")
        weights = w("Softmax", [w("Add", [scores, "mask"], p + "masked")], p + "weights", axis=-1)
        mixed = w("Transpose", [w("MatMul", [weights, v], p + "mixed")], p + "mixed.back", perm=[0, 2, 1, 3])
        joined = w("Reshape", [mixed, "joined_shape"], p + "joined")
        out = w("MatMul", [joined, w.input(p + "wo", [own * size, hidden])], p + "attended")
        x = w("Add", [x, summed(out, p + "attended.sum")], p + "x1")
        h = norm(w, x, p + "norm2", p + "h2", hidden)
        gate = w("MatMul", [h, w.input(p + "gate", [hidden, own_ffn])], p + "gated")
        silu = w("Mul", [gate, w("Sigmoid", [gate], p + "sigmoid")], p + "silu")
        up = w("MatMul", [h, w.input(p + "up", [hidden, own_ffn])], p + "upped")
        down = w("MatMul", [w("Mul", [silu, up], p + "product"), w.input(p + "down", [own_ffn, hidden])], p + "downed")
        x = w("Add", [x, summed(down, p + "downed.sum")], p + "x2")
    x = norm(w, x, "norm", "last", hidden)
    if vocabulary:
        head = w.input("head", [hidden, vocabulary // ranks])
        x = w("MatMul", [x, head], "logits" if ranks == 1 else "own_logits")
        if ranks > 1:
            x = w("AllGather", [x], "logits", domain="egret", mesh_axis="tp", group_size=ranks, axis=2)
    return w.model(x, [batch, tokens, vocabulary or hidden])


SIZES = {
    "llama-small": dict(layers=2, hidden=64, heads=8, kv_heads=4, ffn=128, tokens=16, vocabulary=96),
    "llama-7b": dict(layers=32, hidden=4096, heads=32, kv_heads=32, ffn=11008, tokens=4096, vocabulary=32000),
    "llama-70b": dict(layers=80, hidden=8192, heads=64, kv_heads=8, ffn=28672, tokens=8192, vocabulary=128256),
    "llama-405b": dict(layers=126, hidden=16384, heads=128, kv_heads=8, ffn=53248, tokens=8192, vocabulary=128256),
}


def write(name, ranks, folder):
    """The files of the sequential model and of one rank's."""
    files = folder / f"{name}.onnx", folder / f"{name}-tp{ranks}.onnx"
    onnx.save(llama(**SIZES[name]), files[0])
    onnx.save(llama(**SIZES[name], ranks=ranks), files[1])
    return files
