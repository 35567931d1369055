# SPDX-License-Identifier: Apache-2.0
"""TENSAT's published equations and rules as rules of Egret's language.

    python3 import_tensat.py taso_rules.txt > tensat.rules             equations a==b
    python3 import_tensat.py converted.txt > converted.rules           rules lhs=>rhs
    python3 import_tensat.py converted_multi.txt --pairs > multi.rules two lines are one rule

Equations that differ in the names of variables and in direction alone are one; those whose sides are
the same term say nothing and are left out (their number is printed).
"""
import argparse
import pathlib
import re
import sys

from published_terms import Equation, Op, Var, canonical, either_way, renamed, rule_text

ACTIVATIONS = {"0": "none", "1": "sigmoid", "2": "relu", "3": "tanh"}
CONSTANTS = {"Cpool": "pool_kernel", "Iconv": "identity_kernel", "Imatmul": "identity_matrix", "Iewmul": "ones"}
TOKEN = re.compile(r"[A-Za-z_0-9?]+|==|=>|[(),]")


def infix_terms(text):
    """The terms of f(a,b)==g(c)... as nested lists, in pairs."""
    tokens = TOKEN.findall(text)
    position = 0

    def term():
        nonlocal position
        name = tokens[position]
        position += 1
        if position == len(tokens) or tokens[position] != "(":
            return name
        parts = [name]
        while tokens[position] != ")":
            position += 1
            parts.append(term())
        position += 1
        return parts

    while position < len(tokens):
        left = term()
        assert tokens[position] == "==", tokens[position]
        position += 1
        yield left, term()


def prefix_term(text):
    """(f a (g b)) as nested lists."""
    stack = [[]]
    for token in TOKEN.findall(text):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    return stack[0][0]


def meaning(node):
    """The term of a nested list."""
    if isinstance(node, str):
        if node in CONSTANTS:
            return Op(CONSTANTS[node])
        return Var("i" + node.lstrip("?").removeprefix("input_"))
    name, *args = node
    if name in CONSTANTS:
        return Op(CONSTANTS[name])
    if name == "conv2d":
        sh, sw, pad, act, x, w = args
        assert pad == "0", "only SAME is known here"
        return Op("conv", (meaning(x), meaning(w)),
                  (("kernel", (3, 3)), ("strides", (int(sh), int(sw))), ("act", ACTIVATIONS[act])))
    if name in ("poolavg", "poolmax"):
        assert args[:5] == ["3", "3", "1", "1", "0"], "only 3x3, stride 1, SAME is known here"
        return Op({"poolavg": "avg_pool", "poolmax": "max_pool"}[name], (meaning(args[5]),))
    if name == "enlarge":
        return Op("enlarge", (meaning(args[2]),), (("kernel", (int(args[0]), int(args[1]))),))
    if name == "concat":
        given = [int(a) for a in args if isinstance(a, str) and a.isdigit()]
        operands = tuple(meaning(a) for a in args[len(given):])
        params = (("axis", given[0]),) + ((("rank", given[1]),) if len(given) > 1 else ())
        return Op("concat", operands, params)
    if name in ("split_0", "split_1"):
        part = int(name[-1])
        if isinstance(args[0], list) and args[0][0] == "split":
            args = args[0][1:]
        return Op("split", (meaning(args[1]),), (("axis", int(args[0])), ("part", part)))
    if name == "matmul":
        if len(args) == 3:
            assert args[0] == "0", "only products without activation are known here"
            args = args[1:]
        return Op("matmul", tuple(map(meaning, args)))
    assert name in ("ewadd", "ewmul", "smul", "relu", "transpose"), name
    return Op(name, tuple(map(meaning, args)))


def equations(text):
    seen, same, total = set(), 0, 0
    for left, right in infix_terms(text):
        total += 1
        outputs = ((meaning(left), meaning(right)),)
        key = canonical(outputs)
        if key in seen:
            continue
        seen.add(key)
        if renamed(outputs)[0][0] == renamed(outputs)[0][1]:
            same += 1
            continue
        yield Equation(f"tensat-{total - 1:03}", list(outputs))
    print(f"{total} equations, {len(seen)} up to renaming and direction, {same} of them of equal sides",
          file=sys.stderr)


def rules(text, pairs):
    lines = [line.split("=>") for line in text.split("\n") if line.strip()]
    terms = [(meaning(prefix_term(left)), meaning(prefix_term(right))) for left, right in lines]
    size = 2 if pairs else 1
    for number in range(0, len(terms), size):
        name = "multi" if pairs else "converted"
        yield Equation(f"{name}-{number // size:03}", terms[number:number + size])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--pairs", action="store_true", help="two lines that follow each other are one rule")
    parser.add_argument("--exclude-padding", action="store_true", help="average pools do not count padding")
    arguments = parser.parse_args()
    text = pathlib.Path(arguments.file).read_text()
    meaning_of_pools = {"count_padding": not arguments.exclude_padding}
    print(f"# From TENSAT's {pathlib.Path(arguments.file).name} (MIT), by import_tensat.py.\n")
    if "==" in text:
        for equation in equations(text):
            print(either_way(equation, **meaning_of_pools))
    else:
        for equation in rules(text, arguments.pairs):
            print(rule_text(equation, **meaning_of_pools))


if __name__ == "__main__":
    main()
