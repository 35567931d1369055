# SPDX-License-Identifier: Apache-2.0
"""Small models to be planned on several devices, written as ONNX files, and what their plans must send."""
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


class Model:
    """Nodes and random weights of one graph."""

    def __init__(self, name):
        self.name = name
        self.random = numpy.random.default_rng(7)
        self.nodes, self.weights, self.inputs = [], [], []

    def input(self, name, shape, kind=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def weight(self, name, *shape):
        value = self.random.standard_normal(shape, dtype=numpy.float32) / numpy.sqrt(shape[0])
        self.weights.append(numpy_helper.from_array(value.astype(numpy.float32), name))
        return name

    def constant(self, name, value):
        self.weights.append(numpy_helper.from_array(numpy.array(value), name))
        return name

    def apply(self, op, inputs, **attributes):
        output = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def linear(self, x, name, rows, columns):
        product = self.apply("MatMul", [x, self.weight(f"{name}.w", rows, columns)])
        return self.apply("Add", [product, self.weight(f"{name}.b", columns)])

    def save(self, folder, output, shape):
        self.nodes.append(helper.make_node("Identity", [output], ["y"]))
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, self.name, self.inputs, [y], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(model, str(folder / f"{self.name}.onnx"))


def mlp(folder, batch=8, width=256, hidden=1024):
    m = Model("mlp")
    h = m.apply("Relu", [m.linear(m.input("x", [batch, width]), "up", width, hidden)])
    m.save(folder, m.linear(h, "down", hidden, width), [batch, width])


def attend(m, x, batch, sequence, width, heads):
    """Multi-head attention over x [batch * sequence, width]."""
    size = width // heads

    def split(name, perm):
        y = m.linear(x, name, width, width)
        shape = m.constant(f"{name}.shape", numpy.int64([batch, sequence, heads, size]))
        return m.apply("Transpose", [m.apply("Reshape", [y, shape])], perm=perm)

    scores = m.apply("MatMul", [split("q", [0, 2, 1, 3]), split("k", [0, 2, 3, 1])])
    scale = m.constant("scale", numpy.float32(size**-0.5))
    weights = m.apply("Softmax", [m.apply("Mul", [scores, scale])], axis=-1)
    mixed = m.apply("MatMul", [weights, split("v", [0, 2, 1, 3])])
    rows = m.apply("Transpose", [mixed], perm=[0, 2, 1, 3])
    flat = m.constant("flat", numpy.int64([batch * sequence, width]))
    return m.linear(m.apply("Reshape", [rows, flat]), "out", width, width)


def attention(folder, batch=1, sequence=16, width=256, heads=8):
    m = Model("attention")
    x = m.input("x", [batch * sequence, width])
    m.save(folder, attend(m, x, batch, sequence, width, heads), [batch * sequence, width])


def transformer(folder, batch=1, sequence=16, width=256, heads=8):
    m = Model("transformer")
    x = m.input("x", [batch * sequence, width])

    def norm(y, name):
        ones = m.constant(f"{name}.scale", numpy.ones(width, numpy.float32))
        zeros = m.constant(f"{name}.bias", numpy.zeros(width, numpy.float32))
        return m.apply("LayerNormalization", [y, ones, zeros], axis=-1)

    a = m.apply("Add", [x, attend(m, norm(x, "n1"), batch, sequence, width, heads)])
    h = m.apply("Relu", [m.linear(norm(a, "n2"), "up", width, 4 * width)])
    y = m.apply("Add", [a, m.linear(h, "down", 4 * width, width)])
    m.save(folder, y, [batch * sequence, width])


def vocabulary(folder, rows=3, width=16, words=65536):
    """A softmax over many words and the mixture of their embeddings; the rows cannot be cut evenly."""
    m = Model("vocabulary")
    logits = m.apply("MatMul", [m.input("x", [rows, width]), m.weight("w", width, words)])
    p = m.apply("Softmax", [logits], axis=-1)
    m.save(folder, m.apply("MatMul", [p, m.weight("e", words, width)]), [rows, width])


def deep(folder, layers=6, batch=1024, width=256):
    """Many rows: worth cutting, and the weights worth gathering."""
    m = Model("deep")
    x = m.input("x", [batch, width])
    for i in range(layers):
        x = m.apply("Relu", [m.linear(x, f"layer{i}", width, width)])
    m.save(folder, x, [batch, width])


def image(folder, channels=8, size=64):
    """A residual block of two 3x3 convolutions over one image, large for its few channels."""
    m = Model("image")
    x = m.input("x", [1, channels, size, size])

    def conv(y, name):
        return m.apply("Conv", [y, m.weight(name, channels, channels, 3, 3)], pads=[1, 1, 1, 1])

    y = m.apply("Relu", [m.apply("Add", [conv(m.apply("Relu", [conv(x, "w1")]), "w2"), x])])
    m.save(folder, y, [1, channels, size, size])


def reduced(elements):
    """What each of p ranks sends to add up so many floats, or to scatter and gather them."""
    return lambda p: 2 * (p - 1) / p * 4 * elements


# Bytes that each of p ranks sends: one all-reduce of the output of each pair of matrices that are cut by
# columns and rows; for the vocabulary of the largest logit and the sum of each row besides. Of the image
# a row from either side between the convolutions, and the output is gathered.
SENT = {"mlp": reduced(8 * 256), "attention": reduced(16 * 256), "transformer": reduced(2 * 16 * 256),
        "vocabulary": reduced(3 + 3 + 3 * 16),
        "image": lambda p: 4 * 8 * 64 * min(p - 1, 2) + (p - 1) / p * 4 * 8 * 64 * 64}
# An image arrives in blocks, each with the rows next to it.
FLAGS = {"image": ["--sharded-inputs"]}
WRITE = {"mlp": mlp, "attention": attention, "transformer": transformer, "vocabulary": vocabulary, "deep": deep,
         "image": image}
