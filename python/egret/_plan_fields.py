# SPDX-License-Identifier: Apache-2.0
"""What plans without a model's placements have in common."""

from __future__ import annotations

import json
import os
from typing import Any, Protocol


class Planned(Protocol):
    """A plan of the library: its JSON, and the configuration that repeats it."""

    text: str
    config: str


class PlanFields:
    """The members of a plan's JSON, as attributes."""

    def __init__(self, planned: Planned):
        self._config: str = planned.config
        self._fields: dict[str, Any] = json.loads(planned.text)

    def to_dict(self) -> dict[str, Any]:
        return dict(self._fields)

    def _save(self, path: str | os.PathLike[str]) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._config)

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__.get("_fields", {})
        if name in fields:
            return fields[name]
        raise AttributeError(f"a plan has no field '{name}'; there are {', '.join(fields)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]
