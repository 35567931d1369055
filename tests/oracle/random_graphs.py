# SPDX-License-Identifier: Apache-2.0
"""Random ONNX models with open sizes.

A size is known at several assignments of the symbols at once: a tuple of numbers. An operator is
added only if it is valid at all of them, so most models have a meaning at each.
"""

import random

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

SYMBOLS = ("batch", "seq", "height", "width")
PRIMES = (2, 3, 5, 7, 11, 13)


def assignments(rng: random.Random) -> list:
    """All sizes 1; primes; anything small."""
    primes = rng.sample(PRIMES, len(SYMBOLS))
    return [dict.fromkeys(SYMBOLS, 1), dict(zip(SYMBOLS, primes)),
            {name: rng.randint(1, 12) for name in SYMBOLS}]


class Value:
    """A tensor: `shape` has a tuple per axis. `sizes`: of a vector of sizes, its elements likewise."""

    def __init__(self, name, dtype, shape, sizes=None):
        self.name, self.dtype, self.shape, self.sizes = name, dtype, list(shape), sizes


class RandomModel:
    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.at = assignments(self.rng)
        self.count = len(self.at)
        self.nodes, self.inputs, self.weights, self.values = [], [], [], []
        self.used = set()
        self.opset = self.rng.choice((13, 17, 18, 20))
        for _ in range(self.rng.randint(1, 3)):
            self.add_input()
        wanted = self.rng.randint(3, 14)
        for _ in range(20 * wanted):
            if len(self.nodes) >= wanted:
                break
            self.rng.choice(OPERATORS)(self)

    # Names, constants, nodes.
    def constant(self, array) -> str:
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def integers(self, *values) -> str:
        return self.constant(numpy.array(values, dtype=numpy.int64))

    def weight(self, *shape) -> str:
        seed = self.rng.randrange(1 << 30)
        return self.constant(numpy.random.default_rng(seed).normal(0, 0.5, shape).astype(numpy.float32))

    def node(self, op, inputs, shape=None, dtype="f", sizes=None, outputs=1, **attributes):
        """The first output, as a value if its shape is known here."""
        names = [one.name if isinstance(one, Value) else one for one in inputs]
        self.used.update(names)
        made = [f"v{len(self.nodes)}" + (f"_{i}" if i else "") for i in range(outputs)]
        self.nodes.append(helper.make_node(op, names, made, **attributes))
        if shape is None:
            return made[0]
        value = Value(made[0], dtype, shape, sizes)
        self.values.append(value)
        return value

    def add_input(self):
        kind = self.rng.choice(("sequence", "sequence", "image", "matrix"))
        axes = {"sequence": ["batch", "seq", self.rng.choice((4, 8))],
                "image": ["batch", self.rng.choice((2, 4)), "height", "width"],
                "matrix": [self.rng.choice(("batch", "seq")), self.rng.choice((4, 6))]}[kind]
        name = f"x{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, axes))
        self.values.append(Value(name, "f", [self.size(one) for one in axes]))

    def size(self, axis):
        return tuple(one[axis] for one in self.at) if isinstance(axis, str) else self.fixed(axis)

    def fixed(self, number):
        return (number,) * self.count

    @staticmethod
    def is_fixed(size):
        return len(set(size)) == 1

    # What an operator may read.
    def pick(self, dtype="f", rank=None, test=lambda value: True):
        fits = [v for v in self.values if v.dtype == dtype and v.sizes is None and
                (rank is None or len(v.shape) == rank) and test(v)]
        recent = fits[-4:] if self.rng.random() < 0.7 else fits
        return self.rng.choice(recent) if recent else None

    def small(self, shape):
        """No empty tensor, and none that makes a test slow."""
        return all(all(one >= 1 for one in size) for size in shape) and all(
            numpy.prod([size[i] for size in shape]) < 60000 for i in range(self.count))

    def dimension(self, value, axis):
        """A vector of one element: the size of an axis."""
        shape = self.node("Shape", [value])
        index = axis if self.rng.random() < 0.7 else axis - len(value.shape)
        if self.rng.random() < 0.5:
            return self.node("Gather", [shape, self.integers(index)], axis=0)
        if index == -1:
            return self.node("Slice", [shape, self.integers(-1), self.integers(2**63 - 1)])
        return self.node("Slice", [shape, self.integers(index), self.integers(index + 1), self.integers(0)])

    def shape_vector(self, sizes, like):
        """A vector of sizes, computed where `like` has such an axis, else -1 once, else None."""
        parts = []
        free = True
        for size in sizes:
            axes = [i for i, one in enumerate(like.shape) if one == size]
            if self.is_fixed(size):
                parts.append(self.integers(size[0]))
            elif axes and (not free or self.rng.random() < 0.7):
                parts.append(self.dimension(like, axes[0]))
            elif free:
                parts.append(self.integers(-1))
                free = False
            else:
                product = self.product_of(size, like)
                if product is None:
                    return None
                parts.append(product)
        return parts[0] if len(parts) == 1 else self.node("Concat", parts, axis=0)

    def product_of(self, size, like):
        for i, a in enumerate(like.shape):
            for j, b in enumerate(like.shape):
                if i < j and tuple(x * y for x, y in zip(a, b)) == size:
                    return self.node("Mul", [self.dimension(like, i), self.dimension(like, j)])
        return None

    def model(self):
        outputs = [v for v in self.values if v.name not in self.used and not v.name.startswith("x")]
        outputs = outputs[-4:] or self.values[-1:]
        types = {"f": TensorProto.FLOAT, "i": TensorProto.INT64, "b": TensorProto.BOOL}
        declared = [helper.make_tensor_value_info(v.name, types[v.dtype], None) for v in outputs]
        for value in declared:  # without a shape
            value.type.tensor_type.ClearField("shape")
        graph = helper.make_graph(self.nodes, "random", self.inputs, declared, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)
        return onnx.shape_inference.infer_shapes(model) if self.rng.random() < 0.6 else model

    def arrays(self, index: int) -> dict:
        """Inputs for an assignment."""
        sizes = self.at[index]
        drawn = numpy.random.default_rng(index + 1)
        arrays = {}
        for value in self.inputs:
            dims = value.type.tensor_type.shape.dim
            shape = [sizes[one.dim_param] if one.dim_param else one.dim_value for one in dims]
            arrays[value.name] = drawn.normal(0, 1, shape).astype(numpy.float32)
        return arrays


