# SPDX-License-Identifier: Apache-2.0
"""egret.optimize()."""

from __future__ import annotations

import functools
import html
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, Optional, Union

from . import _egret
from ._errors import Unavailable
from ._extensions import CostModelLike, ExtractorLike, Scheduler, checked_scheduler
from ._models import ModelLike, model_of
from ._options import option_texts
from ._progress import ProgressLike, callback_of
from .rules import Rules, RulesLike, rules_for

if TYPE_CHECKING:
    import onnx
    from typing_extensions import Unpack

    from ._option_types import OptimizeOptions


class Result:
    """What optimize() found. The fields of the report are attributes (docs/optimize_report.md lists
    them): status, stop_reason, operators_before, measured_after_s, rules_used, ..."""

    def __init__(self, optimized: _egret.Optimized):
        self._optimized = optimized
        self._report: dict[str, Any] = json.loads(optimized.report)

    @functools.cached_property
    def model_bytes(self) -> bytes:
        """The model, as an ONNX file has it."""
        return self._optimized.bytes

    @functools.cached_property
    def model(self) -> onnx.ModelProto:
        """The model as an onnx.ModelProto. Unavailable without the package onnx."""
        try:
            import onnx
        except ImportError as error:
            raise Unavailable(
                "result.model needs the package onnx (pip install onnx); "
                "result.model_bytes and result.save() do without it"
            ) from error
        return onnx.load_model_from_string(self.model_bytes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model. The file is replaced in one step or not at all."""
        self._optimized.write(os.fspath(path))

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes the result as a page for a browser: one HTML file that loads nothing from elsewhere.
        optimize(..., report=path) writes it too, with the times of kernels."""
        self._optimized.write_report(os.fspath(path))

    def to_dict(self) -> dict[str, Any]:
        """The report, as `egret optimize --json` prints it."""
        return dict(self._report)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the search: the result is valid, and may not be the best."""
        return self._optimized.interrupted

    @property
    def notes(self) -> list[str]:
        """What was noticed in the model."""
        return self._optimized.notes

    @property
    def warning(self) -> str:
        """About the cost database; empty where there is none."""
        return self._optimized.warning

    def __getattr__(self, name: str) -> Any:
        report = self.__dict__.get("_report", {})
        if name in report:
            return report[name]
        raise AttributeError(f"a result has no field '{name}'; there are {', '.join(report)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._report]

    def __str__(self) -> str:
        return self._optimized.summary.rstrip("\n")

    def __repr__(self) -> str:
        return (
            f"<egret.Result {self.status}, {self.operators_before} to {self.operators_after} operators>"
        )

    def _repr_html_(self) -> str:
        rows = []
        for line in self._optimized.summary.splitlines():
            label, _, value = line.partition("  ")
            rows.append(f"<tr><th>{html.escape(label.strip())}</th><td>{html.escape(value.strip())}</td></tr>")
        return "<table>" + "".join(rows) + "</table>"


RulesArgument = Union[RulesLike, Callable[[Any], Any], None]


def optimize(
    model: ModelLike,
    *,
    rules: RulesArgument = None,
    extractor: Union[str, ExtractorLike, None] = None,
    cost: Union[str, CostModelLike, None] = None,
    scheduler: Optional[Scheduler] = None,
    inputs: Union[Mapping[str, Any], Sequence[Mapping[str, Any]], None] = None,
    progress: ProgressLike = None,
    data_folder: str | os.PathLike[str] | None = None,
    **options: Unpack[OptimizeOptions],
) -> Result:
    """Rewrites a model into an equal, faster one.

    model: a path, bytes, or an onnx.ModelProto.
    rules: a selection ("default", "merge,-pad", "my.rules"), egret.Rules, or a function that makes
        them from the model (egret.rule_source).
    extractor, cost: a name, or a function (egret.extractor, egret.cost_model).
    scheduler: an egret.Scheduler; by default rules that match much are banned for a while.
    inputs: arrays in place of random ones in the race and in the check; they fix open sizes' numbers.
        With error_budget, a list of such mappings: samples, of which every second one is held out.
    progress: a function of an egret.Progress; True shows a bar.
    data_folder: where external data of bytes or a ModelProto may lie.
    options: those of `egret optimize`, with "_" for "-": limit_nodes=50_000, quick=True,
        at={"batch": 1, "seq": 128}, bind={"N": 1}, threads=2, engine="onnxruntime", ...

    Ctrl-C ends the work with what is known so far (Result.interrupted), or with KeyboardInterrupt.
    Raises egret.Error.
    """
    chosen: dict[str, Any] = dict(options)
    rule_set: Optional[Rules] = None
    if isinstance(rules, str):
        chosen["rules"] = rules
    elif rules is not None:
        rule_set = rules_for(rules, model)
    if chosen.get("engine"):
        chosen.setdefault("engine_python", sys.executable)  # it has the user's packages
    own: dict[str, Any] = {"extractor": None, "cost": None}
    for name, value in (("extractor", extractor), ("cost", cost)):
        if callable(value):
            own[name] = value
        elif value is not None:
            chosen[name] = value
    texts = option_texts("optimize", _egret.optimize_options, chosen)
    return Result(
        _egret.optimize(
            model_of(model, data_folder),
            texts,
            [dict(inputs or {})] if inputs is None or isinstance(inputs, Mapping) else [dict(i) for i in inputs],
            callback_of(progress),
            rule_set._rules if rule_set is not None else None,
            own["extractor"],
            own["cost"],
            checked_scheduler(scheduler),
        )
    )
