# SPDX-License-Identifier: Apache-2.0
"""egret.check_certificate()."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Sequence

from . import _egret
from ._models import ModelLike, model_of


@dataclasses.dataclass(frozen=True)
class CertificateCheck:
    """What an accepted certificate consists of, and of which sizes it speaks."""

    outputs: int
    steps: int
    rules: int
    rule_steps: int
    folds: int
    code_steps: int
    size_facts: int
    sizes: dict[str, int]
    open_sizes: dict[str, tuple[int, int]]
    assumptions: tuple[str, ...]  # of open sizes, beside their ranges
    reals: bool  # nodes that count on rounding were taken as real arithmetic


def check_certificate(
    original: ModelLike,
    optimized: ModelLike,
    certificate: str | os.PathLike[str],
    *,
    rules: Sequence[str | os.PathLike[str]] = (),
) -> CertificateCheck:
    """Replays the proof that optimize(..., certificate=FILE) wrote, as the program egret-check does:
    each output of the optimized model equals that of the original in real arithmetic.

    rules: files of rules beside those that come with Egret; FILE.status.json has their proofs.

    Raises egret.Mismatch, which names the first step that is wrong, and egret.Error.
    """
    report = json.loads(
        _egret.check_certificate(
            model_of(original),
            model_of(optimized),
            os.fspath(certificate),
            [os.fspath(file) for file in rules],
        )
    )
    report["open_sizes"] = {name: tuple(bounds) for name, bounds in report["open_sizes"].items()}
    report["assumptions"] = tuple(report["assumptions"])
    return CertificateCheck(**report)
