# SPDX-License-Identifier: Apache-2.0
"""Other engines, run on the same models: f32, so many threads, all their optimizations on."""
import importlib
import pathlib
import statistics
import sys
import time
import warnings

from lib import compilers

# Debian's packages, after those of the environment: its PyTorch is built for CPUs alone.
DEBIAN_PACKAGES = "/usr/lib/python3/dist-packages"
PYTHON_PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "build" / "release" / "python"
PAUSE = 0.1  # seconds in which threads that wait for the next run give up and sleep


# An engine's session computes when it is run; outputs() are those of the last run.


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
        """Without copies in or out, which is its fastest way."""
        import onnxruntime
        self.binding = self.session.io_binding()
        for name, value in given.items():
            self.binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(value))
        for output in self.session.get_outputs():
            self.binding.bind_output(output.name, "cpu")

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def outputs(self):
        return self.binding.copy_outputs_to_cpu()


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
        self.request.infer(share_outputs=True)

    def outputs(self):
        return [tensor.data for tensor in self.request.output_tensors]


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
        self.graph = None  # its weights are the network's from here on

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
            self.results = self.network(*self.given)

    def outputs(self):
        return [output.numpy() for output in self.results]


class TorchEager(Torch):
    """PyTorch as it runs by itself: one operator after the other, of the nodes traced into straight-line code."""

    def bind(self, given):
        from torch.fx.experimental.proxy_tensor import make_fx
        self.given = [self.torch.from_numpy(given[name]) for name, _, _ in self.inputs]
        graph = self.graph
        self.graph = None  # its weights are the network's from here on
        with self.torch.no_grad():
            self.network = self._prepared(make_fx(lambda *values: graph(graph.weights, *values))(*self.given))
            self._specialize()

    def _prepared(self, network):
        return network


class TorchCompiled(TorchEager):
    """torch.compile, from PyTorch 2 on, with weights as constants."""

    def _prepared(self, network):
        import torch._inductor.config
        torch._inductor.config.freezing = True
        return self.torch.compile(network)


class Egret:
    """A session of the built Python package, for comparisons in which both sides are run alike."""

    def __init__(self, path, threads):
        sys.path.insert(0, str(PYTHON_PACKAGE))
        import egret
        self.session = egret.Session(str(path), threads=threads)
        self.inputs = [(i.name, list(i.shape), i.dtype.startswith("f")) for i in self.session.inputs]

    def bind(self, given):
        self.given = given

    def run(self):
        self.results = self.session.run(self.given)

    def outputs(self):
        return list(self.results.values())


ENGINES = {engine.package: engine for engine in (OnnxRuntime, OpenVino, Torch)}
SESSIONS = {**ENGINES, **compilers.COMPILERS, "egret": Egret, "torch_eager": TorchEager, "torch_compile": TorchCompiled}


def version(package):
    if package in compilers.COMPILERS:
        return compilers.version(package)
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


def disagreement(outputs, others):
    """The largest difference of what two engines make of the same inputs, relative to the largest output. Infinite where
    numbers or shapes of outputs differ, or a value is not finite."""
    import numpy
    outputs, others = list(outputs), list(others)
    if len(outputs) != len(others):
        return float("inf")
    largest = 0.0
    for a, b in zip(outputs, others):
        a, b = (numpy.asarray(value, dtype=float) for value in (a, b))
        if a.shape != b.shape or not (numpy.isfinite(a).all() and numpy.isfinite(b).all()):
            return float("inf")
        scale = max(1e-30, float(numpy.abs(b).max(initial=0)))
        largest = max(largest, float(numpy.abs(a - b).max(initial=0)) / scale)
    return largest


def times(session, seconds, least_runs=1):
    """Seconds of each run within so much time, after a pause and one run. Inputs are bound.

    Engines are timed one after the other and do not take turns run by run: threads of one that wait for its next run
    in a loop take the processors from the engine whose turn it is.
    """
    time.sleep(PAUSE)
    session.run()
    taken = []
    end = time.monotonic() + seconds
    while len(taken) < least_runs or time.monotonic() < end:
        start = time.perf_counter()
        session.run()
        taken.append(time.perf_counter() - start)
    return taken


def median(session, seconds, least_runs=5):
    return statistics.median(times(session, seconds, least_runs))
