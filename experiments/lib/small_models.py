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


def attend(m, x, batch, sequence, width, heads, layer=""):
    """Multi-head attention over x [batch * sequence, width]."""
    size = width // heads

    def split(name, perm):
        y = m.linear(x, layer + name, width, width)
        shape = m.constant(f"{layer}{name}.shape", numpy.int64([batch, sequence, heads, size]))
        return m.apply("Transpose", [m.apply("Reshape", [y, shape])], perm=perm)

    scores = m.apply("MatMul", [split("q", [0, 2, 1, 3]), split("k", [0, 2, 3, 1])])
    scale = m.constant(f"{layer}scale", numpy.float32(size**-0.5))
    weights = m.apply("Softmax", [m.apply("Mul", [scores, scale])], axis=-1)
    mixed = m.apply("MatMul", [weights, split("v", [0, 2, 1, 3])])
    rows = m.apply("Transpose", [mixed], perm=[0, 2, 1, 3])
    flat = m.constant(f"{layer}flat", numpy.int64([batch * sequence, width]))
    return m.linear(m.apply("Reshape", [rows, flat]), layer + "out", width, width)


def attention(folder, batch=1, sequence=16, width=256, heads=8):
    m = Model("attention")
    x = m.input("x", [batch * sequence, width])
    m.save(folder, attend(m, x, batch, sequence, width, heads), [batch * sequence, width])


def late_attention(folder, batch=1, sequence=512, width=32, heads=8):
    """Layers of single tokens before the attention, which make it worth cutting the sequence."""
    m = Model("late_attention")
    x = m.input("x", [batch * sequence, width])
    h = m.apply("Relu", [m.linear(x, "up", width, 8 * width)])
    y = m.linear(h, "down", 8 * width, width)
    m.save(folder, attend(m, y, batch, sequence, width, heads), [batch * sequence, width])


def transformer_layer(m, x, batch, sequence, width, heads, layer=""):
    def norm(y, name):
        ones = m.constant(f"{layer}{name}.scale", numpy.ones(width, numpy.float32))
        zeros = m.constant(f"{layer}{name}.bias", numpy.zeros(width, numpy.float32))
        return m.apply("LayerNormalization", [y, ones, zeros], axis=-1)

    a = m.apply("Add", [x, attend(m, norm(x, "n1"), batch, sequence, width, heads, layer)])
    h = m.apply("Relu", [m.linear(norm(a, "n2"), f"{layer}up", width, 4 * width)])
    return m.apply("Add", [a, m.linear(h, f"{layer}down", 4 * width, width)])


def transformer(folder, batch=1, sequence=16, width=256, heads=8):
    m = Model("transformer")
    x = m.input("x", [batch * sequence, width])
    m.save(folder, transformer_layer(m, x, batch, sequence, width, heads), [batch * sequence, width])


def layers(folder, count, batch=1, sequence=16, width=64, heads=8):
    """So many equal transformer layers."""
    m = Model(f"layers{count}")
    x = m.input("x", [batch * sequence, width])
    for i in range(count):
        x = transformer_layer(m, x, batch, sequence, width, heads, f"{i}.")
    m.save(folder, x, [batch * sequence, width])


def vocabulary(folder, rows=3, width=16, words=65536):
    """A softmax over many words and the mixture of their embeddings; the rows cannot be cut evenly."""
    m = Model("vocabulary")
    logits = m.apply("MatMul", [m.input("x", [rows, width]), m.weight("w", width, words)])
    p = m.apply("Softmax", [logits], axis=-1)
    m.save(folder, m.apply("MatMul", [p, m.weight("e", words, width)]), [rows, width])


def towers(folder, batch=8, width=256, hidden=512, layers=2):
    """Unity's MLP at a quarter of its widths: two towers over one input, added, and a softmax."""
    m = Model("towers")
    x = m.input("x", [batch, width])
    ends = []
    for t in range(2):
        y = x
        for k in range(layers):
            y = m.apply("Relu", [m.apply("MatMul", [y, m.weight(f"tower{t}.{k}", hidden if k else width, hidden)])])
        ends.append(y)
    m.save(folder, m.apply("Softmax", [m.apply("Add", ends)], axis=-1), [batch, hidden])


