# SPDX-License-Identifier: Apache-2.0
"""Running models, and comparing two."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from . import _egret
from ._models import ModelLike, model_of
from ._options import option_texts
from ._progress import ProgressLike, callback_of

if TYPE_CHECKING:
    import numpy as np
    from typing_extensions import Unpack

    from ._option_types import CompareOptions, SessionOptions


class Input(NamedTuple):
    """An input as the model declares it."""

    name: str
    dtype: str  # "f32", "i64", ...
    shape: tuple[Union[int, str], ...]  # numbers, or names of open sizes


class Session:
    """A model ready to run many times.

    Arrays are NumPy's, or any that export DLPack from the CPU. They are not copied where they are
    contiguous, aligned to 16 bytes and a multiple of 64 bytes long; outputs never are. A model with
    open sizes is planned anew for each combination of sizes, when that is first run. The plans of the
    last 16 combinations are kept. May be used from several threads; runs of one plan take turns.
    """

    def __init__(
        self,
        model: ModelLike,
        *,
        data_folder: str | os.PathLike[str] | None = None,
        **options: Unpack[SessionOptions],
    ):
        """options: those of `egret run` that say how: threads=2, backend="cpu", precision="bf16",
        bind={"N": 1}, limit_arena="64MiB", without=["fusion"]."""
        texts = option_texts("Session", _egret.session_options, options)
        self._session = _egret.open_session(model_of(model, data_folder), texts)

    @property
    def inputs(self) -> list[Input]:
        return [Input(*one) for one in self._session.inputs]

    @property
    def open_sizes(self) -> list[str]:
        """Names of sizes that each run may set anew."""
        return self._session.open_sizes

    @property
    def plan_count(self) -> int:
        """How many combinations of sizes have a plan now; at most 16."""
        return self._session.plan_count

    def run(self, feeds: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The outputs by name, for arrays by input name."""
        return self._session.run(dict(feeds))

    def __call__(self, **feeds: Any) -> dict[str, np.ndarray]:
        return self.run(feeds)

    def __repr__(self) -> str:
        inputs = ", ".join(f"{i.name} {i.dtype}{list(i.shape)}" for i in self.inputs)
        return f"<egret.Session of {inputs}>"


def run(
    model: ModelLike,
    feeds: Mapping[str, Any],
    *,
    data_folder: str | os.PathLike[str] | None = None,
    **options: Unpack[SessionOptions],
) -> dict[str, np.ndarray]:
    """Runs a model once: Session(model, **options).run(feeds), without measuring what is faster."""
    session_options: dict[str, Any] = dict(options)
    without = session_options.get("without") or []
    if "limit_arena" not in session_options:
        session_options["without"] = [*([without] if isinstance(without, str) else without), "slices"]
    return Session(model, data_folder=data_folder, **session_options).run(feeds)


class Comparison(NamedTuple):
    """Whether two models compute the same."""

    passed: bool
    max_error: float  # of the output that comes nearest to its bound, or furthest beyond
    bound: float
    not_told_apart: list[str]  # outputs whose bound is as large as their standard deviation
    vacuous_output: str  # an output that showed nothing; empty if there is none
    outputs: list[dict[str, Any]]  # name, max_error, bound, wrong, unstable, elements
    # With explain_diff, of models that differ: the first value that does, as `egret compare --json`
    # describes it.
    first_difference: Optional[dict[str, Any]]
    text: str

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return self.text


def compare(
    a: ModelLike,
    b: ModelLike,
    *,
    inputs: Optional[Mapping[str, Any]] = None,
    progress: ProgressLike = None,
    data_folder: str | os.PathLike[str] | None = None,
    **options: Unpack[CompareOptions],
) -> Comparison:
    """Interprets `a` in f64, runs `b` on the same inputs, and compares the outputs by position. True
    where all outputs are within the bound of rounding. explain_diff finds the first value that differs.
    Raises egret.Mismatch where inputs or outputs
    have other types. options: those of `egret compare`; with engine="onnxruntime", `b` runs there."""
    if options.get("engine"):
        options.setdefault("engine_python", sys.executable)  # it has the user's packages
    texts = option_texts("compare", _egret.compare_options, options)
    comparison = _egret.compare(
        model_of(a, data_folder),
        model_of(b, data_folder),
        texts,
        dict(inputs or {}),
        callback_of(progress),
    )
    report = comparison.report
    outputs = [
        {
            "name": one.output,
            "max_error": one.max_error,
            "bound": one.bound,
            "wrong": one.wrong,
            "unstable": one.unstable,
            "elements": one.elements,
        }
        for one in report.outputs
    ]
    return Comparison(
        report.passed,
        report.max_error,
        report.bound,
        report.not_told_apart,
        report.vacuous_output,
        outputs,
        json.loads(comparison.first_difference),
        comparison.text(),
    )
