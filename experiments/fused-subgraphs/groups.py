# SPDX-License-Identifier: Apache-2.0
"""What merging the groups of a convolution costs: the four grouped convolutions of ResNeXt-50, and the whole model.

    PYTHONPATH=experiments .venv/bin/python experiments/fused-subgraphs/groups.py

Neighbouring groups become one, with zeros between their kernels, as the rule merge-group-pairs does. A row has the times
of one stage and one number of threads, in Egret's backend or in ONNX Runtime, by the number of groups. The rows named
"model" have the whole model as it is (32), with all groups of at least 16 channels ("16 channels"), and with 16 groups
where there are 4 or 8 channels ("16"). Files take turns, run by run.
"""
import pathlib
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from lib import egret, peers, results

STAGES = ((128, 56), (256, 28), (512, 14), (1024, 7))  # channels, side
GROUPS = (32, 16, 8, 4, 2)
FORMS = {"16": lambda width: 16 if width < 16 else 32, "16_channels": lambda width: min(32, 2 * width)}
COLUMNS = ["stage", "engine", "threads", *[f"groups_{g}_ms" for g in GROUPS], *[f"groups_{form}_ms" for form in FORMS
                                                                              if form != "16"], "egret"]
SECONDS = 1.0


def merged(weights, groups, to):
    """Weights of so many groups as those of fewer."""
    filters, width = weights.shape[:2]
    wide = numpy.zeros((filters, width * groups // to, *weights.shape[2:]), numpy.float32)
    for f in range(filters):
        at = f // (filters // groups) % (groups // to) * width
        wide[f, at:at + width] = weights[f]
    return wide


def single(channels, side, groups, path):
    weights = numpy.random.default_rng(0).standard_normal((channels, channels // 32, 3, 3)).astype("float32")
    shape = [1, channels, side, side]
    node = helper.make_node("Conv", ["x", "w"], ["y"], group=groups, pads=[1] * 4)
    graph = helper.make_graph([node], "conv", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
                              [numpy_helper.from_array(merged(weights, 32, groups), "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def whole(original, form, path):
    model = onnx.load(original)
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        group = next((a for a in node.attribute if a.name == "group"), None)
        if node.op_type != "Conv" or group is None or group.i != 32:
            continue
        tensor = weights[node.input[1]]
        to = form(tensor.dims[1])
        tensor.CopyFrom(numpy_helper.from_array(merged(numpy_helper.to_array(tensor), 32, to), tensor.name))
        group.i = to
    onnx.save(model, path)


def times(files, engine, threads):
    flags = ["--engine", "onnxruntime", "--engine-python", sys.executable] if engine == "onnxruntime" else []
    report = egret.call("bench", *files.values(), "--time", f"{SECONDS}s", "--threads", threads, *flags)
    return {f"groups_{name}_ms": f"{1e3 * model['median_s']:.3f}" for name, model in zip(files, report["models"])}


def main():
    table = results.Table("fused-subgraphs", results.on_this_processor("groups"), COLUMNS, ["stage", "engine", "threads"],
                          {"onnxruntime": peers.version("onnxruntime")}, grows=True)
    version = egret.version()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rows = []
        for channels, side in STAGES:
            files = {str(g): folder / f"{channels}-{g}.onnx" for g in GROUPS}
            for groups, path in files.items():
                single(channels, side, int(groups), path)
            rows.append((f"{channels}x{side}x{side}", files))
        original = folder / "resnext50.onnx"
        egret.call("zoo", "resnext50", "-o", original)
        files = {"32": original, **{form: folder / f"{form}.onnx" for form in FORMS}}
        for form, width in FORMS.items():
            whole(original, width, files[form])
        rows.append(("model", files))
        for stage, files in rows:
            for engine in ("egret", "onnxruntime"):
                for threads in (1, 2):
                    if not table.has(stage=stage, engine=engine, threads=threads):
                        table.add(stage=stage, engine=engine, threads=threads, **times(files, engine, threads), egret=version)
    table.finish()
    table.print()


if __name__ == "__main__":
    main()
