# SPDX-License-Identifier: Apache-2.0
"""Plans of the training of transformers on clusters."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import _egret
from ._options import option_texts
from ._plan_fields import PlanFields
from ._progress import ProgressLike, callback_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._option_types import ClusterPlanOptions


class ClusterPlan(PlanFields):
    """A plan of training steps. The members of `egret plan --devices N --json` are attributes: plan (its
    choices), seconds, mfu, bound_seconds, gap, ranking, baselines, ..."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the plan as a configuration, for `egret simulate --config`."""
        self._save(path)

    def __repr__(self) -> str:
        return (
            f"<egret.ClusterPlan on {self.devices} devices of {self.machine}: {self.seconds:.3g} s, "
            f"MFU {100 * self.mfu:.3g}%>"
        )


def plan_cluster(*, progress: ProgressLike = None, **options: Unpack[ClusterPlanOptions]) -> ClusterPlan:
    """Plans the training of a decoder-only transformer on a cluster. Degrees that are given (tp=8) are kept.

    options: those of `egret plan` without a model: machine="dgx-h100", devices=64, model_layers=48, ...
    """
    texts = option_texts("plan_cluster", _egret.plan_cluster_options, dict(options))
    return ClusterPlan(_egret.plan_cluster(texts, callback_of(progress)))
