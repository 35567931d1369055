#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every node test of the onnx package goes through `egret optimize` as it is: none is refused, none
has more nodes afterwards, and ONNX Runtime computes the same of both files.

Usage: node_models.py EGRET
"""

import pathlib

import oracle

KNOWN = {}
DATA = pathlib.Path(oracle.onnx.__file__).parent / "backend/test/data/node"


def case(folder: pathlib.Path) -> oracle.Case:
    graph = oracle.onnx.load(folder / "model.onnx").graph
    data = folder / "test_data_set_0"
    files = [data / f"input_{i}.pb" for i in range(len(graph.input))]
    inputs = {value.name: oracle.read_tensor(path) for value, path in zip(graph.input, files) if path.exists()}
    known = len(inputs) == len(graph.input) and all(array is not None for array in inputs.values())
    # A mask of Dropout that is all true is a constant, and the data passes through.
    grows = any(node.op_type == "Dropout" for node in graph.node)
    return oracle.Case(folder.name, folder / "model.onnx", inputs if known else None, None, may_grow=grows)


if __name__ == "__main__":
    folders = sorted(path for path in DATA.glob("test_*") if "_expanded" not in path.name)
    if not folders:
        oracle.skip("the onnx package has no node tests")
    oracle.check([case(folder) for folder in folders], KNOWN)
