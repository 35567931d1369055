# SPDX-License-Identifier: Apache-2.0
"""Rewrite rules: egret.Rules, and the sets that come with Egret as egret.rules.default, .starter and
.all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from . import _egret
from ._errors import Usage
from ._progress import ProgressLike, callback_of

if TYPE_CHECKING:
    import numpy as np

    default: "Rules"
    starter: "Rules"
    all: "Rules"


class Counterexample(NamedTuple):
    """Tensors on which the two sides of a rule differ."""

    inputs: dict[str, np.ndarray]
    output: str  # where they differ; empty where the right side cannot be evaluated
    left: Optional[np.ndarray]
    right: Optional[np.ndarray]


class Verdict(NamedTuple):
    """What verify() found about a rule."""

    name: str
    status: str  # "proven", "bounded", "refuted", "undecided", "vacuous", "trivial", "disputed"
    reason: str  # a counterexample as text, or what could not be proven; empty for a proof
    counterexample: Optional[Counterexample]  # of a refuted rule
    families: int  # families of instances that were proven
    bound: int  # of sizes, for "bounded"
    open: str  # of a proof: why not all kinds of instances are covered; empty if they are
    proofs: list[str]  # a text for each family
    seconds: float

    @property
    def proven(self) -> bool:
        return self.status == "proven"


class Verdicts(Sequence[Verdict]):
    """The verdicts of a set. Prints as a table."""

    def __init__(self, verdicts: Iterable[Verdict], interrupted: bool = False):
        self._verdicts = list(verdicts)
        self.interrupted = interrupted  # by Ctrl-C: further rules have no verdict

    def __len__(self) -> int:
        return len(self._verdicts)

    def __getitem__(self, key: Union[int, str, slice]) -> Any:
        """By number, or by the rule's name."""
        if isinstance(key, str):
            for verdict in self._verdicts:
                if verdict.name == key:
                    return verdict
            raise KeyError(key)
        return self._verdicts[key]

    @property
    def all_proven(self) -> bool:
        return len(self) > 0 and not self.interrupted and not [v for v in self if not v.proven]

    def __repr__(self) -> str:
        width = max([len(v.name) for v in self], default=0)
        lines = [f"{v.name:{width}}  {v.status:9}  {_first_line(v)}".rstrip() for v in self]
        return "\n".join(lines)


def _first_line(verdict: Verdict) -> str:
    return (verdict.reason or verdict.open).partition("\n")[0]


class Derivation(NamedTuple):
    """Whether a set derives a rule, on the instances that were tried."""

    name: str
    derived: bool
    reason: str  # why not


