# SPDX-License-Identifier: Apache-2.0
"""Serves an engine over the protocol of docs/engines.md: python3 engine_runner.py NAME.

Each class below is an engine: it loads a model, takes inputs, runs, and gives outputs.
"""

import json
import mmap
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import typing

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
    optimizes = True

    def __init__(self):
        import onnxruntime

        self.package = onnxruntime
        self.version = onnxruntime.__version__

    def load(self, model, threads, profile):
        options = self.package.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        if not self.optimizes:
            options.graph_optimization_level = self.package.GraphOptimizationLevel.ORT_DISABLE_ALL
        # Threads spin within a run, and not beyond it: another engine runs next.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        if profile:
            folder = os.path.dirname(model)
            optimized = os.path.join(folder, "optimized.onnx")
            options.enable_profiling = True
            options.profile_file_prefix = os.path.join(folder, "profile")
            options.optimized_model_filepath = optimized
        self.session = self.package.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.names = [output.name for output in self.session.get_outputs()]
        self.runs = 0
        if profile:
            self.values = values_of_kernels(nodes_of(model), nodes_of(optimized))
            os.remove(optimized)

    def set_inputs(self, arrays):
        self.feed = {i.name: arrays[i.name] for i in self.session.get_inputs()}

    def run(self):
        self.results = self.session.run(None, self.feed)
        self.runs += 1

    def outputs(self):
        return dict(zip(self.names, self.results))

    def kernels(self):
        path = self.session.end_profiling()
        with open(path, encoding="utf-8") as file:
            events = json.load(file)
        os.remove(path)
        ending = "_kernel_time"
        times, types = {}, {}
        for event in events:
            name = event["name"].removesuffix(ending)
            # The nodes of bodies run within their owner's time.
            if event.get("cat") == "Node" and event["name"].endswith(ending) and name in self.values:
                times.setdefault(name, []).append(event["dur"] * 1e-6)
                types[name] = event["args"]["op_name"]
        return [{"name": name, "type": types[name], "values": self.values[name],
                 "seconds": of_one_run(durations, self.runs)} for name, durations in times.items()]


class OpenVino:
    def __init__(self):
        import openvino

        self.package = openvino
        self.version = openvino.__version__.split("-")[0]

    def load(self, model, threads, profile):
        settings = {
            "INFERENCE_NUM_THREADS": threads,
            "INFERENCE_PRECISION_HINT": "f32",
            "PERFORMANCE_HINT": "LATENCY",
            "PERF_COUNT": profile,
        }
        self.values = {node.name: node.outputs for node in nodes_of(model)} if profile else {}
        self.times = {}
        self.model = self.package.Core().compile_model(model, "CPU", settings)
        self.request = self.model.create_infer_request()

    def set_inputs(self, arrays):
        self.feed = {}
        for port in self.model.inputs:
            name = next(name for name in arrays if name in port.get_names())
            self.feed[port] = arrays[name]

    def run(self):
        self.request.infer(self.feed, share_inputs=True)
        for kernel in self.request.profiling_info if self.values else []:
            if kernel.status.name == "EXECUTED":
                times = self.times.setdefault((kernel.node_name, kernel.node_type), [])
                times.append(kernel.real_time.total_seconds())

    def outputs(self):
        found = {}
        for port in self.model.outputs:
            value = np.array(self.request.get_tensor(port).data)
            found.update((name, value) for name in port.get_names())
        return found

    def kernels(self):
        return [{"name": name, "type": kind, "values": self.values.get(name, []),
                 "seconds": of_one_run(times, len(times))} for (name, kind), times in self.times.items()]


class Torch:
    def __init__(self):
        import onnx2torch
        import torch

        self.torch = torch
        self.convert = onnx2torch.convert
        self.version = torch.__version__

    def load(self, model, threads, profile):
        import onnx

        del profile  # its kernels have no names of the model
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

    def load(self, model, threads, profile):
        del threads, profile  # the work is the GPU's
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


class Node(typing.NamedTuple):
    """A node of a model's graph."""

    name: str
    outputs: list


def fields_of(data, start, end):
    """The fields of a protobuf message: number, and an integer or where the bytes begin and end."""

    def integer(at):
        value = shift = 0
        while True:
            byte = data[at]
            value |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                return value, at

    while start < end:
        key, start = integer(start)
        if key & 7 == 0:
            value, start = integer(start)
            yield key >> 3, value
        elif key & 7 == 2:
            length, start = integer(start)
            yield key >> 3, (start, start + length)
            start += length
        else:
            start += {1: 8, 5: 4}[key & 7]


def nodes_of(path):
    """The nodes of an ONNX file's graph. No package that Python has for sure reads these files."""
    nodes = []
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        graphs = [place for field, place in fields_of(data, 0, len(data)) if field == 7]
        for field, place in (found for graph in graphs for found in fields_of(data, *graph)):
            if field != 1:
                continue
            texts = [(number, data[slice(*text)].decode()) for number, text in fields_of(data, *place)
                     if number in (2, 3)]
            nodes.append(Node(next((text for number, text in texts if number == 3), ""),
                              [text for number, text in texts if number == 2]))
    return nodes


def values_of_kernels(nodes, kernels):
    """By kernel: the values of the model that it stores.

    A kernel of fused nodes stores a value of the model, or it is called like a node or value, with something behind
    that.
    """
    outputs = {node.name: node.outputs for node in nodes}
    values = {value for node in nodes for value in node.outputs}
    found = {}
    for kernel in kernels:
        stored = [value for value in kernel.outputs if value in values]
        name = kernel.name
        while not stored and name:
            stored = outputs.get(name) or [value for value in (name,) if value in values]
            name = name[: max(name.rfind("_"), name.rfind("/"), 0)]
        found[kernel.name] = list(stored)
    return found


def of_one_run(durations, runs):
    """The median over the runs, of what a kernel takes in one; it may run several times, or not in all of them."""
    times, rest = divmod(len(durations), max(runs, 1))
    if rest or not times:
        return sum(durations) / max(runs, 1)
    return statistics.median(sum(durations[i * times : (i + 1) * times]) for i in range(runs))


ENGINES = {"onnxruntime": OnnxRuntime, "openvino": OpenVino, "tensorrt": TensorRt, "torch": Torch}


def read(tensor):
    array = np.fromfile(tensor["file"], dtype=dtype_of(tensor["type"]))
    return array.reshape(tensor["shape"])


class OtherType(Exception):
    """An output is not of the type that Egret expects."""


def write(tensor, array):
    expected = dtype_of(tensor["type"])
    if isinstance(array, list):  # numbers without a type or shape of their own
        array = np.array(array, dtype=expected).reshape(tensor["shape"])
    if array.dtype != expected:
        raise OtherType(f"output {tensor['name']} is {array.dtype}, not {expected}")
    if list(array.shape) != tensor["shape"]:
        raise OtherType(f"output {tensor['name']} has shape {list(array.shape)}, not {tensor['shape']}")
    np.ascontiguousarray(array).tofile(tensor["file"])


def answer(engine, request):
    operation = request["op"]
    if operation == "version":
        return {"version": engine.version}
    if operation == "load":
        engine.optimizes = request.get("optimize", True)
        engine.load(request["model"], request["threads"], request.get("profile", False))
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
    if operation == "kernels" and hasattr(engine, "kernels"):
        return {"kernels": engine.kernels()}
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
        except OtherType as error:
            reply = {"ok": False, "error": str(error), "differs": True}
        except Exception as error:  # an engine may raise anything
            reply = {"ok": False, "error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
