# SPDX-License-Identifier: Apache-2.0
"""Progress of long calls."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple, Optional, Union

SECONDS_A_LINE = 3


class Progress(NamedTuple):
    """What a callback is told, about ten times a second at most, and at each begin and end of a phase."""

    event: str  # "begin", "report" or "end"
    phase: str  # "saturate", "measure", ...
    fraction: float  # done of the phase, below 0 where nobody knows
    seconds: float  # of the phase
    values: dict[str, float]  # "e_nodes", "iteration", ...
    detail: str  # what is being worked on, may be empty


ProgressLike = Union[None, bool, Callable[[Progress], Any]]


def callback_of(progress: ProgressLike) -> Optional[Callable[..., None]]:
    """The function that the extension calls. True: a bar of tqdm in a notebook, or on a terminal, where tqdm is
    installed; else lines on standard error."""
    if progress is None or progress is False:
        return None
    show = _display() if progress is True else progress

    def tell(event, phase, fraction, seconds, values, detail):
        show(Progress(event, phase, fraction, seconds, values, detail))

    return tell


def _display() -> Callable[[Progress], None]:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _lines()
    in_notebook = any("notebook" in base.__module__ for base in tqdm.__mro__)
    if not in_notebook and not sys.stderr.isatty():
        return _lines()
    bars: list[Any] = []

    def show(progress: Progress) -> None:
        if progress.event == "begin":
            bars.append(tqdm(desc=progress.phase, total=1.0, leave=False, bar_format="{desc}: {elapsed} {postfix}"))
        elif progress.event == "end" and bars:
            bars.pop().close()
        elif bars:
            bars[-1].set_postfix({k: f"{v:.6g}" for k, v in progress.values.items()})

    return show


def _lines() -> Callable[[Progress], None]:
    """A line at the end of each phase, and every few seconds of a long one."""
    shown = 0.0

    def show(progress: Progress) -> None:
        nonlocal shown
        if progress.event == "begin" or (progress.event == "report" and time.monotonic() < shown + SECONDS_A_LINE):
            return
        shown = time.monotonic()
        values = "".join(f"  {name} {value:.6g}" for name, value in progress.values.items())
        state = "done" if progress.event == "end" else progress.detail
        print(f"egret: {progress.phase} {progress.seconds:.1f} s{values} {state}".rstrip(), file=sys.stderr)

    return show
