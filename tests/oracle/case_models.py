#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Public bug reports, rebuilt small (../shared/cases): `egret optimize` takes each model as it is, and
the result computes the right outputs in ONNX Runtime.

Usage: case_models.py EGRET
"""

import json

import oracle

CASES = oracle.ROOT.parent / "shared/cases"

# Verdicts other than "ok", and why.
KNOWN = {
    # Clear errors.
    "ssa_violation": ("refused: exit 3", "a name that is defined twice"),
    "expand_huge": ("refused: exit 5", "a value of 40 GB"),
    # Differences that remain (docs/verification.md, "Differences in floating-point numbers").
    "dup_squeeze_f16": ("outputs", "ONNX Runtime keeps f32 inside f16, and elsewhere in the result"),
    "neg_zero": ("outputs", "x + 0 becomes x, also for x = -0"),
    "layernorm_negvar": ("outputs", "ONNX Runtime's LayerNormalization cancels at large offsets"),
    "log_exp_overflow": ("outputs", "log(exp(x)) becomes x, also where exp(x) overflows"),
}


def case(row: dict) -> oracle.Case:
    folder = CASES / row["name"]
    read = lambda kind, i: oracle.read_tensor(folder / f"{kind}_{i}.pb") if (folder / f"{kind}_{i}.pb").exists() else None
    inputs = {name: read("input", i) for i, name in enumerate(row["inputs"])}
    outputs = [read("output", i) for i in range(len(row["outputs"]))]
    has_data = bool(outputs) and all(array is not None for array in [*inputs.values(), *outputs])
    return oracle.Case(row["name"], folder / "model.onnx", inputs if has_data else None,
                       outputs if has_data else None, row["outputs"], may_grow=True)


if __name__ == "__main__":
    index = CASES / "index.json"
    if not index.exists():
        oracle.skip(f"{index} is missing")
    rows = json.loads(index.read_text())
    oracle.check([case(row) for row in (rows if isinstance(rows, list) else rows["cases"])], KNOWN)
