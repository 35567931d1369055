# SPDX-License-Identifier: Apache-2.0
"""Other engines, run on the same models: f32, so many threads, all their optimizations on."""
import importlib
import statistics
import time


class OnnxRuntime:
    """A session of ONNX Runtime."""

    package = "onnxruntime"

    def __init__(self, path, threads):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.inputs = [(i.name, i.shape, "float" in i.type) for i in self.session.get_inputs()]

    def bind(self, given):
        self.given = given

    def run(self):
        self.session.run(None, self.given)


class OpenVino:
    """A request to OpenVINO's CPU plugin, tuned for latency. Its own choice where the processor has bf16
    would be to compute in it."""

    package = "openvino"

    def __init__(self, path, threads):
        import openvino
        core = openvino.Core()
        self.request = core.compile_model(core.read_model(str(path)), "CPU", {
            "INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads,
            "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1}).create_infer_request()
        self.inputs = [(i.any_name, [d.get_length() if d.is_static else str(i.partial_shape) for d in i.partial_shape],
                        i.element_type.is_real()) for i in self.request.model_inputs]
        self.tensor = openvino.Tensor

    def bind(self, given):
        for name, value in given.items():
            self.request.set_tensor(name, self.tensor(value))

    def run(self):
        self.request.infer(share_outputs=True)


ENGINES = {engine.package: engine for engine in (OnnxRuntime, OpenVino)}


def version(package):
    try:
        return importlib.import_module(package).__version__.split("-")[0]
    except ImportError:
        return "not installed"


def installed():
    """Names of the engines that are there."""
    return [name for name in ENGINES if version(name) != "not installed"]


def random_inputs(inputs, sizes, seed=1):
    """inputs: name, shape, whether real; sizes: of symbolic dimensions, by name or in order."""
    import numpy
    random = numpy.random.default_rng(seed)
    given = {}
    for name, shape, real in inputs:
        unknown = iter(sizes.values())
        shape = [d if isinstance(d, int) else sizes.get(d) or next(unknown) for d in shape]
        given[name] = (random.uniform(-1, 1, shape).astype("float32") if real
                       else random.integers(0, 10, shape).astype("int64"))
    return given


def medians(sessions, seconds, least_runs=5):
    """Median seconds of each session; they take turns. Inputs are bound."""
    samples = [[] for _ in sessions]
    for _ in range(2):
        for session in sessions:
            session.run()
    end = time.monotonic() + seconds
    while len(samples[0]) < least_runs or time.monotonic() < end:
        for session, times in zip(sessions, samples):
            start = time.perf_counter()
            session.run()
            times.append(time.perf_counter() - start)
    return [statistics.median(times) for times in samples]
