# SPDX-License-Identifier: Apache-2.0
"""Plans of the training of models on pipelines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import _egret
from ._models import ModelLike, model_of
from ._options import option_texts
from ._plan_fields import PlanFields
from ._progress import ProgressLike, callback_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._option_types import PipelinePlanOptions


class PipelinePlan(PlanFields):
    """A pipeline on which a model is trained. The members of `egret plan --pipeline --json` are attributes: plan
    (its stages and choices), seconds, bound_seconds, ranks, ranking, ..."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the plan as a configuration, for `egret train-step MODEL --config`."""
        self._save(path)

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
