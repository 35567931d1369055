#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes egret/_option_types.py, the types of keyword options, from the library's option tables.

    PYTHONPATH=build/release/python python3 scripts/option_types.py [--check]
"""

import pathlib
import sys
import textwrap

from egret import _egret

CLASSES = {
    "OptimizeOptions": (_egret.optimize_options, ("rules", "extractor", "cost")),
    "SessionOptions": (_egret.session_options, ()),
    "CompareOptions": (_egret.compare_options, ()),
    "PlanOptions": (_egret.plan_options, ("train",)),
    "ClusterPlanOptions": (_egret.plan_cluster_options, ()),
    "OffloadOptions": (_egret.plan_offload_options, ()),
    "PipelinePlanOptions": (_egret.plan_pipeline_options, ("pipeline",)),
    "SimulateOptions": (_egret.simulate_options, ()),
    "TrainingOptions": (_egret.training_options, ()),
}
SIZES = {
    "bind": "Union[Mapping[str, int], Sequence[str], str]",
    "mesh": "Union[Mapping[str, int], str]",
    "range": "Union[Mapping[str, tuple[int, int]], Sequence[str], str]",
    "input-range": "Union[Mapping[str, tuple[float, float]], Sequence[str], str]",
    "at": "Union[Mapping[str, int], Sequence[Any], str]",
}
HEAD = '''# SPDX-License-Identifier: Apache-2.0
"""Types of keyword options. Written by scripts/option_types.py; do not edit."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, Union
'''


def type_of(row):
    if row["name"] in SIZES:
        return SIZES[row["name"]]
    if row["is_list"]:
        return "Union[Sequence[str], str]"
    if row["is_switch"]:
        return "bool"
    value = row["value"]
    if "|" in value:
        return "Literal[" + ", ".join(f'"{choice}"' for choice in value.split("|")) + "]"
    return {
        "N": "int",
        "X": "float",
        "SIZE": "Union[int, str]",
        "TIME": "Union[float, str]",
        "FILE": "Union[str, os.PathLike[str]]",
        "FOLDER": "Union[str, os.PathLike[str]]",
    }.get(value, "str")


def text():
    lines = [HEAD]
    for name, (describe, apart) in CLASSES.items():
        lines.append(f"\nclass {name}(TypedDict, total=False):")
        for row in describe():
            if row["name"] in apart:
                continue
            comment = textwrap.fill(
                row["help"], 96, initial_indent="    # ", subsequent_indent="    # "
            )
            lines.append(comment)
            lines.append(f"    {row['name'].replace('-', '_')}: {type_of(row)}")
        lines.append("")
    return "\n".join(lines)


def main():
    path = pathlib.Path(__file__).parents[1] / "python" / "egret" / "_option_types.py"
    if "--check" in sys.argv[1:]:
        if path.read_text() != text():
            print(f"{path} differs from the option tables; run scripts/option_types.py", file=sys.stderr)
            return 1
        return 0
    path.write_text(text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
