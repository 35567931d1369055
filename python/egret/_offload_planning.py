# SPDX-License-Identifier: Apache-2.0
"""Plans of text generation with models that exceed the accelerator's memory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import _egret
from ._options import option_texts
from ._plan_fields import PlanFields
from ._progress import ProgressLike, callback_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._option_types import OffloadOptions


class OffloadPlan(PlanFields):
    """A plan of generation. The members of `egret offload --json` are attributes: tokens_per_second, plan (its
    choices), baselines, and without experts also gap, ranking, ..."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the setup with the plan's block, for `egret offload --config`. Not for mixtures of experts."""
        if not self._config:
            raise ValueError("a plan of experts has no configuration; to_dict() has all of it")
        self._save(path)

    def __repr__(self) -> str:
        return f"<egret.OffloadPlan on {self.machine}: {self.tokens_per_second:.3g} tokens/s>"


def plan_offload(*, progress: ProgressLike = None, **options: Unpack[OffloadOptions]) -> OffloadPlan:
    """Plans text generation on one accelerator, the memory of its host and its disk.

    options: those of `egret offload`: machine="t4-flexgen", model_layers=48, hidden=7168, prompt=512, ...
    """
    texts = option_texts("plan_offload", _egret.plan_offload_options, dict(options))
    return OffloadPlan(_egret.plan_offload(texts, callback_of(progress)))
