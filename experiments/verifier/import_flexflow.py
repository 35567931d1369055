# SPDX-License-Identifier: Apache-2.0
"""FlexFlow's parallel rules (graph_subst_3_v2.json) as rules of Egret's language, values only.

    python3 import_flexflow.py graph_subst_3_v2.json.xz > flexflow.rules

Tensors are whole, with three axes: replicas, samples, channels (weights: replicas, outputs, inputs).
What the operators do to them is in README.md. Rules that are no equations (a right side with an input
that the left has not) are listed on standard error, a line each.
"""
import argparse
import json
import lzma
import sys

from published_terms import Equation, Op, Untranslatable, Var, Writer, rule_text, subterms

TYPES = {"OP_PARTITION": "partition", "OP_COMBINE": "combine", "OP_REPLICATE": "replicate", "OP_REDUCE": "reduce",
         "OP_LINEAR": "linear", "OP_RELU": "relu", "OP_EW_ADD": "ewadd", "OP_EW_MUL": "ewmul", "OP_CONCAT": "concat",
         "OP_SPLIT": "split"}


def terms_of(operators):
    terms = {}

    def tensor(reference):
        if reference["opId"] < 0:
            return Var(f"i{-reference['opId']}")
        return terms[reference["opId"], reference["tsId"]]

    for number, operator in enumerate(operators):
        name = TYPES[operator["type"]]
        given = {p["key"]: p["value"] for p in operator["para"]}
        assert given.get("PM_PARALLEL_DEGREE", 2) == 2
        args = tuple(tensor(t) for t in operator["input"])
        params = ()
        if "PM_PARALLEL_DIM" in given:
            params = (("axis", given["PM_PARALLEL_DIM"]),)
        elif name == "concat":
            params = (("axis", given["PM_AXIS"]), ("rank", given["PM_NUMDIM"]))
        elif name == "linear":
            params = (("relu", given["PM_ACTI"] == 2),)
        if name == "split":
            for part in (0, 1):
                terms[number, part] = Op(name, args, (("axis", given["PM_AXIS"]), ("part", part)))
        else:
            terms[number, 0] = Op(name, args, params)
    return terms


def equations(path):
    with lzma.open(path) as file:
        rules = json.load(file)["rule"]
    for number, rule in enumerate(rules):
        left, right = terms_of(rule["srcOp"]), terms_of(rule["dstOp"])

        def side(graph, operator, output):
            return graph[operator, output] if operator >= 0 else Var(f"i{-operator}")

        yield Equation(f"flexflow-{number:03}", [
            (side(left, m["srcOpId"], m["srcTsId"]), side(right, m["dstOpId"], m["dstTsId"]))
            for m in rule["mappedOutput"]])


