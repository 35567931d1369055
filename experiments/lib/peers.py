# SPDX-License-Identifier: Apache-2.0
"""Other engines, run on the same models: f32, so many threads, all their optimizations on."""
import importlib
import statistics
import sys
import time
import warnings

# Debian's packages, after those of the environment: its PyTorch is built for CPUs alone.
DEBIAN_PACKAGES = "/usr/lib/python3/dist-packages"


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
        return self.session.run(None, self.given)


class OpenVino:
    """A request to OpenVINO's CPU plugin, tuned for latency. Its own choice where the processor has bf16
    would be to compute in it; precision: f32, bf16."""

    package = "openvino"

    def __init__(self, path, threads, precision="f32"):
        import openvino
        core = openvino.Core()
        self.request = core.compile_model(core.read_model(str(path)), "CPU", {
            "INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": threads,
            "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1}).create_infer_request()
        self.inputs = [(i.any_name, [d.get_length() if d.is_static else str(i.partial_shape) for d in i.partial_shape],
                        i.element_type.is_real()) for i in self.request.model_inputs]
        self.tensor = openvino.Tensor

    def bind(self, given):
        for name, value in given.items():
            self.request.set_tensor(name, self.tensor(value))

    def run(self):
        return list(self.request.infer(share_outputs=True).values())


class Torch:
    """PyTorch, which reads no ONNX: the nodes are traced through a table of its own operators, frozen, and
    optimized for inference, which is its fastest form before version 2."""

    package = "torch"

    def __init__(self, path, threads):
        import torch
        from lib.onnx_graph import Graph
        from lib.torch_operators import operators
        torch.set_num_threads(threads)
        self.torch = torch
        self.graph = Graph(path, operators("cpu"), lambda array: torch.from_numpy(array.copy()))
        self.inputs = [(name, shape, kind.kind == "f") for name, shape, kind in self.graph.input_shapes()]

    def bind(self, given):
        self.given = [self.torch.from_numpy(given[name]) for name, _, _ in self.inputs]
        graph = self.graph

        class Network(self.torch.nn.Module):
            def forward(self, *inputs):
                return tuple(graph(graph.weights, *inputs))

        with self.torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that sizes become constants, which is what is wanted
            traced = self.torch.jit.trace(Network().eval(), tuple(self.given), check_trace=False)
            frozen = self.torch.jit.freeze(traced)
            try:
                self.network = self.torch.jit.optimize_for_inference(frozen)
                self._specialize()
            except RuntimeError:  # of an assertion of its own
                self.network = frozen
                self._specialize()

    def _specialize(self):
        """The executor compiles what it has seen in its first runs."""
        for _ in range(3):
            self.run()

    def run(self):
        with self.torch.no_grad():
            return [output.numpy() for output in self.network(*self.given)]


ENGINES = {engine.package: engine for engine in (OnnxRuntime, OpenVino, Torch)}


def version(package):
    if DEBIAN_PACKAGES not in sys.path:
        sys.path.append(DEBIAN_PACKAGES)
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


def disagreement(session, other):
    """The largest difference of what two sessions make of the same inputs, relative to the largest output."""
    import numpy
    largest = 0.0
    for a, b in zip(session.run(), other.run()):
        scale = max(1e-30, float(numpy.abs(b).max(initial=0)))
        largest = max(largest, float(numpy.abs(a - b).max(initial=0)) / scale)
    return largest


def medians(sessions, seconds, least_runs=5):
    """Median seconds of each session; they take turns, after one run each. Inputs are bound."""
    samples = [[] for _ in sessions]
    for session in sessions:
        session.run()
    end = time.monotonic() + seconds
    while len(samples[0]) < least_runs or time.monotonic() < end:
        for session, times in zip(sessions, samples):
            start = time.perf_counter()
            session.run()
            times.append(time.perf_counter() - start)
    return [statistics.median(times) for times in samples]
