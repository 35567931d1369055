# SPDX-License-Identifier: Apache-2.0
"""Terms over the operators of TASO and TENSAT, and their meaning in Egret's rule language.

A published rule is parsed into an Equation over Var and Op terms; `rule_text` states it as a rule.
What a published operator leaves to its implementation is fixed here, once:

- Elementwise operators take operands of one shape.
- Convolutions and pools leave kernel, strides, paddings and dilations open: an equation is claimed
  for all of them, not only for 3x3, stride 1, SAME. Where it speaks of identity, pool or enlarged
  kernels, all are as published: 3x3, stride 1, SAME.
- A convolution on the left has one group; on the right as many as its input has multiples of its
  kernel's channels (TASO's way to say so). With `as_written` nothing is left open.
- An activation inside of a convolution is a fused convolution with a bias of zeros.
- `split` cuts where its operand was concatenated: the boundary is followed through what is between.
- Average pools count padding, as TASO's axioms mean them (or do not, with `count_padding=False`: then
  a window of nothing but padding has no value).
"""
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Var:
    name: str


@dataclass(frozen=True)
class Op:
    name: str
    args: tuple = ()
    params: tuple = ()  # ((key, value), ...)

    def __getitem__(self, key):
        return dict(self.params)[key]


@dataclass
class Equation:
    name: str
    outputs: list  # (left, right), for each output
    doc: str = ""

    def rank(self):
        """That of all its tensors, as no operator changes it; None if it is open."""
        names = operators(self)
        if names & {"conv", "enlarge"} | names & POOLS:
            return 4
        given = {t["rank"] for pair in self.outputs for side in pair for t in subterms(side)
                 if isinstance(t, Op) and "rank" in dict(t.params)}
        assert len(given) <= 1
        if given:
            return given.pop()
        return 2 if names & {"transpose", "identity_matrix"} or names >= {"matmul", "concat"} else None


class Untranslatable(Exception):
    pass


KERNEL_CONSTANTS = {"identity_kernel", "pool_kernel"}
SHAPE_KEEPERS = {"ewadd", "ewmul", "smul", "relu"}
POOLS = {"avg_pool", "max_pool"}


def subterms(term):
    yield term
    if isinstance(term, Op):
        for argument in term.args:
            yield from subterms(argument)


def variables(term):
    """Variables in the order in which they appear."""
    return list(dict.fromkeys(t for t in subterms(term) if isinstance(t, Var)))


def operators(equation):
    return {t.name for pair in equation.outputs for side in pair for t in subterms(side) if isinstance(t, Op)}


def renamed(outputs):
    """The pairs with variables named by the order in which they appear."""
    names = {}

    def walk(term):
        if isinstance(term, Var):
            return Var(names.setdefault(term.name, f"v{len(names)}"))
        return Op(term.name, tuple(map(walk, term.args)), term.params)

    return tuple((walk(left), walk(right)) for left, right in outputs)


def reversed_outputs(outputs):
    return tuple((right, left) for left, right in outputs)


def canonical(outputs):
    """Equal for equations that differ in the names of variables and in direction alone."""
    return min(repr(renamed(outputs)), repr(renamed(reversed_outputs(outputs))))


