# SPDX-License-Identifier: Apache-2.0
"""Random nodes: every operator that Egret's importer knows, with random attributes, element types, ranks and
sizes. What a form allows is asked of the onnx package's schemas; whether it has a meaning, of the caller's oracle.

    draw = Draw(seed, opset); draw.node(op_type)      # None: no such form at this opset
"""

import random

import numpy
import onnx
from onnx import helper, numpy_helper

TYPES = {
    "tensor(float)": numpy.float32, "tensor(double)": numpy.float64, "tensor(float16)": numpy.float16,
    "tensor(int8)": numpy.int8, "tensor(int16)": numpy.int16, "tensor(int32)": numpy.int32,
    "tensor(int64)": numpy.int64, "tensor(uint8)": numpy.uint8, "tensor(uint16)": numpy.uint16,
    "tensor(uint32)": numpy.uint32, "tensor(uint64)": numpy.uint64, "tensor(bool)": numpy.bool_,
}  # fmt: skip
REALS = (numpy.float32, numpy.float64, numpy.float16)


class Node:
    """A node with its own inputs. `inputs`: name, array, and whether it is an initializer; "" for an absent one."""

    def __init__(self, op_type, inputs, outputs, attributes, opset, domain=""):
        self.op_type, self.inputs, self.outputs = op_type, inputs, outputs
        self.attributes, self.opset, self.domain = attributes, opset, domain

    def name(self) -> str:
        """As in BUILDERS."""
        return f"{self.domain}.{self.op_type}" if self.domain else self.op_type

    def named(self) -> list:
        """The outputs that have a name."""
        return [name for name in self.outputs if name]

    def feeds(self, prefix="") -> dict:
        return {prefix + name: array for name, array, fixed in self.inputs if name and not fixed}

    def parts(self, prefix, types):
        """The node, its graph inputs, initializers and outputs; names begin with the prefix."""
        node = helper.make_node(self.op_type, [prefix + name if name else "" for name, _, _ in self.inputs],
                                [prefix + name if name else "" for name in self.outputs], prefix + "n",
                                domain=self.domain, **self.attributes)
        inputs, constants = [], []
        for name, array, fixed in self.inputs:
            if not name:
                continue
            if fixed:
                constants.append(numpy_helper.from_array(array, prefix + name))
            else:
                inputs.append(helper.make_tensor_value_info(
                    prefix + name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape))
        outputs = [helper.make_tensor_value_info(prefix + name, kind, shape)
                   for name, (kind, shape) in zip(self.named(), types)]
        return node, inputs, constants, outputs

    def text(self) -> str:
        inputs = [f"{array.dtype}{list(array.shape)}{'=' + str(array.tolist())[:60] if fixed else ''}" if name else "-"
                  for name, array, fixed in self.inputs]
        attributes = {k: str(v)[:60] for k, v in self.attributes.items()}
        return f"{self.name()}-{self.opset}({', '.join(inputs)}) {attributes}"


def model_of(nodes, types) -> onnx.ModelProto:
    """One model with all nodes, side by side. `types`: of the outputs by node; None: not known."""
    opset = nodes[0].opset
    parts = [node.parts(f"n{i}_", kinds or [(0, None)] * len(node.named()))
             for i, (node, kinds) in enumerate(zip(nodes, types))]
    outputs = [one for node, (_, _, _, values) in zip(nodes, parts) for one in values]
    for one in outputs:
        if one.type.tensor_type.elem_type == 0:
            one.ClearField("type")
    graph = helper.make_graph([part[0] for part in parts], "nodes", [x for part in parts for x in part[1]],
                              outputs, [x for part in parts for x in part[2]])
    domains = sorted({node.domain for node in nodes} - {""})
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset),
                                                    *(helper.make_opsetid(domain, 1) for domain in domains)])
    model.ir_version = 8 if opset < 19 else 10
    return model


class Refused(Exception):
    """This form does not exist."""