class ParallelWriter(Writer):
    """The operators of a parallel graph, on whole tensors."""

    def __post_init__(self):
        self.first_sizes = {}
        if any(t.name == "linear" for pair in self.equation.outputs for s in pair for t in subterms(s)
               if isinstance(t, Op)):
            for pair in self.equation.outputs:
                for side in pair:
                    self.find_replicas(side, [])
        super().__post_init__()
        for name, size in sorted(self.first_sizes.items()):
            self.require(f"dim(?{name}, 0) == {size}")

    def find_replicas(self, term, above):
        """How many replicas a variable has at least, for those above it to sum them."""
        if isinstance(term, Var):
            needed, have = 1, 1
            for factor in reversed(above):
                have *= factor
                if have < 1:
                    needed, have = needed * 2, 1
            self.first_sizes[term.name] = max(needed, self.first_sizes.get(term.name, 1))
            return
        factor = {"replicate": 2, "concat": 2, "reduce": 0.5, "split": 0.5}.get(term.name, 1)
        along = dict(term.params).get("axis") == 0
        for argument in term.args:
            self.find_replicas(argument, above + [factor if along else 1] if term.name != "linear" else [])

    def replicas(self, term):
        """The size of axis 0, a number."""
        if isinstance(term, Var):
            return self.first_sizes[term.name]
        first = self.replicas(term.args[0])
        along = dict(term.params).get("axis") == 0
        if term.name == "linear":
            return self.partial_sums(term)
        if term.name == "concat" and along:
            return sum(map(self.replicas, term.args))
        if term.name == "replicate" and along:
            return 2 * first
        if term.name in ("reduce", "split") and along:
            if first % 2:
                raise Untranslatable("half of an odd number of replicas")
            return first // 2
        return first

    def cuts(self, term, axis):
        """Into how many parts an axis is cut, beyond how its variables are."""
        if isinstance(term, Var):
            return 1
        along = dict(term.params).get("axis") == axis
        below = self.cuts(term.args[0], axis) if term.name != "linear" else 1
        return below * 2 if term.name == "partition" and along else (
            max(1, below // 2) if term.name == "combine" and along else below)

    def partial_sums(self, term):
        """Those of a product whose operands are both cut along the inner axis."""
        x, w = term.args
        return min(self.cuts(x, 2), self.cuts(w, 2))

    def dim(self, term, axis):
        if isinstance(term, Op):
            if axis == 0 and self.first_sizes:
                return str(self.replicas(term))
            if term.name in ("partition", "combine"):
                return self.dim(term.args[0], axis)
            if term.name in ("replicate", "reduce"):
                inner = self.dim(term.args[0], axis)
                if term["axis"] != axis:
                    return inner
                return f"2 * {inner}" if term.name == "replicate" else f"({inner}) / 2"
            if term.name == "linear":
                return self.dim(term.args[axis - 1], 1)
        elif axis == 0 and self.first_sizes:
            return str(self.first_sizes[term.name])
        return super().dim(term, axis)

    def boundary(self, term, axis):
        if isinstance(term, Op):
            if term.name == "linear" and axis > 0:
                return self.boundary(term.args[axis - 1], 1)
            if term.name in ("partition", "combine") or (
                    term.name in ("replicate", "reduce") and term["axis"] != axis):
                return self.boundary(term.args[0], axis)
        return super().boundary(term, axis)

    def partition(self, term):
        return f"identity({self.text(term.args[0])})"

    combine = partition

    def replicate(self, term):
        copy = self.reference(term.args[0]) if self.on_left else self.text(term.args[0])
        return f"concat{{axis={term['axis']}}}({copy}, {copy})"

    def cut(self, text, axis, total, parts):
        """The equal parts of a term along an axis."""
        if parts == 1:
            return [text]
        if not total.isdigit() and self.on_left:
            self.require(f"({total}) % {parts} == 0")
        size = str(int(total) // parts) if total.isdigit() else f"({total}) / {parts}"
        return [f"slice{{axis={axis}, start={i} * ({size}), size={size}, step=1}}({text})" for i in range(parts)]

    def reduce(self, term):
        x = term.args[0]
        summed = self.reference(x) if self.on_left else self.text(x)
        first, second = self.cut(summed, term["axis"], self.dim(x, term["axis"]), 2)
        return f"add({first}, {second})"

    def linear(self, term):
        x, w = term.args
        image = self.reference(x) if self.on_left else self.text(x)
        kernel = self.reference(w) if self.on_left else self.text(w)
        samples, outputs, inner = self.dim(x, 1), self.dim(w, 1), self.dim(x, 2)
        parts = self.partial_sums(term)
        sums = []
        for image_part, kernel_part in zip(self.cut(image, 2, inner, parts), self.cut(kernel, 2, inner, parts)):
            columns = []
            for replica, weights in zip(self.cut(image_part, 0, str(self.replicas(x)), self.replicas(x)),
                                        self.cut(kernel_part, 1, outputs, self.replicas(x))):
                rows = [f"matmul({part}, transpose{{perm=[0, 2, 1]}}({copy}))" for part, copy in
                        zip(self.cut(replica, 1, samples, self.replicas(w)),
                            self.cut(weights, 0, str(self.replicas(w)), self.replicas(w)))]
                columns.append(joined(rows, 1))
            sums.append(joined(columns, 2))
        whole = joined(sums, 0)
        return f"relu({whole})" if term["relu"] else whole


def joined(parts, axis):
    return parts[0] if len(parts) == 1 else f"concat{{axis={axis}}}({', '.join(parts)})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("file")
    arguments = parser.parse_args()
    print("# From FlexFlow's graph_subst_3_v2.json (Apache-2.0), by import_flexflow.py.\n")
    for equation in equations(arguments.file):
        try:
            print(rule_text(equation, writer=ParallelWriter))
        except Untranslatable as problem:
            print(f"{equation.name}: {problem}", file=sys.stderr)


if __name__ == "__main__":
    main()
