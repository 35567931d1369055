# SPDX-License-Identifier: Apache-2.0
"""Serves an engine over the protocol of docs/engines.md: python3 engine_runner.py NAME.

Each class below is an engine: it loads a model, takes inputs, runs, and gives outputs.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

TYPES = {
    "f16": "float16", "f32": "float32", "f64": "float64", "bool": "bool",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
}  # fmt: skip


def dtype_of(name):
    if name == "bf16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(TYPES[name])


class OnnxRuntime:
    def __init__(self):
        import onnxruntime

        self.package = onnxruntime
        self.version = onnxruntime.__version__

    def load(self, model, threads):
        options = self.package.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Threads spin within a run, and not beyond it: another engine runs next.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        self.session = self.package.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.names = [output.name for output in self.session.get_outputs()]

    def set_inputs(self, arrays):
        self.feed = {i.name: arrays[i.name] for i in self.session.get_inputs()}

    def run(self):
        self.results = self.session.run(None, self.feed)

    def outputs(self):
        return dict(zip(self.names, self.results))


class OpenVino:
    def __init__(self):
        import openvino

        self.package = openvino
        self.version = openvino.__version__.split("-")[0]

    def load(self, model, threads):
        settings = {
            "INFERENCE_NUM_THREADS": threads,
            "INFERENCE_PRECISION_HINT": "f32",
            "PERFORMANCE_HINT": "LATENCY",
        }
        self.model = self.package.Core().compile_model(model, "CPU", settings)
        self.request = self.model.create_infer_request()

    def set_inputs(self, arrays):
        self.feed = {}
        for port in self.model.inputs:
            name = next(name for name in arrays if name in port.get_names())
            self.feed[port] = arrays[name]

    def run(self):
        self.request.infer(self.feed, share_inputs=True)

    def outputs(self):
        found = {}
        for port in self.model.outputs:
            value = np.array(self.request.get_tensor(port).data)
            found.update((name, value) for name in port.get_names())
        return found


class Torch:
    def __init__(self):
        import onnx2torch
        import torch

        self.torch = torch
        self.convert = onnx2torch.convert
        self.version = torch.__version__

    def load(self, model, threads):
        import onnx

        self.torch.set_num_threads(threads)
        proto = onnx.load(model)
        weights = {tensor.name for tensor in proto.graph.initializer}
        self.inputs = [i.name for i in proto.graph.input if i.name not in weights]
        self.names = [output.name for output in proto.graph.output]
        self.module = self.torch.compile(self.convert(proto).eval())

    def set_inputs(self, arrays):
        self.feed = [self.torch.from_numpy(arrays[name].copy()) for name in self.inputs]

    def run(self):
        with self.torch.inference_mode():
            self.results = self.module(*self.feed)

    def outputs(self):
        results = self.results if isinstance(self.results, (list, tuple)) else [self.results]
        return {name: value.numpy() for name, value in zip(self.names, results)}


class TensorRt:
    """TensorRT on this machine's GPU, through its program trtexec.

    trtexec needs seconds to start, so one call makes several runs; their times are given one by one.
    A time is trtexec's latency: the copy of the inputs to the device, the computation, and the copy
    of the outputs. trtexec writes values with six digits.
    """

    RUNS = 10  # of one call

    def __init__(self):
        found = shutil.which("trtexec") or shutil.which("trtexec", path="/usr/src/tensorrt/bin:/opt/tensorrt/bin")
        if found is None:
            raise FileNotFoundError("no program trtexec in PATH")
        self.program = found
        self.folder = tempfile.TemporaryDirectory(prefix="egret-tensorrt-")
        banner = re.search(r"TensorRT v(\d+)", self.call(["--help"]))
        self.version = dotted(int(banner.group(1))) if banner else "of unknown version"

    def file(self, name):
        return os.path.join(self.folder.name, name)

    def call(self, options):
        done = subprocess.run([self.program, *options], capture_output=True, text=True, errors="replace", check=False)
        if done.returncode != 0:
            errors = [line for line in (done.stdout + done.stderr).splitlines() if "[E]" in line]
            raise RuntimeError("\n".join(errors[:5]) or f"trtexec ended with {done.returncode}")
        return done.stdout + done.stderr

    def load(self, model, threads):
        del threads  # the work is the GPU's
        self.seconds = []
        self.call([f"--onnx={model}", f"--saveEngine={self.file('engine')}", "--noTF32", "--skipInference"])

    def set_inputs(self, arrays):
        self.seconds = []
        self.inputs = []
        for index, (name, array) in enumerate(arrays.items()):
            path = self.file(f"input{index}")
            np.ascontiguousarray(array).tofile(path)
            self.inputs.append(f"'{name}':{path}")

    def run(self):
        if not self.seconds:
            inputs = ["--loadInputs=" + ",".join(self.inputs)] if self.inputs else []
            self.call([f"--loadEngine={self.file('engine')}", *inputs, f"--iterations={self.RUNS}", "--duration=0",
                       "--useSpinWait", f"--exportTimes={self.file('times')}", f"--exportOutput={self.file('outputs')}"])
            with open(self.file("times"), encoding="utf-8") as times:
                self.seconds = [run["latencyMs"] / 1000 for run in json.load(times)]
        return self.seconds.pop()

    def outputs(self):
        with open(self.file("outputs"), encoding="utf-8") as file:
            # C++ writes nan and inf, which JSON does not have.
            # Names are in quotes, and stay.
            text = re.sub(r"([\[,]\s*)-?nan\b", r"\1NaN", file.read())
            text = re.sub(r"([\[,]\s*-?)inf\b", r"\1Infinity", text)
        return {output["name"]: output["values"] for output in json.loads(text)}


def dotted(version):
    """8601 is 8.6.1; since version 10 each part has two digits, so that 100300 is 10.3.0."""
    if version < 10000:
        return f"{version // 1000}.{version // 100 % 10}.{version % 100}"
    return f"{version // 10000}.{version // 100 % 100}.{version % 100}"


ENGINES = {"onnxruntime": OnnxRuntime, "openvino": OpenVino, "tensorrt": TensorRt, "torch": Torch}


def read(tensor):
    array = np.fromfile(tensor["file"], dtype=dtype_of(tensor["type"]))
    return array.reshape(tensor["shape"])


def write(tensor, array):
    expected = dtype_of(tensor["type"])
    if isinstance(array, list):  # numbers without a type or shape of their own
        array = np.array(array, dtype=expected).reshape(tensor["shape"])
    if array.dtype != expected:
        raise TypeError(f"output {tensor['name']} is {array.dtype}, not {expected}")
    if list(array.shape) != tensor["shape"]:
        raise TypeError(f"output {tensor['name']} has shape {list(array.shape)}, not {tensor['shape']}")
    np.ascontiguousarray(array).tofile(tensor["file"])


def answer(engine, request):
    operation = request["op"]
    if operation == "version":
        return {"version": engine.version}
    if operation == "load":
        engine.load(request["model"], request["threads"])
        return {}
    if operation == "inputs":
        engine.set_inputs({tensor["name"]: read(tensor) for tensor in request["inputs"]})
        return {}
    if operation == "run":
        start = time.perf_counter()
        reported = engine.run()  # None where the engine has no clock of its own
        return {"seconds": time.perf_counter() - start if reported is None else reported}
    if operation == "outputs":
        found = engine.outputs()
        for tensor in request["outputs"]:
            write(tensor, found[tensor["name"]])
        return {}
    raise ValueError(f"unknown op {operation}")


def main():
    # What engines print belongs on standard error: standard output has the answers alone.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    engine = None
    for line in sys.stdin:
        try:
            engine = engine or ENGINES[sys.argv[1]]()
            reply = {"ok": True, **answer(engine, json.loads(line))}
        except Exception as error:  # an engine may raise anything
            reply = {"ok": False, "error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
