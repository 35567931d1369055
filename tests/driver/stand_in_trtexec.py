# SPDX-License-Identifier: Apache-2.0
"""Answers as TensorRT's trtexec does, with ONNX Runtime: for tests on machines without TensorRT."""

import json
import shutil
import sys

import numpy as np
import onnxruntime

print("&&&& RUNNING TensorRT.trtexec [TensorRT v100300] # trtexec")
options = {}
for argument in sys.argv[1:]:
    name, _, value = argument.partition("=")
    options[name] = value
if "--onnx" in options:
    try:
        onnxruntime.InferenceSession(options["--onnx"], providers=["CPUExecutionProvider"])
    except Exception as error:
        print(f"[11/28/2026-00:00:00] [E] {error}", file=sys.stderr)
        sys.exit(1)
    shutil.copy(options["--onnx"], options["--saveEngine"])
if "--loadEngine" in options:
    session = onnxruntime.InferenceSession(options["--loadEngine"], providers=["CPUExecutionProvider"])
    files = {}
    for entry in filter(None, options.get("--loadInputs", "").split(",")):
        name, _, path = entry.rpartition(":")
        files[name.strip("'")] = path
    feed = {i.name: np.fromfile(files[i.name], np.float32).reshape(i.shape) for i in session.get_inputs()}
    results = session.run(None, feed)
    with open(options["--exportTimes"], "w", encoding="utf-8") as times:
        json.dump([{"computeMs": 0.5, "latencyMs": 0.75}] * int(options["--iterations"]), times)
    rows = []
    for output, value in zip(session.get_outputs(), results):
        values = ", ".join(f"{number:g}" for number in value.flatten())
        sizes = "x".join(map(str, value.shape))
        rows.append(f'{{ "name" : "{output.name}"\n  , "dimensions" : "{sizes}"\n  , "values" : [ {values} ]\n  }}')
    with open(options["--exportOutput"], "w", encoding="utf-8") as outputs:
        outputs.write("[\n  " + "\n, ".join(rows) + "\n]\n")
