# SPDX-License-Identifier: Apache-2.0
"""Training steps."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Optional

from . import _egret
from ._models import ModelLike, model_of
from ._options import option_texts

if TYPE_CHECKING:
    import numpy as np
    from typing_extensions import Unpack

    from ._option_types import TrainingOptions


class TrainingStep:
    """One training step of a model: forward, loss, backward, update. Parameters and the optimizer's state
    stay here from one step to the next."""

    def __init__(self, step: _egret.TrainingStep):
        self._step = step

    def run(self, feeds: Optional[Mapping[str, Any]] = None) -> float:
        """Makes a step and gives the loss before its update. feeds: the model's inputs and "labels", by
        name; those that are missing are random, the same in each step."""
        return self._step.run(dict(feeds or {}))

    __call__ = run

    @property
    def inputs(self) -> list[str]:
        return self._step.inputs

    @property
    def classes(self) -> int:
        """Labels are below this; 0 where labels are real."""
        return self._step.classes

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """The parameters now, by name."""
        return self._step.parameters()

    @property
    def state(self) -> dict[str, np.ndarray]:
        """The optimizer's state now, by name."""
        return self._step.state()

    def __repr__(self) -> str:
        return f"<egret.TrainingStep of {', '.join(self.inputs)}>"


def train_step(
    model: ModelLike,
    *,
    data_folder: str | os.PathLike[str] | None = None,
    **options: Unpack[TrainingOptions],
) -> TrainingStep:
    """The training step of a model. options: those of `egret train-step`: loss="cross_entropy",
    optimizer="adam", lr=1e-3, freeze=["bn*"], threads=2, ..."""
    texts = option_texts("train_step", _egret.training_options, options)
    return TrainingStep(_egret.training_step(model_of(model, data_folder), texts))
