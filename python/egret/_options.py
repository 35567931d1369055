# SPDX-License-Identifier: Apache-2.0
"""Keyword arguments as the texts of flags, and back in help."""

from __future__ import annotations

import difflib
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

OptionTexts = list[tuple[str, list[str]]]

# Options whose values name sizes: {"batch": 1}.
_ASSIGNMENTS = {"bind", "mesh"}
_RANGES = {"range", "input-range"}


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, float):
        return repr(value)
    return str(value)


def _profile(value: Any) -> str:
    """{"batch": 1, "seq": 128}, or that with a weight: ({...}, 0.7)."""
    weight = ""
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], Mapping):
        value, weight = value[0], f"*{value[1]}"
    return ",".join(f"{name}={size}" for name, size in value.items()) + weight


def _texts(name: str, value: Any) -> list[str]:
    if name == "at" and (isinstance(value, Mapping) or _is_weighted(value)):
        return [_profile(value)]
    if name == "at" and not isinstance(value, str):
        return [one if isinstance(one, str) else _profile(one) for one in value]
    if isinstance(value, Mapping):
        if name in _RANGES:
            return [f"{key}={_scalar(low)}..{_scalar(high)}" for key, (low, high) in value.items()]
        if name in _ASSIGNMENTS:
            pairs = [f"{key}={_scalar(size)}" for key, size in value.items()]
            return [",".join(pairs)] if name == "mesh" else pairs
        raise TypeError(f"{name.replace('-', '_')} takes no dict")
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [_scalar(one) for one in value]
    return [_scalar(value)]


def _is_weighted(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], Mapping)


@functools.lru_cache(maxsize=None)
def _names(describe: Callable[[], list[dict[str, Any]]]) -> tuple[str, ...]:
    return tuple(row["name"] for row in describe())


def option_texts(
    function: str, describe: Callable[[], list[dict[str, Any]]], options: Mapping[str, Any]
) -> OptionTexts:
    """Raises TypeError for a name that is no option, with the nearest one."""
    known = _names(describe)
    texts: OptionTexts = []
    for keyword, value in options.items():
        name = keyword.replace("_", "-")
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0].replace('-', '_')}?" if near else ""
            raise TypeError(f"{function}() has no option '{keyword}'{hint}")
        if value is not None:
            texts.append((name, _texts(name, value)))
    return texts