def cache(folder, length=4096, queries=1, heads=8, size=32):
    """One token's attention over so many keys and values of earlier ones, which are inputs."""
    m = Model("cache")
    q = m.input("q", [1, heads, queries, size])
    keys, values = (m.input(name, [1, heads, length, size]) for name in ("keys", "values"))
    scores = m.apply("MatMul", [q, m.apply("Transpose", [keys], perm=[0, 1, 3, 2])])
    m.save(folder, m.apply("MatMul", [m.apply("Softmax", [scores], axis=-1), values]), [1, heads, queries, size])


def self_attention(folder, length=512, size=32):
    """One head over a long sequence; queries, keys and values are inputs."""
    m = Model("self_attention")
    q, keys, values = (m.input(name, [1, 1, length, size]) for name in ("q", "keys", "values"))
    scores = m.apply("MatMul", [q, m.apply("Transpose", [keys], perm=[0, 1, 3, 2])])
    m.save(folder, m.apply("MatMul", [m.apply("Softmax", [scores], axis=-1), values]), [1, 1, length, size])


def deep(folder, layers=6, batch=1024, width=256):
    """Many rows: worth cutting, and the weights worth gathering."""
    m = Model("deep")
    x = m.input("x", [batch, width])
    for i in range(layers):
        x = m.apply("Relu", [m.linear(x, f"layer{i}", width, width)])
    m.save(folder, x, [batch, width])


def image(folder, channels=8, size=64, batch=1):
    """A residual block of two 3x3 convolutions over images, by default one, large for their few channels."""
    m = Model("image")
    x = m.input("x", [batch, channels, size, size])

    def conv(y, name):
        return m.apply("Conv", [y, m.weight(name, channels, channels, 3, 3)], pads=[1, 1, 1, 1])

    y = m.apply("Relu", [m.apply("Add", [conv(m.apply("Relu", [conv(x, "w1")]), "w2"), x])])
    m.save(folder, y, [batch, channels, size, size])


def language(folder, rows=31, width=64, words=8192):
    """The end of a language model: a layer, and the logits of many words. The rows cannot be cut evenly."""
    m = Model("language")
    h = m.apply("Relu", [m.linear(m.input("x", [rows, width]), "hidden", width, width)])
    m.save(folder, m.apply("MatMul", [h, m.weight("words", width, words)]), [rows, words])


def stacked_towers(folder, towers=8, batch=16, width=128, layers=2):
    """Towers of layers over an input each, as products of stacks of matrices, and a layer over all of them."""
    m = Model("stacked_towers")
    y = m.input("x", [towers, batch, width])
    for k in range(layers):
        y = m.apply("Relu", [m.apply("MatMul", [y, m.weight(f"tower{k}", towers, width, width)])])
    side = m.apply("Transpose", [y], perm=[1, 0, 2])
    flat = m.apply("Reshape", [side, m.constant("flat", numpy.int64([batch, towers * width]))])
    m.save(folder, m.linear(flat, "top", towers * width, 16), [batch, 16])


def stacked_tables(folder, tables=8, batch=64, rows=4095, width=15):
    """A DLRM whose tables are one stack, of which each index reads a row of its table. Rows and columns are odd."""
    m = Model("stacked_tables")
    m.input("i", [tables, batch, 1], TensorProto.INT64)
    found = m.apply("GatherND", [m.weight("table", tables, rows, width), "i"], batch_dims=1)
    side = m.apply("Transpose", [found], perm=[1, 0, 2])
    flat = m.apply("Reshape", [side, m.constant("flat", numpy.int64([batch, tables * width]))])
    top = m.apply("Relu", [m.linear(flat, "top0", tables * width, 64)])
    m.save(folder, m.linear(top, "top1", 64, 2), [batch, 2])


