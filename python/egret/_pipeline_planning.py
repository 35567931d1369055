# SPDX-License-Identifier: Apache-2.0
"""Plans of the training of models on pipelines."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from . import _egret
from ._models import ModelLike, model_of
from ._options import option_texts
from ._progress import ProgressLike, callback_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._option_types import PipelinePlanOptions


class PipelinePlan:
    """A pipeline on which a model is trained. The members of `egret plan --pipeline --json` are attributes: plan
    (its stages and choices), seconds, bound_seconds, ranks, ranking, ..."""

    def __init__(self, planned: _egret.PlannedPipelines):
        self._config: str = planned.config
        self._fields: dict[str, Any] = json.loads(planned.text)

    def to_dict(self) -> dict[str, Any]:
        return dict(self._fields)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the plan as a configuration, for `egret train-step MODEL --config`."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._config)

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__.get("_fields", {})
        if name in fields:
            return fields[name]
        raise AttributeError(f"a plan has no field '{name}'; there are {', '.join(fields)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    def __repr__(self) -> str:
        return (
            f"<egret.PipelinePlan on {self.ranks} ranks of {self.machine}: {self.plan['pipeline_stages']} stages, "
            f"{self.seconds:.3g} s>"
        )


def plan_pipeline(
    model: ModelLike,
    *,
    progress: ProgressLike = None,
    data_folder: str | os.PathLike[str] | None = None,
    **options: Unpack[PipelinePlanOptions],
) -> PipelinePlan:
    """Chooses stages, the ranks of each stage, replicas, micro-batches and the schedule of a pipeline that trains
    the model. Choices that are given (replicas=2) are kept.

    options: those of `egret plan --train --pipeline`: machine="dgx-a100", mesh={"nodes": 2, "gpus": 8}, loss="mse", ...
    """
    texts = option_texts("plan_pipeline", _egret.plan_pipeline_options, {"pipeline": True, **options})
    return PipelinePlan(_egret.plan_pipeline(model_of(model, data_folder), texts, callback_of(progress)))