OPERATORS = []


def operator(times, pick=None):
    """An operator that is drawn `times` as often. With `pick`: for a value as RandomModel.pick() takes it."""
    def keep(function):
        def add(m):
            x = m.pick(**pick)
            return x and function(m, x)
        OPERATORS.extend([function if pick is None else add] * times)
        return function
    return keep


@operator(4)
def unary(m):
    x = m.pick()
    op = m.rng.choice(("Relu", "Sigmoid", "Tanh", "Neg", "Abs", "Erf", "LeakyRelu", "Softplus", "Identity"))
    return x and m.node(op, [x], x.shape)


@operator(5)
def binary(m):
    a = m.pick()
    op = m.rng.choice(("Add", "Sub", "Mul", "Max", "Min"))
    def joins(b):
        longer, shorter = sorted((a.shape, b.shape), key=len, reverse=True)
        tail = longer[len(longer) - len(shorter):]
        return all(p == q or set(p) == {1} or set(q) == {1} for p, q in zip(tail, shorter))
    b = a and m.pick(test=joins)
    if b is None:
        return
    if m.rng.random() < 0.4:
        width = a.shape[-1][0] if a.shape and m.is_fixed(a.shape[-1]) and m.rng.random() < 0.6 else 1
        m.node(op, [a, m.weight(width)], a.shape or [m.fixed(1)])
        return
    longer, shorter = sorted((a.shape, b.shape), key=len, reverse=True)
    tail = len(longer) - len(shorter)
    shape = longer[:tail] + [tuple(max(x, y) for x, y in zip(p, q)) for p, q in zip(longer[tail:], shorter)]
    if m.small(shape):
        m.node(op, [a, b], shape)