def embedding(folder, rows=3, width=15, words=65536):
    """Words looked up in a table that only its rows can be cut of, and a softmax over them."""
    m = Model("embedding")
    m.input("i", [rows], TensorProto.INT64)
    h = m.linear(m.apply("Gather", [m.weight("table", words, width), "i"]), "hidden", width, width)
    p = m.apply("Softmax", [m.apply("MatMul", [h, m.weight("w", width, words)])], axis=-1)
    m.save(folder, m.apply("MatMul", [p, m.weight("e", words, width)]), [rows, width])


def dlrm(folder, batch=256, tables=4, rows=16384, width=64):
    """Unity's small DLRM with tables of 16 K rows instead of 1 M: bottom 4-64-64, top 64-2."""
    m = Model("dlrm")
    bottom = m.input("x", [batch, 4])
    for i, columns in enumerate([64, 64]):
        bottom = m.apply("Relu", [m.linear(bottom, f"bottom{i}", [4, 64][i], columns)])
    found = []
    for i in range(tables):
        m.input(f"i{i}", [batch], TensorProto.INT64)
        found.append(m.apply("Gather", [m.weight(f"table{i}", rows, width), f"i{i}"]))
    features = m.apply("Concat", [bottom, *found], axis=1)
    top = m.apply("Relu", [m.linear(features, "top0", width * (tables + 1), 64)])
    m.save(folder, m.linear(top, "top1", 64, 2), [batch, 2])


def xdl(folder, batch=256, tables=4, rows=16384, width=64):
    """XDL with tables of 16 K rows instead of 1 M: what is looked up, and layers of 256, 256 and 2."""
    m = Model("xdl")
    found = []
    for i in range(tables):
        m.input(f"i{i}", [batch], TensorProto.INT64)
        found.append(m.apply("Gather", [m.weight(f"table{i}", rows, width), f"i{i}"]))
    y = m.apply("Concat", found, axis=1)
    for i in range(2):
        y = m.apply("Relu", [m.linear(y, f"top{i}", 256 if i else tables * width, 256)])
    m.save(folder, m.linear(y, "top2", 256, 2), [batch, 2])


def experts(folder, groups=8, tokens=32, width=128, hidden=512, count=8, capacity=8):
    """A mixture of experts: each takes the tokens of each group that score highest (expert choice)."""
    m = Model("experts")
    x = m.input("x", [groups, tokens, width])
    scores = m.apply("Transpose", [m.apply("MatMul", [x, m.weight("gate", width, count)])], perm=[0, 2, 1])
    share = m.apply("Softmax", [scores], axis=1)  # [groups, experts, tokens]
    k = m.constant("k", numpy.int64([capacity]))
    best, which = "best", "which"
    m.nodes.append(helper.make_node("TopK", [share, k], [best, which], axis=-1))
    sizes = m.constant("tokens", numpy.int64([tokens])), m.constant("off_on", numpy.float32([0, 1]))
    chosen = m.apply("OneHot", [which, *sizes], axis=-1)  # [groups, experts, capacity, tokens]
    one = m.constant("one", numpy.int64([1]))
    sent = m.apply("MatMul", [chosen, m.apply("Unsqueeze", [x, one])])  # [groups, experts, capacity, width]
    ahead = m.constant("ahead", numpy.int64([count, groups * capacity, width]))
    own = m.apply("Reshape", [m.apply("Transpose", [sent], perm=[1, 0, 2, 3]), ahead])
    inner = m.apply("Relu", [m.apply("MatMul", [own, m.weight("up", count, width, hidden)])])
    made = m.apply("MatMul", [inner, m.weight("down", count, hidden, width)])
    back = m.constant("back", numpy.int64([count, groups, capacity, width]))
    returned = m.apply("Transpose", [m.apply("Reshape", [made, back])], perm=[1, 0, 2, 3])
    last = m.constant("last", numpy.int64([3]))
    weighted = m.apply("Mul", [returned, m.apply("Unsqueeze", [best, last])])
    placed = m.apply("MatMul", [m.apply("Transpose", [chosen], perm=[0, 1, 3, 2]), weighted])
    m.save(folder, m.apply("ReduceSum", [placed, one], keepdims=0), [groups, tokens, width])