@dataclass
class Writer:
    """States one equation, left to right."""
    equation: Equation
    as_written: bool = False
    count_padding: bool = True
    sources: list = field(default_factory=list)
    conditions: list = field(default_factory=list)
    on_left: bool = True
    fresh: int = 0
    named: dict = field(default_factory=dict)
    partner: object = None  # the term that says how large a constant is: (kind, term)

    def __post_init__(self):
        names = operators(self.equation)
        self.fixed_windows = bool(names & (KERNEL_CONSTANTS | {"enlarge"}))
        everything = variables(Op("all", tuple(t for pair in self.equation.outputs for t in pair)))
        scalars = {t.args[1] for pair in self.equation.outputs for side in pair for t in subterms(side)
                   if isinstance(t, Op) and t.name == "smul"}
        self.scalars = scalars
        self.depthwise = {v for pair in self.equation.outputs for side in pair for t in subterms(side)
                          if isinstance(t, Op) and t.name in ("ewadd", "ewmul", "concat")
                          and any(isinstance(a, Op) and a.name == "pool_kernel" for a in t.args)
                          for v in variables(t)}
        for variable in everything:
            if variable in self.depthwise:
                self.require(f"dim(?{variable.name}, 1) == 1")
        self.like = next(v.name for v in everything if v not in scalars)
        if names & {"avg_pool", "pool_kernel"}:  # quotients of integers would be truncated
            self.require(f"is_float(?{self.like})")
        rank = self.equation.rank()
        for variable in everything:
            if variable in scalars:
                self.require(f"rank(?{variable.name}) == 0")
            elif rank:
                self.require(f"rank(?{variable.name}) == {rank}")

    def name(self, prefix):
        self.fresh += 1
        return f"{prefix}{self.fresh}"

    def require(self, condition):
        if condition not in self.conditions:
            self.conditions.append(condition)

    # --- sizes, as expressions over variables

    def has_size(self, term):
        """Whether the term has a size of its own: it is more than a constant times a scalar."""
        return any(v not in self.scalars for v in variables(term))

    def dim(self, term, axis):
        if isinstance(term, Var):
            return "1" if axis == 1 and term in self.depthwise else f"dim(?{term.name}, {axis})"
        name, args = term.name, term.args
        if name in ("ewadd", "ewmul"):
            return self.dim(args[0] if self.has_size(args[0]) else args[1], axis)
        if name in SHAPE_KEEPERS or name in POOLS and (axis < 2 or self.fixed_windows) \
                or name == "enlarge" and axis < 2:
            return self.dim(args[0], axis)
        if name == "enlarge":
            return str(term["kernel"][axis - 2])
        if name == "transpose":
            return self.dim(args[0], 1 - axis)
        if name == "concat":
            parts = [self.dim(a, axis) for a in args]
            return "(" + " + ".join(parts) + ")" if term["axis"] == axis else parts[0]
        if name == "matmul":
            return self.dim(args[axis], axis)
        if name == "conv" and axis < 2:
            return self.beside(args[0], lambda: self.dim(args[axis], 0))
        if name == "split" and term["axis"] == axis:
            return self.boundary(args[0], axis)[term["part"]]
        if name == "split":
            return self.dim(args[0], axis)
        if name in KERNEL_CONSTANTS:
            channels = self.dim(self.partner, 1)
            return (channels, "1" if name == "pool_kernel" else channels, "3", "3")[axis]
        raise Untranslatable(f"the size of axis {axis} of {name}")

    def boundary(self, term, axis):
        """The two sizes into which the axis was concatenated."""
        if isinstance(term, Op):
            name, args = term.name, term.args
            if name == "concat" and term["axis"] == axis:
                return tuple(self.dim(a, axis) for a in args)
            if name in SHAPE_KEEPERS or name in POOLS or name == "concat":
                return self.boundary(args[0], axis)
            if name == "transpose":
                return self.boundary(args[0], 1 - axis)
            if name == "matmul":
                return self.boundary(args[axis], axis)
            if name == "conv" and axis < 2:
                return self.boundary(args[axis], 0)
        raise Untranslatable("a split of what was not concatenated")

    # --- terms

    def text(self, term):
        return f"?{term.name}" if isinstance(term, Var) else getattr(self, term.name)(term)

    def reference(self, term):
        """A name for the term, on the left, for conditions to speak of."""
        if isinstance(term, Var):
            return f"?{term.name}"
        if term not in self.named:
            made = self.text(term)
            self.named[term] = self.name("t")
            self.sources.append(f"{self.named[term]} = {made}")
        return self.named[term]

    def beside(self, partner, what):
        """The result of `what`, with constants as large as they must be beside the partner."""
        before, self.partner = self.partner, partner
        try:
            return what()
        finally:
            self.partner = before

    def within(self, partner, term):
        return self.beside(partner, lambda: self.text(term))

    def elementwise(self, term, operator):
        a, b = term.args
        if self.has_size(a) and self.has_size(b):
            if not self.on_left:
                return f"{operator}({self.text(a)}, {self.text(b)})"
            left, right = self.reference(a), self.reference(b)
            if left != right:
                self.require(f"same_type({left}, {right})")
            return f"{operator}({left}, {right})"
        # A constant beside a term has its shape, a kernel that of the convolution it is in.
        partner = a if self.has_size(a) else b
        kernel = any(isinstance(t, Op) and t.name in KERNEL_CONSTANTS for t in subterms(term))
        return f"{operator}({', '.join(self.within(self.partner if kernel else partner, t) for t in (a, b))})"

    def ewadd(self, term):
        return self.elementwise(term, "add")

    def ewmul(self, term):
        return self.elementwise(term, "mul")

    def smul(self, term):
        return f"mul({self.text(term.args[0])}, {self.text(term.args[1])})"

    def relu(self, term):
        return f"relu({self.text(term.args[0])})"

    def matmul(self, term):
        a, b = term.args
        if self.has_size(a) and self.has_size(b):
            return f"matmul({self.text(a)}, {self.text(b)})"
        if self.has_size(a):
            return f"matmul({self.text(a)}, {self.within(Op('transpose', (a,)), b)})"
        return f"matmul({self.within(b, a)}, {self.text(b)})"

    def transpose(self, term):
        return f"transpose{{perm=[1, 0]}}({self.text(term.args[0])})"

    def concat(self, term):
        return f"concat{{axis={term['axis']}}}({', '.join(map(self.text, term.args))})"

    def split(self, term):
        sizes = self.boundary(term.args[0], term["axis"])
        start = ("0", sizes[0])[term["part"]]
        return (f"slice{{axis={term['axis']}, start={start}, size={sizes[term['part']]}, step=1}}"
                f"({self.text(term.args[0])})")

    def conv(self, term):
        x, w = term.args
        image = self.text(x)
        kernel, bias, sizes, channels, given = self.beside(x, lambda: (
            self.text(w), "" if term["act"] == "none" else ", " + self.zeros(w),
            self.window_sizes(term), self.dim(w, 1), self.dim(x, 1)))
        if sizes:
            before = ["1" if s == "3" else f"({s} - 1) / 2" for s in sizes]
            after = ["1" if s == "3" else f"{s} / 2" for s in sizes]
            attrs = f"dilations=[1, 1], pads=[{', '.join(before + after)}], strides={list(term['strides'])}"
        else:
            attrs = "*c"
        plain = self.on_left and channels != "1"
        group = "1" if plain else f"{given} / {channels}"
        if term["act"] == "none":
            return f"conv{{{attrs}, group={group}}}({image}, {kernel})"
        return f"fused_conv{{{attrs}, group={group}, activation=\"{term['act']}\"}}({image}, {kernel}{bias})"

    def window_sizes(self, term):
        """Those of the convolution's kernel where paddings are SAME; None where any are meant."""
        if not self.as_written and not self.fixed_windows:
            return None
        w = term.args[1]
        if self.as_written and isinstance(w, Var) and self.on_left:
            for axis, size in zip((2, 3), term["kernel"]):
                self.require(f"dim(?{w.name}, {axis}) == {size}")
        return [self.dim(w, axis) for axis in (2, 3)]

    def zeros(self, kernel):
        if not self.on_left:
            return f"fill{{shape=[{self.dim(kernel, 0)}], value=0.0, dtype=dtype(?{self.like})}}()"
        name = self.name("zero")
        self.require(f"splat(?{name}, 0)")
        return f"?{name}"

    def pool(self, operator, x, meaning):
        attrs = meaning + "*p"
        if self.fixed_windows or self.as_written:
            attrs = meaning + "kernel=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1], dilations=[1, 1]"
        return f"{operator}{{{attrs}}}({self.text(x)})"

    def avg_pool(self, term):
        return self.pool("avg_pool", term.args[0], f"count_include_pad={int(self.count_padding)}, ")

    def max_pool(self, term):
        return self.pool("max_pool", term.args[0], "")

    # --- constants

    def fill(self, shape, value):
        return f"fill{{shape={shape}, value={value}, dtype=dtype(?{self.like})}}()"

    def eye(self, rows, columns):
        return f"eye{{rows={rows}, columns={columns}, k=0, dtype=dtype(?{self.like})}}()"

    def identity_matrix(self, _):
        rows, columns = self.dim(self.partner, 0), self.dim(self.partner, 1)
        if self.partner.name == "transpose":  # of the left factor: square
            columns = rows
        return self.eye(rows, rows if columns == rows else columns)

    def ones(self, _):
        return self.fill(f"shape({self.text(self.partner)})", "1.0")

    def identity_kernel(self, _):
        channels = self.dim(self.partner, 1)
        return (f"pad{{before=[0, 0, 1, 1], after=[0, 0, 1, 1], mode=\"constant\", value=0.0}}"
                f"(reshape{{shape=[{channels}, {channels}, 1, 1]}}({self.eye(channels, channels)}))")

    def pool_kernel(self, _):
        ones = self.fill(f"[{self.dim(self.partner, 1)}, 1, 3, 3]", "1.0")
        return f"div({ones}, {self.fill('[1, 1, 1, 1]', '9.0')})"

    def enlarge(self, term):
        """Zeros around a kernel; centred, as SAME padding is, when the kernel's sizes are odd."""
        w = term.args[0]
        sizes = [self.dim(w, axis) for axis in (2, 3)]
        for size, whole in zip(sizes, term["kernel"]):
            self.require(f"{size} % 2 == 1")
            self.require(f"{size} <= {whole}")
        margins = [f"({whole} - {size}) / 2" for size, whole in zip(sizes, term["kernel"])]
        both = f"[0, 0, {', '.join(margins)}]"
        return f"pad{{before={both}, after={both}, mode=\"constant\", value=0.0}}({self.text(w)})"


