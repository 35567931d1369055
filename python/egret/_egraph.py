# SPDX-License-Identifier: Apache-2.0
"""The e-graph engine alone, on terms as text."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Optional, Union

from . import _egret
from ._errors import Usage
from ._progress import ProgressLike, callback_of


class Run(NamedTuple):
    """What a run of rules did."""

    stop_reason: str  # "saturated", "node limit", "interrupted", ...
    iterations: int
    nodes: int  # in the e-graph at the end
    classes: int
    seconds: float
    applied: dict[str, int]  # applications that changed the e-graph, by rule


class Extracted(NamedTuple):
    """A term of a class."""

    term: str
    cost: float  # shared subterms paid once
    tree_cost: float  # paid at each use
    bound: float  # no term of the class costs less than this, with sharing
    optimal: bool  # whether the cost was proven the least

    def __str__(self) -> str:
        return self.term


class EGraph:
    """An e-graph: terms, and which of them are equal.

        g = egret.EGraph()
        a = g.add("(+ x (* y 0))")
        g.run(["(* ?a 0) => 0", "(+ ?a 0) => ?a"])
        str(g.extract(a))                               # 'x'

    Terms are written in parentheses, operator first; a class is a number. docs/egraph.md has the syntax
    of terms and rules.
    """

    def __init__(self) -> None:
        self._engine = _egret.Engine()

    def add(self, term: str) -> int:
        """Adds a term and gives its class."""
        return self._engine.add(term)

    def union(self, a: Union[int, str], b: Union[int, str]) -> bool:
        """States that two classes (or terms) are equal. Whether they were two."""
        return self._engine.merge(self._class(a), self._class(b))

    def same(self, a: Union[int, str], b: Union[int, str]) -> bool:
        """Whether two classes (or terms, which are added) are known to be equal."""
        return self._engine.same(self._class(a), self._class(b))

    def find(self, a: Union[int, str]) -> int:
        """The number that stands for the class now: equal classes have equal ones."""
        return self._engine.find(self._class(a))

    def run(
        self,
        rules: Union[str, Iterable[str]],
        *,
        iterations: int = 30,
        nodes: int = 100_000,
        seconds: float = float("inf"),
        scheduler: str = "backoff",
        progress: ProgressLike = None,
    ) -> Run:
        """Applies rules until nothing is new or a limit is reached. Ctrl-C ends the run; what was added
        stays. rules: a list, or a text with one on each line."""
        texts = _lines(rules) if isinstance(rules, str) else list(rules)
        summary = self._engine.run(
            texts, iterations, nodes, seconds, scheduler, callback_of(progress)
        )
        return Run(
            summary.stop_reason,
            summary.iterations,
            summary.nodes,
            summary.classes,
            summary.seconds,
            summary.applied,
        )

    def extract(
        self,
        a: Union[int, str],
        *,
        costs: Optional[Mapping[str, float]] = None,
        other: float = 1.0,
        extractor: str = "tree-greedy",
        seconds: float = 10.0,
    ) -> Extracted:
        """A cheapest term of a class. costs: of operators by name; others cost `other`. extractor: one of
        `egret help extract`; "auto" pays shared subterms once."""
        return Extracted(
            *self._engine.extract(self._class(a), dict(costs or {}), other, extractor, seconds)
        )

    def terms(self, a: Union[int, str]) -> list[str]:
        """The nodes of a class: "(+ c0 c3)", where c0 and c3 are classes."""
        return self._engine.nodes_of(self._class(a))

    def dump(
        self,
        format: str = "text",
        *,
        roots: Iterable[Union[int, str]] = (),
        max_classes: int = 200,
    ) -> str:
        """The e-graph as "text", "dot" or "svg", from the roots on."""
        return self._engine.dump(format, [self._class(one) for one in roots], max_classes)

    def save_svg(self, path: str | os.PathLike[str], **options) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.dump("svg", **options))

    @property
    def node_count(self) -> int:
        return self._engine.node_count

    @property
    def class_count(self) -> int:
        return self._engine.class_count

    def __repr__(self) -> str:
        return f"<egret.EGraph of {self.node_count} nodes in {self.class_count} classes>"

    def _repr_svg_(self) -> str:
        return self.dump("svg", max_classes=60)

    def _class(self, a: Union[int, str]) -> int:
        if isinstance(a, str):
            return self.add(a)
        if a < 0:
            raise Usage(f"there is no class {a} in this e-graph")
        return a


def _lines(text: str) -> list[str]:
    stripped = (line.partition("#")[0].strip() for line in text.splitlines())
    return [line for line in stripped if line]