def uno(folder, batch=16, hidden=512, layers=8):
    """CANDLE-Uno at an eighth of its widths: towers of eight layers over five of seven inputs."""
    m = Model("uno")
    features = [m.input(f"x{i}", [batch, 1]) for i in range(2)]
    for i, width in enumerate([128, 656, 656, 256, 256]):
        y = m.input(f"x{i + 2}", [batch, width])
        for k in range(layers):
            y = m.apply("Relu", [m.linear(y, f"tower{i}.{k}", hidden if k else width, hidden)])
        features.append(y)
    y = m.apply("Concat", features, axis=1)
    for k in range(4):
        y = m.apply("Relu", [m.linear(y, f"top{k}", hidden if k else 5 * hidden + 2, hidden)])
    m.save(folder, m.linear(y, "out", hidden, 1), [batch, 1])


def reduced(elements):
    """What each of p ranks sends to add up so many floats, or to scatter and gather them."""
    return lambda p: 2 * (p - 1) / p * 4 * elements


def gathered(elements):
    """What each sends to gather so many floats, or of so many that it holds to hold other ones."""
    return lambda p: (p - 1) / p * 4 * elements


# Bytes that each of p ranks sends: one all-reduce of the output of each pair of matrices that are cut by
# columns and rows; for the vocabulary of the largest logit and the sum of each row besides. Words that are
# looked up in a table cut by rows are gathered from all blocks. Of the image a row from either side between
# the convolutions, and the output is gathered. Of the experts two all-to-alls: which tokens are theirs, and
# what they made of them. Of attention in a ring keys and values pass round, and the output is gathered. Uno scatters
# the sums of each layer but the first of a tower, and gathers the towers. DLRM's batch is cut and the output gathered.
SENT = {"mlp": reduced(8 * 256), "attention": reduced(16 * 256), "transformer": reduced(2 * 16 * 256),
        "vocabulary": reduced(3 + 3 + 3 * 16),
        "image": lambda p: 4 * 8 * 64 * min(p - 1, 2) + gathered(8 * 64 * 64)(p),
        "embedding": lambda p: gathered(3 * 15 * p)(p) + reduced(3 + 3 + 3 * 15)(p),
        "experts": lambda p: gathered(8 * 8 * 8 * (32 + 128))(p) / p + gathered(8 * 32 * 128)(p),
        "self_attention": gathered(3 * 512 * 32),
        "dlrm": gathered(256 * 2),
        "uno": lambda p: 43 * gathered(16 * 512)(p) + gathered(16)(p)}


def flags(name, devices):
    """Of `egret plan`: images and DLRM's batch arrive in blocks; tables and experts do not fit into one device."""
    return {"image": ["--sharded-inputs"], "dlrm": ["--sharded-inputs"],
            "embedding": ["--device-memory", 3 * 65536 * 15 * 4 // devices + 1_500_000],
            "self_attention": ["--sharded-inputs", "--device-memory", 3_400_000 // devices**2 + 150_000],
            "experts": ["--sharded-inputs", "--device-memory", (8 * 2 * 128 * 512 * 4) // devices + 1_500_000],
            }.get(name, [])


def training(name, devices):
    """Of `egret plan --train`: a rate at which it learns, and a device's memory where tables are to be cut by rows."""
    return {"experts": (["--lr", 1e-4], ""),
            "embedding": ([], str(8_000_000 + 20_000_000 // devices))}.get(name, ([], ""))


WRITE = {function.__name__: function for function in (
    mlp, attention, late_attention, transformer, vocabulary, deep, cache, self_attention, towers, image, embedding, dlrm, xdl, experts, uno,
    language, stacked_towers, stacked_tables)}