class Draw:
    def __init__(self, seed: int, opset: int):
        self.rng = random.Random(seed)
        self.np = numpy.random.default_rng(seed)
        self.opset = opset

    # Small pieces.
    def chance(self, p=0.5):
        return self.rng.random() < p

    def pick(self, *values):
        return self.rng.choice(values)

    def size(self):
        return self.rng.choice((1, 1, 2, 2, 3, 3, 4, 5, 7))

    def shape(self, rank):
        return tuple(self.size() for _ in range(rank))

    def rank(self, low=0, high=4):
        return self.rng.randint(low, high)

    def values(self, dtype, shape, low=-4, high=4, special=False):
        if dtype == numpy.bool_:
            return self.np.integers(0, 2, shape).astype(numpy.bool_) if shape != () else numpy.array(self.chance())
        if dtype in REALS:
            kind = self.rng.random()
            array = self.np.uniform(low, high, shape)
            if kind < 0.2 and low < 0:
                array = numpy.round(array * 2) / 2  # halves and ties
            array = numpy.asarray(array, dtype=dtype)
            if special and kind > 0.9 and array.size:
                flat = array.reshape(-1)
                flat[self.rng.randrange(flat.size)] = self.pick(numpy.inf, -numpy.inf, numpy.nan)
            return array
        info = numpy.iinfo(dtype)
        low, high = max(info.min, 10 * low if low < 0 else low), min(info.max, 10 * high if low < 0 else high)
        return numpy.asarray(self.np.integers(low, high + 1, shape), dtype=dtype)

    def dtype(self, op, letter="T", prefer=None):
        """A type that the schema allows for this type parameter; f32 in half of the draws."""
        schema = self.schema(op)
        allowed = next((c.allowed_type_strs for c in schema.type_constraints if c.type_param_str == letter), None)
        if allowed is None:
            allowed = [t for i in schema.inputs[:1] for t in i.types]
        known = [TYPES[t] for t in allowed if t in TYPES]
        if prefer:
            known = [t for t in known if t in prefer] or known
        if not known:
            raise Refused
        if numpy.float32 in known and self.chance():
            return numpy.float32
        return self.rng.choice(known)

    def schema(self, op):
        try:
            return onnx.defs.get_schema(op, self.opset)
        except Exception as error:
            raise Refused from error

    def attributes(self, op, **values):
        """Those that the operator has at this opset and that are not None."""
        known = self.schema(op).attributes
        return {name: value for name, value in values.items() if name in known and value is not None}

    def has(self, op, attribute):
        return attribute in self.schema(op).attributes

    def axis(self, rank, p_negative=0.4):
        axis = self.rng.randrange(rank)
        return axis - rank if self.chance(p_negative) else axis

    def axes(self, rank, least=0):
        chosen = self.rng.sample(range(rank), self.rng.randint(min(least, rank), rank))
        return [a - rank if self.chance(0.3) else a for a in chosen]

    def maybe(self, value, p=0.6):
        return value if self.chance(p) else None

    def node(self, op):
        """A random node of this type, or None if this opset has no such form."""
        make = BUILDERS.get(op)
        try:
            if "." not in op:  # the onnx package knows nothing of others' operators
                self.schema(op)
            return make(self, op) if make else None
        except Refused:
            return None

    def made(self, op, inputs, attributes=None, outputs=1):
        """inputs: arrays, None, or (array,) for a constant."""
        listed = []
        for i, one in enumerate(inputs):
            if one is None:
                listed.append(("", None, False))
            elif isinstance(one, tuple):
                listed.append((f"i{i}", numpy.asarray(one[0]), True))
            else:
                listed.append((f"i{i}", numpy.asarray(one), False))
        while listed and not listed[-1][0]:
            listed.pop()
        names = [f"o{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs
        return Node(op, listed, names, attributes or {}, self.opset)

    def fixed(self, array, p=0.3):
        """A constant at times."""
        return (array,) if self.chance(p) else array


BUILDERS = {}


def builds(*names):
    def add(function):
        BUILDERS.update(dict.fromkeys(names, function))
        return function
    return add


def ints(*values):
    return (numpy.array(values, dtype=numpy.int64),)


@builds("Abs", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor", "HardSwish", "Identity", "IsNaN", "Mish", "Neg", "Not",
        "Reciprocal", "Relu", "Round", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Tan", "Tanh",
        "BitwiseNot", "Asinh", "Atan")
def unary(d, op):
    return d.made(op, [d.values(d.dtype(op, d.schema(op).inputs[0].type_str), d.shape(d.rank()), special=True)])


@builds("Acos", "Asin", "Atanh")
def unit_range(d, op):
    return d.made(op, [d.values(d.dtype(op), d.shape(d.rank()), -1, 1)])


@builds("Sqrt", "Log")
def positive(d, op):
    return d.made(op, [d.values(d.dtype(op), d.shape(d.rank()), 0, 6)])


@builds("Acosh")
def above_one(d, op):
    return d.made(op, [d.values(d.dtype(op), d.shape(d.rank()), 1, 6)])


@builds("Celu", "Elu", "LeakyRelu", "Selu", "ThresholdedRelu", "HardSigmoid", "Shrink", "Gelu")
def activation(d, op):
    real = lambda: d.maybe(round(d.rng.uniform(-1.5, 1.5), 3))
    alpha = d.maybe(round(d.rng.uniform(0.1, 2), 3)) if op == "Celu" else real()
    return d.made(op, [d.values(d.dtype(op), d.shape(d.rank()))], d.attributes(
        op, alpha=alpha, beta=real(), gamma=real(), bias=real(), lambd=d.maybe(abs(real() or 0.3)),
        approximate=d.maybe(d.pick("tanh", "none"))))


@builds("IsInf")
def is_inf(d, op):
    x = d.values(d.dtype(op, "T1"), d.shape(d.rank()))
    if x.size:
        x.reshape(-1)[0] = d.pick(numpy.inf, -numpy.inf)
    return d.made(op, [x], d.attributes(op, detect_negative=d.maybe(d.pick(0, 1)), detect_positive=d.maybe(d.pick(0, 1))))


def broadcast_shapes(d, count):
    rank = d.rank()
    whole = d.shape(rank)
    shapes = []
    for _ in range(count):
        kept = d.rng.randint(0, rank)
        shapes.append(tuple(1 if d.chance(0.25) else s for s in whole[rank - kept:]))
    shapes[d.rng.randrange(count)] = whole
    return shapes


@builds("Add", "Sub", "Mul", "And", "Or", "Xor", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual",
        "BitwiseAnd", "BitwiseOr", "BitwiseXor", "PRelu", "Div")
def binary(d, op):
    dtype = d.dtype(op, d.schema(op).inputs[0].type_str)
    a, b = broadcast_shapes(d, 2)
    if op == "PRelu":
        a, b = max(a, b, key=numpy.prod), min(a, b, key=numpy.prod)
    y = d.values(dtype, b)
    if op == "Div" and dtype not in REALS:
        y = numpy.where(y == 0, numpy.array(3, dtype), y).astype(dtype)
    return d.made(op, [d.fixed(d.values(dtype, a, special=True), 0.1), d.fixed(y)])


@builds("Mod")
def mod(d, op):
    dtype = d.dtype(op)
    a, b = broadcast_shapes(d, 2)
    y = d.values(dtype, b)
    y = numpy.where(y == 0, numpy.array(3, dtype), y).astype(dtype)
    fmod = 1 if dtype in REALS else d.maybe(d.pick(0, 1))
    return d.made(op, [d.values(dtype, a), d.fixed(y)], d.attributes(op, fmod=fmod))


@builds("Pow")
def power(d, op):
    a, b = broadcast_shapes(d, 2)
    base, exponent = d.dtype(op, "T"), d.dtype(op, "T1" if d.opset >= 12 else "T")
    if d.opset < 12:
        exponent = base
    x = d.values(base, a, 0.1 if base in REALS else 1, 3)
    y = numpy.asarray(d.pick(2, 3, 0.5, 1, 0, -1), dtype=exponent) if d.chance() else d.values(exponent, b, 0, 3)
    return d.made(op, [x, d.fixed(y, 0.7)])


@builds("BitShift")
def bit_shift(d, op):
    dtype = d.dtype(op)
    a, b = broadcast_shapes(d, 2)
    return d.made(op, [d.values(dtype, a), d.fixed(d.values(dtype, b, 0, 7))],
                  {"direction": d.pick("LEFT", "RIGHT")})


@builds("Max", "Min", "Mean", "Sum")
def variadic(d, op):
    dtype = d.dtype(op)
    return d.made(op, [d.fixed(d.values(dtype, s), 0.15) for s in broadcast_shapes(d, d.rng.randint(1, 4))])


@builds("Where")
def where(d, op):
    a, b, c = broadcast_shapes(d, 3)
    dtype = d.dtype(op)
    return d.made(op, [d.values(numpy.bool_, a), d.values(dtype, b), d.fixed(d.values(dtype, c))])


@builds("Clip")
def clip(d, op):
    dtype = d.dtype(op)
    low, high = d.maybe(d.values(dtype, (), -2, 2)), d.maybe(d.values(dtype, (), -1, 3))
    x = d.values(dtype, d.shape(d.rank()))
    if d.opset < 11:
        return d.made(op, [x], d.attributes(op, min=None if low is None else float(low),
                                            max=None if high is None else float(high)))
    return d.made(op, [x, None if low is None else d.fixed(low, 0.7), None if high is None else d.fixed(high, 0.7)])


@builds("Cast")
def cast(d, op):
    target = d.pick(*TYPES.values())
    x = d.values(d.dtype(op, "T1"), d.shape(d.rank()), 0 if numpy.dtype(target).kind == "u" else -4)
    if x.dtype.kind == "f" and numpy.dtype(target).kind in "iu":
        x = numpy.nan_to_num(x, posinf=3, neginf=0)
    return d.made(op, [x], {"to": helper.np_dtype_to_tensor_dtype(numpy.dtype(target))})


@builds("CastLike")
def cast_like(d, op):
    target = d.pick(numpy.float32, numpy.int32, numpy.bool_, numpy.float64, numpy.int64)
    return d.made(op, [numpy.nan_to_num(d.values(d.pick(numpy.float32, numpy.int32), d.shape(d.rank())), posinf=1, neginf=0),
                       d.fixed(d.values(target, (1,)))])


@builds("ArgMax", "ArgMin")
def arg(d, op):
    rank = d.rank(1)
    return d.made(op, [d.values(d.dtype(op), d.shape(rank))], d.attributes(
        op, axis=d.maybe(d.axis(rank)), keepdims=d.maybe(d.pick(0, 1)), select_last_index=d.maybe(d.pick(0, 1))))


@builds("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
        "ReduceSum", "ReduceSumSquare")
def reduce(d, op):
    rank = d.rank()
    dtype = d.dtype(op)
    x = d.values(dtype, d.shape(rank), 0.1 if op == "ReduceLogSum" and dtype in REALS else -3, 3)
    if op == "ReduceProd" and dtype not in REALS:
        x = numpy.clip(x, 0 if numpy.iinfo(dtype).min == 0 else -1, 2)  # no overflow
    attributes = d.attributes(op, keepdims=d.maybe(d.pick(0, 1)), noop_with_empty_axes=d.maybe(d.pick(0, 1)))
    axes = d.maybe(d.axes(rank), 0.8)
    if d.has(op, "axes"):
        return d.made(op, [x], attributes | ({"axes": axes} if axes else {}))
    return d.made(op, [x] + ([] if axes is None else [ints(*axes)]), attributes)


@builds("Softmax", "LogSoftmax", "Hardmax", "Flatten", "LpNormalization")
def along_axis(d, op):
    rank = d.rank(1)
    axis = d.maybe(d.axis(rank) if op != "Flatten" or d.chance(0.8) else rank)
    return d.made(op, [d.values(d.dtype(op), d.shape(rank))],
                  d.attributes(op, axis=axis, p=d.maybe(d.pick(1, 2))))


@builds("CumSum")
def cum_sum(d, op):
    rank = d.rank(1)
    axis = numpy.array(d.axis(rank), dtype=d.pick(numpy.int32, numpy.int64))
    return d.made(op, [d.values(d.dtype(op), d.shape(rank)), (axis,)],
                  d.attributes(op, exclusive=d.maybe(d.pick(0, 1)), reverse=d.maybe(d.pick(0, 1))))


@builds("TopK")
def top_k(d, op):
    rank = d.rank(1)
    shape = d.shape(rank)
    axis = d.axis(rank)
    k = d.rng.randint(0 if d.chance(0.1) else 1, shape[axis])
    x = d.np.permutation(int(numpy.prod(shape))).reshape(shape).astype(d.dtype(op))
    attributes = d.attributes(op, axis=axis, largest=d.maybe(d.pick(0, 1)), sorted=d.maybe(1))
    if d.opset < 10:
        return d.made(op, [x], attributes | {"k": k}, 2)
    return d.made(op, [x, ints(k)], attributes, 2)


@builds("Concat")
def concat(d, op):
    rank = d.rank(1)
    shape, axis, dtype = list(d.shape(rank)), d.axis(rank), d.dtype(op)
    parts = []
    for _ in range(d.rng.randint(1, 4)):
        shape[axis] = d.size()
        parts.append(d.fixed(d.values(dtype, tuple(shape)), 0.15))
    return d.made(op, parts, {"axis": axis})


@builds("Split")
def split(d, op):
    rank = d.rank(1)
    shape, axis = list(d.shape(rank)), d.axis(rank)
    sizes = [d.size() for _ in range(d.rng.randint(1, 4))]
    even = d.chance()
    shape[axis] = len(sizes) * d.size() if even else sum(sizes)
    if even and d.opset >= 18 and d.chance():
        shape[axis] = max(1, shape[axis] - 1) if len(sizes) > 1 and shape[axis] > len(sizes) else shape[axis]
    x = d.values(d.dtype(op), tuple(shape))
    attributes = {"axis": axis} if d.chance(0.8) or axis != 0 else {}
    if even:
        return d.made(op, [x], attributes | ({"num_outputs": len(sizes)} if d.opset >= 18 else {}), len(sizes))
    if d.opset < 13:
        return d.made(op, [x], attributes | {"split": sizes}, len(sizes))
    return d.made(op, [x, ints(*sizes)], attributes, len(sizes))


@builds("Transpose")
def transpose(d, op):
    rank = d.rank(0, 5)
    return d.made(op, [d.values(d.dtype(op), d.shape(rank))],
                  d.attributes(op, perm=d.maybe(d.rng.sample(range(rank), rank), 0.8)) if rank else {})


@builds("Reshape")
def reshape(d, op):
    shape = d.shape(d.rank(0, 4))
    count = int(numpy.prod(shape))
    factors = []
    while count > 1 and len(factors) < 4:
        factor = d.rng.choice([f for f in range(1, count + 1) if count % f == 0])
        factors.append(factor)
        count //= factor
    target = factors + [count] if count > 1 or d.chance(0.3) else factors
    target = list(target)
    allow = d.maybe(d.pick(0, 1), 0.3) if d.has(op, "allowzero") else None
    if target and d.chance(0.4):
        target[d.rng.randrange(len(target))] = -1
    for i in range(min(len(target), len(shape))):
        if target[i] == shape[i] and d.chance(0.4) and not allow:
            target[i] = 0
    return d.made(op, [d.values(d.dtype(op), shape), ints(*target)], d.attributes(op, allowzero=allow))


@builds("Squeeze")
def squeeze(d, op):
    rank = d.rank(1, 5)
    shape = list(d.shape(rank))
    axes = d.rng.sample(range(rank), d.rng.randint(0, rank))
    for a in axes:
        shape[a] = 1
    given = [a - rank if d.chance(0.3) and d.opset >= 11 else a for a in axes]
    x = d.values(d.dtype(op), tuple(shape))
    if d.chance(0.3):
        return d.made(op, [x])
    if d.opset < 13:
        return d.made(op, [x], {"axes": given} if given else {})
    return d.made(op, [x, ints(*given)])


@builds("Unsqueeze")
def unsqueeze(d, op):
    rank, more = d.rank(0, 3), d.rng.randint(1, 3)
    axes = d.rng.sample(range(rank + more), more)
    given = [a - rank - more if d.chance(0.3) and d.opset >= 11 else a for a in axes]
    x = d.values(d.dtype(op), d.shape(rank))
    return d.made(op, [x], {"axes": given}) if d.opset < 13 else d.made(op, [x, ints(*given)])


@builds("Shape", "Size")
def shape_of(d, op):
    rank = d.rank()
    bound = lambda: d.maybe(d.rng.randint(-rank - 1, rank + 1), 0.4)
    return d.made(op, [d.values(d.dtype(op), d.shape(rank))], d.attributes(op, start=bound(), end=bound()))


@builds("Slice")
def slices(d, op):
    rank = d.rank(1)
    shape = d.shape(rank)
    axes = d.rng.sample(range(rank), d.rng.randint(1, rank))
    edge = lambda n: d.pick(d.rng.randint(-n - 1, n + 1), d.rng.randint(-n, n), 2**31 - 1, -(2**31), 0)
    starts, ends = [edge(shape[a]) for a in axes], [edge(shape[a]) for a in axes]
    steps = [d.pick(1, 1, 2, 3, -1, -2) for _ in axes]
    x = d.values(d.dtype(op), shape)
    given = [a - rank if d.chance(0.3) and d.opset >= 10 else a for a in axes]
    if d.opset < 10:
        return d.made(op, [x], {"axes": given, "starts": starts, "ends": ends})
    kind = d.pick(numpy.int32, numpy.int64)
    pack = lambda values: (numpy.array(values, dtype=kind),)
    if axes == list(range(len(axes))) and d.chance(0.3):
        return d.made(op, [x, pack(starts), pack(ends)] + ([None, pack(steps)] if d.chance() else []))
    return d.made(op, [x, pack(starts), pack(ends), pack(given)] + ([pack(steps)] if d.chance(0.7) else []))


@builds("Expand")
def expand(d, op):
    a, b = broadcast_shapes(d, 2)
    return d.made(op, [d.values(d.dtype(op), a), ints(*b)])


@builds("Tile")
def tile(d, op):
    rank = d.rank()
    return d.made(op, [d.values(d.dtype(op), d.shape(rank)), ints(*(d.pick(1, 1, 2, 3) for _ in range(rank)))])


@builds("Trilu")
def trilu(d, op):
    x = d.values(d.dtype(op), d.shape(d.rank(2)))
    k = d.maybe((numpy.array(d.rng.randint(-6, 6), dtype=numpy.int64),))
    return d.made(op, [x, k], d.attributes(op, upper=d.maybe(d.pick(0, 1))))


@builds("EyeLike")
def eye_like(d, op):
    kind = d.maybe(d.pick(1, 6, 7, 11))
    return d.made(op, [d.values(d.dtype(op, "T1"), d.shape(2))], d.attributes(op, k=d.maybe(d.rng.randint(-4, 4)), dtype=kind))


@builds("ConstantOfShape")
def constant_of_shape(d, op):
    value = d.maybe(numpy_helper.from_array(d.values(d.pick(*TYPES.values()), (1,))))
    return d.made(op, [ints(*d.shape(d.rank()))], {} if value is None else {"value": value})


@builds("Range")
def ranges(d, op):
    dtype = d.dtype(op)
    start, step = d.pick(0, 1, -3, 2), d.pick(1, 2, -1, 3)
    limit = start + step * d.rng.randint(0, 6) - d.pick(0, 0, 1)
    return d.made(op, [(numpy.array(v, dtype=dtype),) for v in (start, limit, step)])


@builds("DepthToSpace", "SpaceToDepth")
def space_depth(d, op):
    block = d.pick(1, 2, 3)
    n, c, h, w = d.size(), d.pick(1, 2), d.pick(1, 2, 3), d.pick(1, 2, 3)
    shape = (n, c * block * block, h, w) if op == "DepthToSpace" else (n, c, h * block, w * block)
    return d.made(op, [d.values(d.dtype(op), shape)], d.attributes(op, blocksize=block, mode=d.maybe(d.pick("DCR", "CRD"))))


@builds("ReverseSequence")
def reverse_sequence(d, op):
    shape = d.shape(d.rank(2))
    batch = d.pick(0, 1)
    lengths = numpy.array([d.rng.randint(1, shape[1 - batch]) for _ in range(shape[batch])], dtype=numpy.int64)
    return d.made(op, [d.values(d.dtype(op), shape), d.fixed(lengths)], {"batch_axis": batch, "time_axis": 1 - batch})


@builds("Gather")
def gather(d, op):
    rank = d.rank(1)
    shape, axis = d.shape(rank), d.axis(rank)
    low = -shape[axis] if d.opset >= 11 else 0
    indices = d.np.integers(low, shape[axis], d.shape(d.rank(0, 2))).astype(d.pick(numpy.int32, numpy.int64))
    return d.made(op, [d.values(d.dtype(op), shape), d.fixed(indices)], {"axis": axis} if d.chance(0.8) or axis else {})


@builds("GatherElements")
def gather_elements(d, op):
    rank = d.rank(1)
    shape, axis = d.shape(rank), d.axis(rank)
    sizes = [d.rng.randint(1, s) for s in shape]
    sizes[axis] = d.size()
    indices = d.np.integers(-shape[axis], shape[axis], sizes).astype(d.pick(numpy.int32, numpy.int64))
    return d.made(op, [d.values(d.dtype(op), shape), d.fixed(indices)], {"axis": axis})


@builds("GatherND")
def gather_nd(d, op):
    rank = d.rank(1)
    shape = d.shape(rank)
    batch = d.rng.randint(0, min(rank - 1, 2)) if d.has(op, "batch_dims") else 0
    depth = d.rng.randint(1, rank - batch)
    lead = shape[:batch] + d.shape(d.rng.randint(0, 2))
    indices = numpy.stack([d.np.integers(-shape[batch + i], shape[batch + i], lead) for i in range(depth)], -1)
    return d.made(op, [d.values(d.dtype(op), shape), d.fixed(indices.astype(numpy.int64))],
                  d.attributes(op, batch_dims=batch or None))


@builds("Scatter", "ScatterElements")
def scatter(d, op):
    rank = d.rank(1)
    shape, axis, dtype = d.shape(rank), d.axis(rank), d.dtype(op)
    sizes = [d.rng.randint(1, s) for s in shape]
    reduction = d.maybe(d.pick("none", "add", "mul", "max", "min")) if d.has(op, "reduction") else None
    order = numpy.argsort(d.np.random([*sizes[:axis % rank], shape[axis], *sizes[axis % rank + 1:]]), axis)
    indices = numpy.take(order, range(sizes[axis]), axis)  # no index twice
    if d.chance(0.3):
        indices = indices - shape[axis] if d.opset >= 11 else indices
    return d.made(op, [d.values(dtype, shape), d.fixed(indices.astype(numpy.int64)), d.values(dtype, indices.shape)],
                  d.attributes(op, axis=axis, reduction=reduction))


@builds("ScatterND")
def scatter_nd(d, op):
    rank = d.rank(1)
    shape, dtype = d.shape(rank), d.dtype(op)
    depth = d.rng.randint(1, rank)
    cells = int(numpy.prod(shape[:depth]))
    count = d.rng.randint(1, cells)
    flat = d.np.permutation(cells)[:count]
    indices = numpy.stack(numpy.unravel_index(flat, shape[:depth]), -1)
    if d.chance(0.3):
        indices = indices - numpy.array(shape[:depth])
    reduction = d.maybe(d.pick("none", "add", "mul", "max", "min")) if d.has(op, "reduction") else None
    return d.made(op, [d.values(dtype, shape), d.fixed(indices.astype(numpy.int64)),
                       d.values(dtype, (count,) + shape[depth:])], d.attributes(op, reduction=reduction))


@builds("OneHot")
def one_hot(d, op):
    rank, depth = d.rank(0, 3), d.size()
    axis = d.maybe(d.rng.randint(-rank - 1, rank))
    indices = d.np.integers(-depth, depth, d.shape(rank)).astype(d.pick(numpy.int32, numpy.int64, numpy.float32))
    return d.made(op, [indices, (numpy.array(depth, dtype=numpy.int64),),
                       d.fixed(d.values(d.dtype(op, "T3"), (2,)))], d.attributes(op, axis=axis))


@builds("Pad")
def pad(d, op):
    rank = d.rank(1)
    shape, dtype = d.shape(rank), d.dtype(op)
    mode = d.maybe(d.pick("constant", "reflect", "edge", "wrap"))
    if mode == "wrap" and d.opset < 19:
        mode = "edge"
    amount = lambda s: d.rng.randint(-1 if d.chance(0.15) and s > 1 else 0, max(s - 1, 0) if mode in ("reflect", "wrap") else 3)
    pads = [amount(s) for s in shape] + [amount(s) for s in shape]
    if d.opset < 11:
        return d.made(op, [d.values(dtype, shape)], d.attributes(
            op, pads=pads, mode=mode, value=d.maybe(round(d.rng.uniform(-2, 2), 2))))
    inputs = [d.values(dtype, shape), ints(*pads), d.maybe(d.fixed(d.values(dtype, ()), 0.7))]
    if d.opset >= 18 and d.chance(0.4):
        axes = d.rng.sample(range(rank), d.rng.randint(1, rank))
        given = [a - rank if d.chance(0.3) else a for a in axes]
        inputs = [inputs[0], ints(*([pads[a] for a in axes] + [pads[rank + a] for a in axes])), inputs[2], ints(*given)]
    return d.made(op, inputs, d.attributes(op, mode=mode))


def window(d, dims, sizes, ceil=False):
    """Attributes of a window that fits."""
    kernel = [d.rng.randint(1, min(3, s)) for s in sizes]
    attributes = {}
    dilations = [d.pick(1, 1, 2) for _ in range(dims)] if d.chance(0.4) else None
    if dilations:
        attributes["dilations"] = dilations
    if d.chance():
        attributes["strides"] = [d.pick(1, 2, 3) for _ in range(dims)]
    kind = d.rng.random()
    if kind < 0.4:
        attributes["pads"] = [d.rng.randint(0, k - 1) if k > 1 else 0 for k in kernel * 2]
    elif kind < 0.65:
        attributes["auto_pad"] = d.pick("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET")
    if ceil and d.chance(0.4):
        attributes["ceil_mode"] = 1
    return kernel, attributes


@builds("AveragePool", "MaxPool", "LpPool")
def pool(d, op):
    dims = d.pick(1, 2, 2, 3)
    shape = (d.pick(1, 2), d.pick(1, 2, 3)) + tuple(d.rng.randint(2, 8) for _ in range(dims))
    kernel, attributes = window(d, dims, shape[2:], True)
    attributes |= {"kernel_shape": kernel}
    if d.chance(0.5):
        attributes["count_include_pad"] = d.pick(0, 1)
    if op == "LpPool" and d.chance(0.7):
        attributes["p"] = d.pick(1, 2, 3)
    x = d.values(d.dtype(op), shape)
    outputs = 1
    if op == "MaxPool" and d.chance(0.3):
        outputs = 2
        attributes["storage_order"] = d.pick(0, 0, 1)
        x = d.np.permutation(x.size).reshape(shape).astype(x.dtype)  # no two are equal
    return d.made(op, [x], d.attributes(op, **attributes), outputs)


@builds("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(d, op):
    return d.made(op, [d.values(d.dtype(op), d.shape(d.rank(3, 5)))], d.attributes(op, p=d.maybe(d.pick(1, 2, 3))))


@builds("Conv")
def conv(d, op):
    dims = d.pick(1, 2, 2, 3)
    groups = d.pick(1, 1, 2, 3)
    cin, cout = groups * d.pick(1, 2), groups * d.pick(1, 2)
    sizes = tuple(d.rng.randint(2, 8) for _ in range(dims))
    kernel, attributes = window(d, dims, sizes)
    dtype = d.dtype(op)
    if groups > 1:
        attributes["group"] = groups
    if d.chance():
        attributes["kernel_shape"] = kernel
    bias = d.maybe(d.fixed(d.values(dtype, (cout,)), 0.6))
    return d.made(op, [d.values(dtype, (d.pick(1, 2), cin) + sizes),
                       d.fixed(d.values(dtype, (cout, cin // groups, *kernel)), 0.6), bias], attributes)


@builds("ConvTranspose")
def conv_transpose(d, op):
    dims = d.pick(1, 2, 2)
    groups = d.pick(1, 1, 2)
    cin, cout = groups * d.pick(1, 2), d.pick(1, 2)
    sizes = tuple(d.rng.randint(1, 5) for _ in range(dims))
    kernel = [d.rng.randint(1, 3) for _ in range(dims)]
    attributes = {"strides": [d.pick(1, 2, 3) for _ in range(dims)]} if d.chance(0.7) else {}
    if d.chance(0.3):
        attributes["dilations"] = [d.pick(1, 2) for _ in range(dims)]
    strides = attributes.get("strides", [1] * dims)
    kind = d.rng.random()
    if kind < 0.4:
        attributes["pads"] = [d.rng.randint(0, k - 1) for k in kernel * 2]
    elif kind < 0.6:
        attributes["auto_pad"] = d.pick("SAME_UPPER", "SAME_LOWER", "VALID")
    if d.chance(0.3):
        attributes["output_padding"] = [d.rng.randint(0, s - 1) for s in strides]
    if d.chance(0.2) and "pads" not in attributes:
        attributes["output_shape"] = [s * t + d.pick(0, 1) for s, t in zip(sizes, strides)]
    if groups > 1:
        attributes["group"] = groups
    dtype = d.dtype(op)
    bias = d.maybe(d.fixed(d.values(dtype, (cout * groups,)), 0.6))
    return d.made(op, [d.values(dtype, (d.pick(1, 2), cin) + sizes),
                       d.fixed(d.values(dtype, (cin, cout, *kernel)), 0.6), bias], attributes)


@builds("ConvInteger")
def conv_integer(d, op):
    node = conv(d, "Conv")
    x, w = node.inputs[0][1], node.inputs[1][1]
    kind = d.pick(numpy.uint8, numpy.int8), d.pick(numpy.uint8, numpy.int8)
    inputs = [d.values(kind[0], x.shape, 0, 20), d.values(kind[1], w.shape, 0, 20)]
    if d.chance(0.7):
        inputs.append((d.values(kind[0], (), 0, 10),))
        if d.chance():
            inputs.append((d.values(kind[1], () if d.chance() else (w.shape[0],), 0, 10),))
    return d.made(op, inputs, node.attributes)


@builds("MatMul", "MatMulInteger")
def mat_mul(d, op):
    k = d.size()
    a = d.pick((k,), (d.size(), k), (d.size(), k))
    b = d.pick((k,), (k, d.size()), (k, d.size()))
    lead = d.shape(d.rank(0, 2))
    if len(a) == 2 and d.chance():
        a = tuple(1 if d.chance(0.3) else s for s in lead) + a
    if len(b) == 2 and d.chance():
        b = tuple(1 if d.chance(0.3) else s for s in lead) + b
    if op == "MatMul":
        dtype = d.dtype(op)
        return d.made(op, [d.values(dtype, a), d.fixed(d.values(dtype, b), 0.5)])
    kinds = d.pick(numpy.uint8, numpy.int8), d.pick(numpy.uint8, numpy.int8)
    inputs = [d.values(kinds[0], a, 0, 20), d.fixed(d.values(kinds[1], b, 0, 20))]
    if d.chance(0.7):
        inputs.append((d.values(kinds[0], (), 0, 10),))
        if d.chance():
            inputs.append((d.values(kinds[1], () if d.chance() or len(b) != 2 else (b[-1],), 0, 10),))
    return d.made(op, inputs)


@builds("Gemm")
def gemm(d, op):
    m, n, k = d.size(), d.size(), d.size()
    ta, tb, dtype = d.pick(0, 1), d.pick(0, 1), d.dtype(op)
    c = d.maybe(d.values(dtype, d.pick((m, n), (n,), (1, n), (m, 1), (1,), ())), 0.8)
    if c is None and d.opset < 11:
        raise Refused
    scale = lambda: d.maybe(d.pick(0.5, 2.0, 1.0, 0.0))
    return d.made(op, [d.values(dtype, (k, m) if ta else (m, k)), d.fixed(d.values(dtype, (n, k) if tb else (k, n)), 0.5),
                       None if c is None else d.fixed(c, 0.5)],
                  d.attributes(op, alpha=scale(), beta=scale(), transA=d.maybe(ta) if not ta else 1, transB=tb or None))


@builds("Einsum")
def einsum(d, op):
    sizes = {letter: d.size() for letter in "abcdij"}
    equation = d.pick("ij,ji->ij", "ab,bc->ac", "ab,cb->ac", "abc,acd->abd", "ij->ji", "ij->i", "ij->", "ii->i", "ii",
                      "ij,j", "a,b->ab", "abi,aci->abc", "...ij,...jd->...id", "i...->...i", "abc,bd", "ab,ab->", "iij->j")
    dtype = d.dtype(op)
    inputs = []
    for term in equation.split("->")[0].split(","):
        shape = tuple(sizes[letter] for letter in term.replace("...", ""))
        inputs.append(d.values(dtype, (2,) + shape if term.startswith("...") else shape + (2,) if "..." in term else shape))
    return d.made(op, inputs, {"equation": equation.replace("->", d.pick("->", " -> "))})


@builds("BatchNormalization")
def batch_norm(d, op):
    shape = d.shape(d.rank(2, 5))
    c, dtype = shape[1], d.dtype(op)
    vector = lambda low, high: (d.values(dtype, (c,), low, high),)
    return d.made(op, [d.values(dtype, shape), vector(-2, 2), vector(-2, 2), vector(-2, 2), vector(0, 2)],
                  d.attributes(op, epsilon=d.maybe(d.pick(1e-3, 1e-5, 0.1)), momentum=d.maybe(0.5)))


@builds("InstanceNormalization")
def instance_norm(d, op):
    shape = d.shape(d.rank(3, 5))
    dtype = d.dtype(op)
    vector = lambda: d.fixed(d.values(dtype, (shape[1],)), 0.7)
    return d.made(op, [d.values(dtype, shape), vector(), vector()], d.attributes(op, epsilon=d.maybe(d.pick(1e-3, 0.1))))


@builds("GroupNormalization")
def group_norm(d, op):
    groups = d.pick(1, 2, 3)
    shape = (d.size(), groups * d.pick(1, 2)) + d.shape(d.rank(1, 3))
    dtype = d.dtype(op)
    n = groups if d.opset < 21 else shape[1]
    return d.made(op, [d.values(dtype, shape), d.fixed(d.values(dtype, (n,))), d.fixed(d.values(dtype, (n,)))],
                  d.attributes(op, num_groups=groups, epsilon=d.maybe(d.pick(1e-3, 0.1))))


@builds("LayerNormalization", "RMSNormalization")
def layer_norm(d, op):
    rank = d.rank(1)
    shape, axis, dtype = d.shape(rank), d.axis(rank), d.dtype(op)
    inner = shape[axis % rank:]
    bias = d.maybe(d.fixed(d.values(dtype, inner))) if op == "LayerNormalization" else None
    return d.made(op, [d.values(dtype, shape), d.fixed(d.values(dtype, inner)), bias],
                  d.attributes(op, axis=axis, epsilon=d.maybe(d.pick(1e-3, 0.1))))


@builds("MeanVarianceNormalization")
def mean_variance(d, op):
    rank = d.rank(4, 4)
    return d.made(op, [d.values(d.dtype(op), d.shape(rank))], d.attributes(op, axes=d.maybe(d.pick([0, 2, 3], [1], [2, 3], [-1]))))


@builds("LRN")
def lrn(d, op):
    return d.made(op, [d.values(d.dtype(op), d.shape(d.rank(3, 4)))], d.attributes(
        op, size=d.pick(1, 3, 5, 2), alpha=d.maybe(0.05), beta=d.maybe(0.6), bias=d.maybe(2.0)))


@builds("Dropout")
def dropout(d, op):
    x = d.values(d.dtype(op), d.shape(d.rank()))
    if d.opset < 12:
        return d.made(op, [x], {"ratio": 0.3} if d.chance() else {})
    inputs = [x]
    if d.chance():
        inputs.append((numpy.array(d.pick(0.0, 0.5), dtype=numpy.float32),))
        if d.chance():
            inputs.append((numpy.array(False),))
    return d.made(op, inputs, {}, d.pick(1, 1, 2))


@builds("QuantizeLinear", "DequantizeLinear")
def quantize(d, op):
    shape = d.shape(d.rank(0, 4))
    axis = d.rng.randrange(len(shape)) if shape and d.opset >= 13 and d.chance() else None
    n = () if axis is None else (shape[axis],)
    kind = d.pick(numpy.uint8, numpy.int8)
    if d.opset >= 21 and d.chance(0.2):
        kind = d.pick(numpy.int16, numpy.uint16)
    scale = (d.values(numpy.float32, n, 0.05, 0.5),)
    zero = d.maybe((d.values(kind, n, 0, 5),))
    if op == "QuantizeLinear":
        x = d.values(numpy.float32, shape)
    else:
        kind = numpy.int32 if d.chance(0.15) and zero is None else kind
        x = d.values(kind, shape, -10 if numpy.iinfo(kind).min else 0, 10)
    if op == "QuantizeLinear" and zero is None:
        kind = numpy.uint8
    axis = None if axis is None else axis - len(shape) if d.chance(0.3) else axis
    return d.made(op, [numpy.nan_to_num(x), scale, zero], d.attributes(op, axis=axis))


@builds("DynamicQuantizeLinear")
def dynamic_quantize(d, op):
    return d.made(op, [numpy.nan_to_num(d.values(numpy.float32, d.shape(d.rank())), posinf=3, neginf=-3)], {}, 3)


@builds("QLinearMatMul")
def qlinear_mat_mul(d, op):
    m, n, k = d.size(), d.size(), d.size()
    kind = d.pick(numpy.uint8, numpy.int8)
    part = lambda shape: [d.values(kind, shape, 0, 20), (d.values(numpy.float32, (), 0.05, 0.3),), (d.values(kind, (), 0, 10),)]
    c = part(())
    return d.made(op, part((m, k)) + part((k, n)) + c[1:])


@builds("QLinearConv")
def qlinear_conv(d, op):
    node = conv(d, "Conv")
    x, w = node.inputs[0][1], node.inputs[1][1]
    kind = numpy.uint8
    one = lambda: (d.values(numpy.float32, (), 0.05, 0.3),)
    zero = lambda k: (d.values(k, (), 0, 10),)
    wkind = d.pick(numpy.uint8, numpy.int8)
    scales = (d.values(numpy.float32, (w.shape[0],), 0.05, 0.3),) if d.chance(0.4) else one()
    wzero = (numpy.zeros(scales[0].shape, wkind),)
    bias = d.maybe((d.values(numpy.int32, (w.shape[0],)),))
    return d.made(op, [d.values(kind, x.shape, 0, 20), one(), zero(kind), (d.values(wkind, w.shape, 0, 12),), scales, wzero,
                       one(), zero(kind), bias], node.attributes)


@builds("Resize")
def resize(d, op):
    rank = d.pick(3, 4, 4, 5)
    shape = (1, d.pick(1, 2)) + tuple(d.rng.randint(1, 5) for _ in range(rank - 2))
    mode = d.pick("nearest", "linear", "cubic")
    factor = lambda: d.pick(1.0, 2.0, 3.0, 0.5, 1.5, 2.5, 0.6)
    scales = [1.0, 1.0] + [factor() for _ in range(rank - 2)]
    x = d.values(d.dtype(op, "T1" if d.opset >= 11 else "T", REALS), shape)
    if d.opset < 11:
        return d.made(op, [x, (numpy.array(scales, numpy.float32),)], {"mode": d.pick("nearest", "linear")})
    attributes = d.attributes(
        op, mode=d.maybe(mode, 0.9),
        coordinate_transformation_mode=d.maybe(d.pick("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel",
                                                      "half_pixel_symmetric" if d.opset >= 19 else "asymmetric")),
        nearest_mode=d.maybe(d.pick("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")),
        cubic_coeff_a=d.maybe(d.pick(-0.5, -0.75)), exclude_outside=d.maybe(d.pick(0, 1), 0.3),
        antialias=d.maybe(d.pick(0, 1), 0.2))
    if d.chance():
        return d.made(op, [x, None if d.opset >= 13 else (numpy.zeros(0, numpy.float32),),
                           (numpy.array(scales, numpy.float32),)], attributes)
    sizes = list(shape[:2]) + [max(1, int(s * factor())) for s in shape[2:]]
    if d.opset >= 18 and d.chance(0.4):
        axes = list(range(2, rank))
        attributes |= {"axes": axes}
        sizes = sizes[2:]
        if d.chance():
            attributes |= {"keep_aspect_ratio_policy": d.pick("stretch", "not_larger", "not_smaller")}
    return d.made(op, [x, None if d.opset >= 13 else (numpy.zeros(0, numpy.float32),),
                       None if d.opset >= 13 else (numpy.zeros(0, numpy.float32),), ints(*sizes)], attributes)


@builds("Upsample")
def upsample(d, op):
    shape = (1, d.pick(1, 2), d.size(), d.size())
    scales = [1.0, 1.0, d.pick(1.0, 2.0, 3.0), d.pick(1.0, 2.0, 1.5)]
    return d.made(op, [d.values(numpy.float32, shape), (numpy.array(scales, numpy.float32),)],
                  {"mode": d.pick("nearest", "linear")})


@builds("RNN", "GRU", "LSTM")
def recurrent(d, op):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
    t, n, i, h = d.pick(1, 2, 3), d.pick(1, 2), d.size(), d.size()
    direction = d.maybe(d.pick("forward", "reverse", "bidirectional"))
    ways = 2 if direction == "bidirectional" else 1
    layout = d.pick(0, 0, 1) if d.has(op, "layout") and d.chance(0.3) else 0
    x = d.values(numpy.float32, (n, t, i) if layout else (t, n, i), -1, 1)
    weight = lambda *shape: (d.values(numpy.float32, shape, -1, 1),)
    lengths = d.maybe((numpy.array([d.rng.randint(1, t) for _ in range(n)], dtype=numpy.int32),), 0.3)
    start = lambda: d.maybe(weight(*((n, ways, h) if layout else (ways, n, h))), 0.4)
    inputs = [x, weight(ways, gates * h, i), weight(ways, gates * h, h), d.maybe(weight(ways, 2 * gates * h)), lengths, start()]
    if op == "LSTM":
        inputs += [start(), d.maybe(weight(ways, 3 * h), 0.3)]
    attributes = d.attributes(op, hidden_size=h, direction=direction, layout=layout or None,
                              linear_before_reset=d.maybe(d.pick(0, 1)), clip=d.maybe(0.7, 0.15),
                              input_forget=d.maybe(d.pick(0, 1), 0.15))
    if d.chance(0.2):
        names = {"RNN": 1, "GRU": 2, "LSTM": 3}[op]
        attributes["activations"] = [d.pick("Tanh", "Sigmoid", "Relu") for _ in range(names * ways)]
    return d.made(op, inputs, attributes, 3 if op == "LSTM" else 2)


@builds("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(d, op):
    n, c, dtype = d.size(), d.pick(2, 3, 5), d.dtype(op)
    rest = d.shape(d.rank(0, 2))
    labels = d.np.integers(0, c, (n, *rest)).astype(d.pick(numpy.int32, numpy.int64))
    weights = d.maybe(d.fixed(d.values(dtype, (c,), 0.1, 2)), 0.4)
    return d.made(op, [d.values(dtype, (n, c, *rest)), labels, weights],
                  d.attributes(op, reduction=d.maybe(d.pick("none", "sum", "mean")), ignore_index=d.maybe(d.pick(0, 1, -1), 0.3)))