def rule_text(equation, writer=Writer, **options):
    """The equation as a rule of Egret's language, from the side that has all variables."""
    lefts = [left for left, _ in equation.outputs]
    rights = [right for _, right in equation.outputs]
    bound = {v for left in lefts for v in variables(left)}
    if not bound >= {v for right in rights for v in variables(right)}:
        raise Untranslatable("the right side has a variable that the left has not")
    writer = writer(equation, **options)
    if any(isinstance(t, Op) and not t.args for left in lefts for t in subterms(left)):
        # Constants are as large as a variable says: name it first, so that it is looked at first.
        writer.sources.append(f"first = identity(?{writer.like})")
    bodies = [writer.text(left) for left in lefts]
    writer.on_left = False
    targets = [writer.text(right) for right in rights]
    names = ["out"] if len(bodies) == 1 else [f"out{i}" for i in range(len(bodies))]
    lines = [f'rule {equation.name} "{equation.doc}"' if equation.doc else f"rule {equation.name}"]
    lines += [f"  {source}" for source in writer.sources]
    lines += [f"  {name} = {body}" for name, body in zip(names, bodies)]
    if writer.conditions:
        lines.append("  where " + "\n    and ".join(writer.conditions))
    arrows = ["=>"] + ["  "] * len(targets)
    lines += [f"  {arrow} {name} = {target}" for arrow, name, target in zip(arrows, names, targets)]
    return "\n".join(lines) + "\n"


def either_way(equation, **options):
    """As `rule_text`, from the left if possible, else from the right."""
    try:
        return rule_text(equation, **options)
    except Untranslatable:
        turned = Equation(equation.name, list(reversed_outputs(equation.outputs)), equation.doc)
        return rule_text(turned, **options)
