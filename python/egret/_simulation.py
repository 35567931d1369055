# SPDX-License-Identifier: Apache-2.0
"""Simulated steps of transformers on clusters."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from . import _egret
from ._options import option_texts
from ._progress import ProgressLike, callback_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._option_types import SimulateOptions


class Simulation:
    """A simulated step. The members of `egret simulate --json` are attributes: seconds, mfu, time (the
    uses of it), pipeline (each simulated device), distribution, ..."""

    def __init__(self, simulated: _egret.Simulated):
        self._simulated = simulated
        self._fields: dict[str, Any] = json.loads(simulated.text)

    def to_dict(self) -> dict[str, Any]:
        return dict(self._fields)

    def trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the timeline, for chrome://tracing or Perfetto."""
        self._simulated.write_trace(os.fspath(path))

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__.get("_fields", {})
        if name in fields:
            return fields[name]
        raise AttributeError(f"a simulation has no field '{name}'; there are {', '.join(fields)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    def __repr__(self) -> str:
        return (
            f"<egret.Simulation on {self.devices} devices of {self.system}: {self.seconds:.3g} s, "
            f"MFU {100 * self.mfu:.3g}%>"
        )


def simulate(*, progress: ProgressLike = None, **options: Unpack[SimulateOptions]) -> Simulation:
    """Simulates one step of a decoder-only transformer on a cluster.

    options: those of `egret simulate`: system="dgx-a100", model_layers=96, hidden=12288, tp=8, pp=8, ...
    """
    texts = option_texts("simulate", _egret.simulate_options, dict(options))
    return Simulation(_egret.simulate(texts, callback_of(progress)))
