# SPDX-License-Identifier: Apache-2.0
"""docs/discovered_rules.md: the useful rules among the generated ones that are about operators, or windows, which
TASO's generator has not.

    python3 experiments/generator/discovered.py > docs/discovered_rules.md

Useful is a rule that makes part of a model's result (experiments/results/rule-sets/full.uses.csv), or whose right side has
fewer operators, or that an optimizer of experiments/rule-sets may apply to bring others about.
"""
import collections
import csv
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
GENERATED = ROOT / "rules" / "data" / "generated"
USES = ROOT / "experiments" / "results" / "rule-sets" / "full.uses.csv"
# What TASO's generator has.
TASO = {"matmul", "add", "mul", "relu", "concat", "slice", "transpose", "eye", "fill", "conv", "max_pool", "avg_pool", "pad",
        "reshape", "div"}
OPERATOR = re.compile(r"\b([a-z_]+)(?:\{[^}]*\})?\(")
NOT_OPERATORS = {"dim", "rank", "compose", "index_of", "inverse", "same_type", "is_float", "dtype", "sorted", "contains",
                 "constant", "not", "and", "or", "whole", "at"}
TITLES = {"arithmetic": "Arithmetic", "functions": "Functions of one element", "reductions": "Reductions",
          "values": "Functions by value", "reshapes": "Reshapes", "softmaxes": "Softmax", "softmax_parts": "Softmax from its parts",
          "normalizations": "Normalizations", "norm_parts": "Layer norms from their parts", "attention": "Attention",
          "heads": "Attention, cut and joined", "convolutions": "Convolutions", "pools": "Pools", "padding": "Padding",
          "fusion": "Fused kernels"}


def operators(term):
    return [name for name in OPERATOR.findall(term) if name not in NOT_OPERATORS]


class Rule:
    def __init__(self, text):
        self.text = text.strip()
        head, *lines = self.text.split("\n")
        self.name = head.split()[1]
        self.extra = "[extra" in head
        lines = [line.strip() for line in lines]
        self.left = next(line for line in lines if " = " in line and not line.startswith(("where", "heuristic", "=>", "let")))
        self.right = next(line for line in lines if line.startswith("=>"))[2:].strip()
        self.left, self.right = (side.split(" = ", 1)[1] for side in (self.left, self.right))
        self.heuristics = [line[len("heuristic "):] for line in lines if line.startswith("heuristic ")
                           and "not constant(" not in line and "before(" not in line]
        self.wheres = [line[len("where "):] for line in lines if line.startswith("where ")]

    def is_beyond_taso(self):
        return bool(set(operators(self.left) + operators(self.right)) - TASO) or "strides=?" in self.text

    def is_about_nothing(self):
        """A tensor less itself: true, and in no model."""
        return bool(re.search(r"\b(sub|div)\((\w*\(?\?\w+\)*), \2\)", self.left + self.right)) or not re.search(r"\?\w+\W", self.left)

    def saves(self):
        return len(operators(self.left)) - len(operators(self.right))

    def what(self):
        left, right = operators(self.left), operators(self.right)
        if not right:
            return f"{' of '.join(left)} cancels"
        if len(left) == 2 and right == left[::-1]:
            return f"{left[0]} passes {left[1]}"
        if len(left) == 3 and left[1] == left[2] and right == [left[1], left[0]]:
            return f"{left[0]} of two {left[1]} is one {left[1]}"
        if len(right) == 3 and right[1] == right[2] and left == [right[1], right[0]]:
            return f"{left[0]} of {left[1]} is {right[0]} of two {left[0]}"
        if sorted(left) == sorted(right):
            return f"{', '.join(left)} in another order"
        return f"{', '.join(left)} as {', '.join(right)}"


def read(path):
    return [Rule(text) for text in re.split(r"^(?=rule )", path.read_text(), flags=re.MULTILINE)[1:]]


def main():
    uses = collections.defaultdict(dict)
    if USES.exists():
        with open(USES, newline="") as file:
            for row in csv.DictReader(file):
                if row["set"] == "default":
                    uses[row["rule"]][row["model"]] = int(row["count"]), int(row["applied"])
    chapters = []
    for space in TITLES:
        path = GENERATED / f"{space}.rules"
        rules = read(path) if path.exists() else []
        by_name = {rule.name: rule for rule in rules}
        chosen = []
        for rule in rules:
            back = by_name.get(rule.name.removesuffix("-reversed")) if rule.name.endswith("-reversed") else None
            if rule.extra or (back is not None and not back.extra and not uses[rule.name]):
                continue
            if not rule.is_beyond_taso() or rule.is_about_nothing() or "-parts" in rule.name:
                continue
            chosen.append(rule)
        if chosen:
            chapters.append((space, chosen))
    total = sum(len(chosen) for _, chosen in chapters)
    firing = sum(1 for _, chosen in chapters for rule in chosen if uses[rule.name])
    making = sum(1 for _, chosen in chapters for rule in chosen if any(n for n, _ in uses[rule.name].values()))
    saving = sum(1 for _, chosen in chapters for rule in chosen if rule.saves() > 0)
    print("# Rules that the generator found beyond TASO's operators\n")
    print("Made by `python3 experiments/generator/discovered.py > docs/discovered_rules.md` from")
    print("rules/data/generated. `verify_rules` proved all of them. A rule and its other direction count once. The page")
    print("omits rules that are never worth applying (tag `extra`) and rules about a tensor minus itself.\n")
    print(f"The page has {total} rules. {saving} of them save an operator.")
    if USES.exists():
        print(f"{firing} rules fire in a model of experiments/rule-sets; their entries state the number of models.")
        print(f"{making} of these made part of a result.")
    else:
        print("Their use in models (experiments/rule-sets) is not measured yet.")
    for space, chosen in chapters:
        print(f"\n## {TITLES[space]}: {len(chosen)} rules\n\n    egret rules generate --space {space} -o DIR\n")
        for rule in chosen:
            notes = []
            if rule.saves() > 0:
                notes.append(f"saves {rule.saves()}")
            if rule.heuristics:
                notes.append("applied if " + " and ".join(rule.heuristics).replace("constant(", "").replace(")", "")
                             + (" are weights" if " and " in rule.heuristics[0] else " is one of the weights"))
            if uses[rule.name]:
                made = sorted(model for model, (n, _) in uses[rule.name].items() if n)
                models = len(uses[rule.name])
                notes.append(f"fires in {models} model{'' if models == 1 else 's'}"
                             + (", makes part of " + ", ".join(made[:3]) + (" and others" if len(made) > 3 else "")
                                if made else ", such as " + min(uses[rule.name])))
            elif USES.exists():
                notes.append("fires in no model")
            print(f"- `{rule.name}`: {rule.what()}" + (f" ({'; '.join(notes)})" if notes else ""))
            condition = "".join(f" where {w}" for w in rule.wheres)
            print(f"\n      {rule.left}\n      => {rule.right}{condition}\n")


if __name__ == "__main__":
    main()