@operator(3, pick=dict(test=lambda v: len(v.shape) >= 2 and RandomModel.is_fixed(v.shape[-1])))
def product(m, x):
    width = m.rng.choice((3, 4, 8))
    m.node("MatMul", [x, m.weight(x.shape[-1][0], width)], x.shape[:-1] + [m.fixed(width)])


@operator(2)
def attention(m):
    x = m.pick(test=lambda v: len(v.shape) >= 2)
    if x is None or not m.small(x.shape[:-1] + [x.shape[-2]]):
        return
    rank = len(x.shape)
    turned = m.node("Transpose", [x], perm=[*range(rank - 2), rank - 1, rank - 2])
    scores = m.node("MatMul", [x, turned])
    if m.rng.random() < 0.5:
        scores = m.node("Mul", [scores, m.constant(numpy.float32(0.5))])
    weights = m.node("Softmax", [scores], axis=-1)
    m.node("MatMul", [weights, x], x.shape)


@operator(3, pick=dict(rank=4, test=lambda v: RandomModel.is_fixed(v.shape[1])))
def convolution(m, x):
    kernel, stride = m.rng.choice(((1, 1), (3, 1), (3, 2)))
    channels = m.rng.choice((2, 4))
    name = m.rng.choice(("pads", "SAME_UPPER", "SAME_LOWER", "VALID" if kernel == 1 else "pads"))
    sizes = {"pads": lambda n: (n + 2 * (kernel // 2) - kernel) // stride + 1,
             "VALID": lambda n: (n - kernel) // stride + 1}.get(name, lambda n: -(-n // stride))
    space = [tuple(map(sizes, size)) for size in x.shape[2:]]
    how = {"pads": [kernel // 2] * 4} if name == "pads" else {"auto_pad": name}
    m.node("Conv", [x, m.weight(channels, x.shape[1][0], kernel, kernel), m.weight(channels)],
           [x.shape[0], m.fixed(channels), *space], strides=[stride, stride], **how)


@operator(2, pick=dict(rank=4))
def pooling(m, x):
    op = m.rng.choice(("MaxPool", "AveragePool", "GlobalAveragePool"))
    if op == "GlobalAveragePool":
        m.node(op, [x], x.shape[:2] + [m.fixed(1)] * 2)
    else:
        space = [tuple((n + 2 - 3) // 2 + 1 for n in size) for size in x.shape[2:]]
        m.node(op, [x], x.shape[:2] + space, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])


@operator(3, pick=dict(test=lambda v: len(v.shape) >= 1))
def reduction(m, x):
    axis = m.rng.randrange(len(x.shape))
    keep = m.rng.randint(0, 1)
    shape = [m.fixed(1) if i == axis else s for i, s in enumerate(x.shape) if keep or i != axis]
    given = axis if m.rng.random() < 0.5 else axis - len(x.shape)
    op = m.rng.choice(("ReduceMean", "ReduceMax", "ReduceSum", "ReduceMin"))
    if op == "ReduceSum" or m.opset >= 18:
        m.node(op, [x, m.integers(given)], shape, keepdims=keep)
    else:
        m.node(op, [x], shape, axes=[given], keepdims=keep)


@operator(2, pick=dict(test=lambda v: len(v.shape) >= 1))
def normalization(m, x):
    if m.rng.random() < 0.5 or m.opset < 17 or not m.is_fixed(x.shape[-1]):
        m.node(m.rng.choice(("Softmax", "LogSoftmax")), [x], x.shape, axis=m.rng.randrange(len(x.shape)))
    else:
        width = x.shape[-1][0]
        m.node("LayerNormalization", [x, m.weight(width), m.weight(width)], x.shape, axis=-1)


@operator(3, pick=dict(test=lambda v: len(v.shape) >= 2))
def transposition(m, x):
    perm = list(range(len(x.shape)))
    m.rng.shuffle(perm)
    m.node("Transpose", [x], [x.shape[i] for i in perm], perm=perm)


@operator(3, pick=dict(test=lambda v: len(v.shape) >= 1))
def joining(m, x):
    axis = m.rng.randrange(len(x.shape))
    others = lambda v: [s for i, s in enumerate(v.shape) if i != axis]
    y = m.pick(rank=len(x.shape), test=lambda v: others(v) == others(x))
    shape = list(x.shape)
    shape[axis] = tuple(a + b for a, b in zip(x.shape[axis], y.shape[axis]))
    if m.small(shape):
        m.node("Concat", [x, y], shape, axis=axis)


@operator(2, pick=dict(test=lambda v: any(RandomModel.is_fixed(s) and s[0] % 2 == 0 for s in v.shape)))
def splitting(m, x):
    axis = m.rng.choice([i for i, s in enumerate(x.shape) if m.is_fixed(s) and s[0] % 2 == 0])
    half = x.shape[axis][0] // 2
    shape = [m.fixed(half) if i == axis else s for i, s in enumerate(x.shape)]
    first = m.node("Split", [x, m.integers(half, half)], shape, outputs=2, axis=axis)
    m.values.append(Value(first.name + "_1", "f", shape))


@operator(3, pick=dict(test=lambda v: len(v.shape) >= 1))
def slicing(m, x):
    axis = m.rng.randrange(len(x.shape))
    size = x.shape[axis]
    kind = m.rng.choice(("first", "reverse", "step", "computed", "tail"))
    begin, end, step, result = {
        "first": (0, 1, 1, m.fixed(1)),
        "reverse": (-1, -(2**63) + 1, -1, size),
        "step": (0, 2**63 - 1, 2, tuple(-(-n // 2) for n in size)),
        "tail": (1, 2**63 - 1, 1, tuple(n - 1 for n in size)),
        "computed": (0, None, 1, tuple(n - n // 2 for n in size))}[kind]
    shape = [result if i == axis else s for i, s in enumerate(x.shape)]
    if not m.small(shape):
        return
    if end is None:
        whole = m.dimension(x, axis)
        stop = m.node("Sub", [whole, m.node("Div", [whole, m.integers(2)])])
    else:
        stop = m.integers(end)
    m.node("Slice", [x, m.integers(begin), stop, m.integers(axis), m.integers(step)], shape)


@operator(2, pick=dict(test=lambda v: len(v.shape) >= 2))
def gathering(m, x):
    axis = m.rng.randrange(len(x.shape))
    index = m.rng.choice((0, -1))
    array = numpy.int64(index) if m.rng.random() < 0.5 else numpy.array([index, 0], dtype=numpy.int64)
    shape = x.shape[:axis] + ([] if array.ndim == 0 else [m.fixed(2)]) + x.shape[axis + 1:]
    m.node("Gather", [x, m.constant(array)], shape, axis=axis)


@operator(4, pick=dict(test=lambda v: len(v.shape) >= 2))
def flattening(m, x):
    """Two neighbouring axes become one, through computed sizes."""
    axis = m.rng.randrange(len(x.shape) - 1)
    joined = tuple(a * b for a, b in zip(x.shape[axis], x.shape[axis + 1]))
    shape = x.shape[:axis] + [joined] + x.shape[axis + 2:]
    target = m.shape_vector(shape, x)
    if target:
        m.node("Reshape", [x, target], shape)


@operator(3, pick=dict(test=lambda v: 1 <= len(v.shape) <= 4 and RandomModel.is_fixed(v.shape[-1])
                       and v.shape[-1][0] % 2 == 0))
def heads(m, x):
    """An axis of known size becomes two, and they are turned."""
    shape = x.shape[:-1] + [m.fixed(2), m.fixed(x.shape[-1][0] // 2)]
    target = m.shape_vector(shape, x)
    made = target and m.node("Reshape", [x, target], shape)
    if made and len(shape) >= 3 and m.rng.random() < 0.7:
        perm = [*range(len(shape) - 3), len(shape) - 2, len(shape) - 3, len(shape) - 1]
        m.node("Transpose", [made], [shape[i] for i in perm], perm=perm)


@operator(2)
def expansion(m):
    x = m.pick(test=lambda v: any(set(s) == {1} for s in v.shape))
    like = x and m.pick(rank=len(x.shape))
    if not like:
        return
    shape = [b if set(a) == {1} else a for a, b in zip(x.shape, like.shape)]
    if m.small(shape) and all(a == b or set(a) == {1} for a, b in zip(x.shape, like.shape)):
        m.node("Expand", [x, m.node("Shape", [like])], shape)


@operator(2, pick=dict(test=lambda v: len(v.shape) >= 1))
def filling(m, x):
    value = numpy_helper.from_array(numpy.array([m.rng.choice((0.0, 1.0, 0.5))], dtype=numpy.float32))
    made = m.node("ConstantOfShape", [m.node("Shape", [x])], x.shape, value=value)
    if m.rng.random() < 0.7:
        m.node("Add", [made, x], x.shape)


@operator(2, pick=dict(test=lambda v: len(v.shape) >= 1))
def positions(m, x):
    """0, 1, ... along the last axis, as exporters write positions."""
    count = m.node("Squeeze", [m.dimension(x, len(x.shape) - 1), m.integers(0)])
    start, step = m.constant(numpy.int64(0)), m.constant(numpy.int64(1))
    made = m.node("Cast", [m.node("Range", [start, count, step])], to=TensorProto.FLOAT)
    m.node("Add", [x, made], x.shape)


@operator(2, pick=dict(test=lambda v: len(v.shape) >= 1))
def padding(m, x):
    axis = m.rng.randrange(len(x.shape))
    before, after = m.rng.choice(((0, 1), (1, 1), (2, 0)))
    pads = [0] * (2 * len(x.shape))
    pads[axis], pads[axis + len(x.shape)] = before, after
    shape = [tuple(n + before + after for n in s) if i == axis else s for i, s in enumerate(x.shape)]
    m.node("Pad", [x, m.integers(*pads)], shape)


@operator(2, pick=dict(rank=4))
def resizing(m, x):
    shape = x.shape[:2] + [tuple(2 * n for n in s) for s in x.shape[2:]]
    if not m.small(shape):
        return
    mode = m.rng.choice(("nearest", "linear"))
    how = {"mode": mode, "coordinate_transformation_mode": "asymmetric"}
    if mode == "nearest":
        how["nearest_mode"] = "floor"
    kind = m.rng.choice(("scales", "sizes", "computed scales"))
    if kind == "scales":
        m.node("Resize", [x, "", m.constant(numpy.array([1, 1, 2, 2], dtype=numpy.float32))], shape, **how)
        return
    parts = [m.dimension(x, i) for i in range(4)]
    doubled = [m.node("Mul", [part, m.integers(2)]) for part in parts[2:]]
    sizes = m.node("Concat", parts[:2] + doubled, axis=0)
    if kind == "sizes":
        m.node("Resize", [x, "", "", sizes], shape, **how)
        return
    wide = [m.node("Cast", [one], to=TensorProto.FLOAT) for one in (sizes, m.node("Shape", [x]))]
    m.node("Resize", [x, "", m.node("Div", wide)], shape, **how)


@operator(2, pick=dict())
def selection(m, x):
    chosen = m.node("Greater", [x, m.constant(numpy.float32(0.1234))])
    m.node("Where", [chosen, x, m.constant(numpy.float32(m.rng.choice((0, -1))))], x.shape)


@operator(2, pick=dict(test=lambda v: len(v.shape) <= 4))
def axes(m, x):
    ones = [i for i, s in enumerate(x.shape) if set(s) == {1}]
    if ones and m.rng.random() < 0.5:
        axis = m.rng.choice(ones)
        m.node("Squeeze", [x, m.integers(axis)], x.shape[:axis] + x.shape[axis + 1:])
    else:
        axis = m.rng.randint(0, len(x.shape))
        m.node("Unsqueeze", [x, m.integers(axis)], x.shape[:axis] + [m.fixed(1)] + x.shape[axis:])


@operator(1)
def opaque(m):
    """Operators whose results have sizes that no shape tells, or that stay as one node."""
    kind = m.rng.choice(("NonZero", "Compress", "LSTM", "GRU", "CumSum", "TopK", "Loop", "If", "Sequence"))
    if kind == "NonZero":
        x = m.pick()
        if x is None or not x.shape:
            return
        found = m.node("NonZero", [m.node("Relu", [x])])
        total = m.node("Cast", [m.node("Shape", [found])], to=TensorProto.FLOAT)
        m.node("ReduceSum", [total, m.integers(0)], [m.fixed(1)], keepdims=1)
    elif kind == "Compress":
        x = m.pick(test=lambda v: len(v.shape) >= 1)
        if x:
            flat = m.node("Reshape", [x, m.integers(-1)])
            kept = m.node("Compress", [flat, m.node("Greater", [flat, m.constant(numpy.float32(0.1))])])
            m.node("ReduceSum", [m.node("Relu", [kept]), m.integers(0)], [m.fixed(1)], keepdims=1)
    elif kind in ("LSTM", "GRU"):
        x = m.pick(rank=3, test=lambda v: m.is_fixed(v.shape[2]))
        if x:
            gates = 4 if kind == "LSTM" else 3
            shape = [x.shape[0], m.fixed(1), x.shape[1], m.fixed(3)]
            m.node(kind, [x, m.weight(1, 3 * gates, x.shape[2][0]), m.weight(1, 3 * gates, 3)], shape,
                   hidden_size=3)
    elif kind == "CumSum":
        x = m.pick(test=lambda v: len(v.shape) >= 1)
        if x:
            m.node(kind, [x, m.constant(numpy.int64(len(x.shape) - 1))], x.shape)
    elif kind == "TopK":
        x = m.pick(test=lambda v: len(v.shape) >= 1)
        if x:
            m.node(kind, [x, m.integers(1)], x.shape[:-1] + [m.fixed(1)], outputs=2, axis=-1)
    elif kind == "Loop":
        x = m.pick()
        if x:
            info = helper.make_tensor_value_info
            body = helper.make_graph(
                [helper.make_node("Identity", ["go"], ["goes"]), helper.make_node("Tanh", ["state"], ["next"])], "body",
                [info("i", TensorProto.INT64, []), info("go", TensorProto.BOOL, []),
                 info("state", TensorProto.FLOAT, None)],
                [info("goes", TensorProto.BOOL, []), info("next", TensorProto.FLOAT, None)])
            m.node(kind, [m.integers(2), "", x], x.shape, body=body)
    elif kind == "If":
        x = m.pick()
        if x:
            info = helper.make_tensor_value_info
            branch = lambda op: helper.make_graph([helper.make_node(op, [x.name], [f"{op}{len(m.nodes)}"])], op, [],
                                                  [info(f"{op}{len(m.nodes)}", TensorProto.FLOAT, None)])
            total = m.node("ReduceMax", [x], keepdims=0)
            go = m.node("Greater", [total, m.constant(numpy.float32(0.7))])
            m.node(kind, [go], x.shape, then_branch=branch("Relu"), else_branch=branch("Neg"))
    else:
        x = m.pick()
        if x:
            many = m.node("SequenceConstruct", [x, x])
            m.node("SequenceAt", [many, m.constant(numpy.int64(1))], x.shape)