class Rules:
    """A set of rewrite rules, with what is known of each.

    Rules(text) reads the rule language (docs/rule_language.md); Rules.load() reads a file or folder, or
    selects among the rules that come with Egret as --rules does. a + b has the rules of both; a rule of b
    whose name another rule of a has is called FILE/NAME there.
    """

    def __init__(self, text: str = "", *, name: str = "rules"):
        """`name` stands for the file in messages. Raises egret.BadInput with line and column."""
        self._rules = _egret.parse_rules(name, text)

    @classmethod
    def load(cls, selection: str | os.PathLike[str]) -> "Rules":
        """The rules that --rules SELECTION names: "default", "merge,-pad", "my.rules", "folder/"."""
        return cls._of(_egret.select_rules(os.fspath(selection)))

    @classmethod
    def _of(cls, rules: _egret.Rules) -> "Rules":
        made = cls.__new__(cls)
        made._rules = rules
        return made

    def verify(
        self,
        *,
        instances: int = 100,
        tensor_checks: int = 100,
        small: int = 400_000,
        bounded: int = 2000,
        seed: int = 1,
        progress: ProgressLike = None,
    ) -> Verdicts:
        """Proves the rules for all sizes, or refutes them; the options are those of `egret rules verify`.
        The set remembers the verdicts, so optimize(rules=...) takes what was proven here. After Ctrl-C,
        the verdicts that were found (Verdicts.interrupted)."""
        found, interrupted = self._rules.verify(
            callback_of(progress), instances, tensor_checks, small, bounded, seed
        )
        return Verdicts((_verdict(one) for one in found), interrupted)

    def derive(
        self,
        goals: "RulesLike",
        *,
        instances: int = 2,
        iterations: int = 5,
        nodes: int = 100_000,
        seed: int = 1,
        progress: ProgressLike = None,
    ) -> list[Derivation]:
        """Which of the goals this set derives, as `egret rules derive`."""
        found = self._rules.derive(
            rules_for(goals)._rules, callback_of(progress), instances, iterations, nodes, seed
        )
        return [Derivation(one.name, one.derived, one.reason) for one in found]

    @classmethod
    def generate(
        cls,
        operators: Sequence[str] = (),
        *,
        space: str = "",
        max_ops: int = 0,
        memory: int = 2 << 30,
        seed: int = 1,
        progress: ProgressLike = None,
    ) -> "Rules":
        """Finds rules between terms of these operators (or of a named space) with up to max_ops operators
        (2, or what the space has), and proves them; the set knows their verdicts."""
        if bool(operators) == bool(space):
            raise Usage("generate() takes operators or a space")
        return cls._of(
            _egret.generate_rules(
                list(operators), space, max_ops, memory, seed, callback_of(progress)
            )
        )

    def status(self, name: str) -> str:
        """What is known of a rule: "proven", "bounded", "tested", "untested", "refuted"; "dynamic" for a
        rule that holds by construction."""
        return self._rules.status(name)

    def only(self, *names: str) -> "Rules":
        """The rules of these names."""
        missing = [name for name in names if name not in self.names]
        if missing:
            raise KeyError(missing[0])
        return Rules._of(self._rules.only(set(names)))

    @property
    def names(self) -> list[str]:
        return self._rules.names()

    @property
    def hash(self) -> str:
        """Of the set's meaning; names and order do not count."""
        return self._rules.hash()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the rules as text, without the dynamic ones, and their known verdicts into
        PATH.status.json, where Rules.load() and --rules find them."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(str(self))
        if statuses := self._rules.statuses():
            with open(os.fspath(path) + ".status.json", "w", encoding="utf-8") as file:
                file.write(statuses)

    def __len__(self) -> int:
        return len(self._rules)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def __add__(self, other: "Rules") -> "Rules":
        if not isinstance(other, Rules):
            return NotImplemented
        return Rules._of(self._rules.sum(other._rules))

    def __str__(self) -> str:
        return self._rules.text()

    def __repr__(self) -> str:
        names = self.names
        shown = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
        return f"<egret.Rules {len(names)}: {shown}>"


RulesLike = Union[str, os.PathLike, Rules]


def rules_for(rules: Any, model: Any = None) -> Rules:
    """Rules, from a set, a selection, or a function of the model that gives a set or its text."""
    if isinstance(rules, Rules):
        return rules
    if isinstance(rules, (str, os.PathLike)):
        return Rules.load(rules)
    if callable(rules):
        made = rules(model)
        if isinstance(made, str):
            made = Rules(made, name=getattr(rules, "__name__", "rules"))
        if isinstance(made, Rules):
            return made
        raise TypeError(f"a rule source gives egret.Rules or text, not {type(made).__name__}")
    raise TypeError(f"rules are egret.Rules, a selection or a function, not {type(rules).__name__}")


def _verdict(found: _egret.Verdict) -> Verdict:
    example = found.counterexample
    return Verdict(
        found.name,
        found.status,
        found.reason,
        Counterexample(**example) if example is not None else None,
        found.families,
        found.bound,
        found.open,
        found.proofs,
        found.seconds,
    )


def __getattr__(name: str) -> Rules:
    if name in ("default", "starter", "all"):
        return Rules.load(name)
    raise AttributeError(f"egret.rules has no set '{name}'; there are default, starter and all")
