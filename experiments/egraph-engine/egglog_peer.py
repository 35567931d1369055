# SPDX-License-Identifier: Apache-2.0
"""The same workloads in egglog, in the same run on the same machine, where its Python package is installed.

Only workloads whose rules have no conditions and no analysis, and whose scheduler is the simple one: mm-N, assoc-N.
"""
import itertools
import re
import time


def version():
    try:
        import importlib.metadata
        return importlib.metadata.version("egglog")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def parse(text):
    """Lists and words of the first term of the text, and what follows it."""
    tokens = re.findall(r"[()]|[^\s()]+", text)
    stack = [[]]
    for count, token in enumerate(tokens):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
        if len(stack) == 1:
            return stack[0][0], tokens[count + 1:]
    raise ValueError(f"unbalanced: {text}")


class Program:
    """egglog's text for rules and terms in Egret's words: operators get names of their own, leaves are strings."""

    def __init__(self):
        self.operators = {}

    def term(self, tree):
        if isinstance(tree, str):
            return tree.replace("?", "v_") if tree.startswith("?") else f'(Leaf "{tree}")'
        name = self.operators.setdefault((tree[0], len(tree) - 1), f"Op{len(self.operators)}")
        return f"({' '.join([name, *map(self.term, tree[1:])])})"

    def text(self, rules, terms):
        body = []
        for line in filter(None, map(str.strip, rules.splitlines())):
            left, right = line.split(":", 1)[1].split("=>")
            body.append(f"(rewrite {self.term(parse(left)[0])} {self.term(parse(right)[0])})")
        body += [f"(let $start{i} {self.term(parse(term)[0])})" for i, term in enumerate(terms)]
        sorts = " ".join(f"({name} {' '.join(['T'] * arity)})" for (_, arity), name in self.operators.items())
        return "\n".join([f"(datatype T (Leaf String) {sorts})", *body])


def measure(rules, terms, iterations=None):
    """Seconds and e-nodes after so many iterations, or at saturation; None where egglog is not installed."""
    try:
        from egglog.bindings import EGraph
    except ImportError:
        return None
    program = Program()
    egraph = EGraph()
    egraph.run_program(*egraph.parse_program(program.text(rules, terms)))
    run = "(run 1)" if iterations is not None else "(run-schedule (saturate (run)))"
    commands = egraph.parse_program("\n".join(itertools.repeat(run, iterations or 1)))
    start = time.perf_counter()
    egraph.run_program(*commands)
    seconds = time.perf_counter() - start
    nodes = 0
    for name in ["Leaf", *program.operators.values()]:
        output = egraph.run_program(*egraph.parse_program(f"(print-size {name})"))
        nodes += int(re.search(r"\d+", str(output[-1]).rsplit("(", 1)[-1]).group())
    return seconds, nodes
