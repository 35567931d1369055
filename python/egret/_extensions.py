# SPDX-License-Identifier: Apache-2.0
"""Parts of the pipeline written in Python. Answers are checked like those of built-in parts."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional, Protocol

if TYPE_CHECKING:
    import numpy as np


class TensorType(NamedTuple):
    """The type of a tensor: "f32", (1, 64)."""

    dtype: str
    shape: tuple[int, ...]

    @property
    def elements(self) -> int:
        count = 1
        for size in self.shape:
            count *= size
        return count


class EGraphView(Protocol):
    """An e-graph as flat arrays (CSR). Class c has the nodes class_begin[c] to class_begin[c + 1] - 1,
    and node n the children child_begin[n] to child_begin[n + 1] - 1 of `children`, which are classes.
    The arrays are read-only views of the library's memory."""

    class_begin: np.ndarray  # uint32 [classes + 1]
    node_class: np.ndarray  # uint32 [nodes]
    node_op: np.ndarray  # uint32 [nodes]: equal for equal operators with equal attributes
    child_begin: np.ndarray  # uint32 [nodes + 1]
    children: np.ndarray  # uint32 [children of all nodes]
    roots: np.ndarray  # uint32: classes that the answer must reach
    costs: np.ndarray  # float64 [nodes], in seconds; infinite: forbidden


ExtractorLike = Callable[[EGraphView, "np.ndarray"], Any]
CostModelLike = Callable[
    [str, dict[str, Any], tuple[TensorType, ...], tuple[TensorType, ...]], float
]


def extractor(function: ExtractorLike) -> ExtractorLike:
    """Makes f(egraph, costs) an extractor: optimize(..., extractor=f).

    It gets an EGraphView and the costs of its nodes, and returns an array with a node for each class:
    its number in the view, or -1 for a class that is not needed. The choice must reach all that the
    roots need, and have no cycle; otherwise optimize() raises egret.Usage that names the class.
    """
    if not callable(function):
        raise TypeError("egret.extractor decorates a function of (egraph, costs)")
    return function


def cost_model(function: CostModelLike) -> CostModelLike:
    """Makes f(op, attrs, inputs, outputs) a cost model: optimize(..., cost=f).

    It gets the operator's name, its attributes as a dict, and the types (egret.TensorType) of its
    inputs and outputs. It returns seconds, finite and at least 0. It is called once for each different
    application.
    """
    if not callable(function):
        raise TypeError("egret.cost_model decorates a function of (op, attrs, inputs, outputs)")

    @functools.wraps(function)
    def typed(op, attrs, inputs, outputs):
        return function(
            op,
            attrs,
            tuple(TensorType(*one) for one in inputs),
            tuple(TensorType(*one) for one in outputs),
        )

    return typed


def rule_source(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Makes f(model) a source of rules: optimize(model, rules=f).

    It gets the model that is optimized and returns egret.Rules, or their text.
    """
    if not callable(function):
        raise TypeError("egret.rule_source decorates a function of (model)")
    return function


class Scheduler:
    """Which rules run in an iteration of saturation, and with how many matches. Override what is of
    interest; these methods let every rule run with all its matches."""

    def start(self, rules: Sequence[str]) -> None:
        """Before a run: the names of the rules, by number."""

    def match_limit(self, iteration: int, rule: int) -> Optional[int]:
        """How many matches the rule may have now. None: any number. 0: it does not run."""
        return None

    def accept(self, iteration: int, rule: int, exceeded: bool) -> bool:
        """Whether matches that were found are applied. exceeded: there are more than the limit, and
        none of them can be applied."""
        return not exceeded

    def may_stop(self, iteration: int) -> bool:
        """After an iteration that changed nothing: whether the run is over. False where a rule was held
        back that should still run."""
        return True


def checked_scheduler(scheduler: Optional[Scheduler]) -> Optional[Scheduler]:
    if scheduler is None:
        return None
    for name in ("start", "match_limit", "accept", "may_stop"):
        if not callable(getattr(scheduler, name, None)):
            raise TypeError(f"a scheduler needs the method {name}(); derive it from egret.Scheduler")
    return scheduler
