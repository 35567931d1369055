# SPDX-License-Identifier: Apache-2.0
"""Plans for several devices."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Union

from . import _egret
from ._models import ModelLike, model_of
from ._options import option_texts
from ._progress import ProgressLike, callback_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._option_types import PlanOptions


class Plan:
    """Placements of all tensors of a model on the devices of a mesh. The fields of the plan file are
    attributes: placements, time_s, memory_bytes, communication, baselines, ..."""

    def __init__(self, planned: _egret.Planned):
        self._planned = planned
        self._plan: dict[str, Any] = json.loads(planned.text)

    def to_dict(self) -> dict[str, Any]:
        return dict(self._plan)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the plan, for `egret run` and `egret train-step`. It names the model by the path that
        was given to plan(), relative to this file's folder."""
        plan = dict(self._plan)
        folder = os.path.dirname(os.path.abspath(path))
        if os.path.exists(plan["model"]):
            plan["model"] = os.path.relpath(os.path.abspath(plan["model"]), folder)
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps(plan, indent=1) + "\n")

    def certificate(self, path: str | os.PathLike[str]) -> None:
        """Writes a proof that the ranks compute the model, which the program egret-check-plan checks with the
        model and the file of the plan."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._planned.certificate())

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes the plan as a page for a browser: one HTML file that loads nothing from elsewhere."""
        self._planned.write_report(os.fspath(path))

    def __getattr__(self, name: str) -> Any:
        plan = self.__dict__.get("_plan", {})
        if name in plan:
            return plan[name]
        raise AttributeError(f"a plan has no field '{name}'; there are {', '.join(plan)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._plan]

    def __repr__(self) -> str:
        return f"<egret.Plan on {self.mesh} of {self.machine}: {self.time_s:.3g} s>"

    def __str__(self) -> str:
        lines = [
            f"mesh    {self.mesh} of {self.machine}",
            f"memory  {self.memory_bytes / 2**20:.4g} MiB a device",
            f"time    {self.time_s:.4g} s",
        ]
        lines += [f"  {name:20} {seconds:.4g} s" for name, seconds in self.baselines.items()]
        width = max((len(name) for name in self.placements), default=0)
        lines += [f"{name:{width}}  {placement}" for name, placement in self.placements.items()]
        lines += [
            f"{one['collective']} along {one['axis']}: {one['count']} times, {one['bytes']:.4g} bytes"
            for one in self.communication
        ]
        return "\n".join(lines)


def plan(
    model: ModelLike,
    *,
    train: Union[bool, Mapping[str, Any]] = False,
    progress: ProgressLike = None,
    data_folder: str | os.PathLike[str] | None = None,
    **options: Unpack[PlanOptions],
) -> Plan:
    """Chooses a placement of each tensor on the devices of a mesh, and the collectives between them, for
    the least predicted time.

    train: plans a training step: True, or its options, as dict(optimizer="adam", lr=1e-3).
    options: those of `egret plan`: machine="dgx-h100", mesh={"x": 4}, device_memory="40GiB", ...
    """
    chosen: dict[str, Any] = dict(options)
    if isinstance(train, Mapping):
        chosen.update(train)
    if train is not False:
        chosen["train"] = True
    texts = option_texts("plan", _egret.plan_options, chosen)
    return Plan(_egret.plan(model_of(model, data_folder), texts, callback_of(progress)))
