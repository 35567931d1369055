# SPDX-License-Identifier: Apache-2.0
"""PyTorch on the GPU: the same ONNX file in each of WAYS.

In bf16 weights, inputs and all values are bf16. The file is traced into a graph of PyTorch's own first, with its
weights as constants, so that what the compiler sees is straight-line code. On tensor cores tensors of rank 4 have
their channels last, as PyTorch advises for convolutions.
"""
import functools
import statistics

from lib import turns

PRECISIONS = ("f32", "tf32", "bf16")
# Each a mode of torch.compile, or None without it, and whether runs are recorded as a CUDA graph here.
# mode="max-autotune" records its runs itself.
WAYS = {"torch_eager": (None, False), "torch_graphs": (None, True), "torch_compile": ("default", False),
        "torch_compile_graphs": ("default", True), "torch_autotune": ("max-autotune", False)}
SLOW = ("torch_autotune",)  # to compile; autotune_peer.py measures these


def version():
    try:
        import torch
    except ImportError:
        return "not installed"
    return torch.__version__


def _median_seconds(run, seconds):
    """Between two events around each run, as Egret times its own."""
    import torch
    for _ in range(5):
        run()
    torch.cuda.synchronize()
    times = []
    while len(times) < 10 or sum(times) < seconds:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e-3)
    return statistics.median(times)


def network(path, precision, device, given):
    """The file as PyTorch's module, and its inputs (numpy arrays) as tensors."""
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx
    from lib.onnx_graph import Graph
    from lib.torch_operators import operators

    def tensor(array):
        made = torch.from_numpy(array.copy()).to(device)
        if precision == "bf16" and made.is_floating_point():
            made = made.bfloat16()
        if precision != "f32" and made.ndim == 4:
            made = made.contiguous(memory_format=torch.channels_last)
        return made

    graph = Graph(path, operators(device, "bfloat16" if precision == "bf16" else "float32"), tensor)
    inputs = [tensor(array) for array in given]
    with torch.inference_mode(False), torch.no_grad():
        return make_fx(lambda *values: graph(graph.weights, *values))(*inputs), inputs


def outputs(path, given, precision="f32"):
    """Of a run on the CPU; for check_peers.py."""
    import torch
    module, inputs = network(path, precision, "cpu", given)
    with torch.inference_mode():
        return [output.float().numpy() for output in module(*inputs)]


def _recorded(run):
    """run() as one launch of a CUDA graph, with the inputs that it has now."""
    import torch
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):  # libraries must be initialized before, on another stream
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def _measure_in_turns():
    """The compiler times its candidates while other programs measure: it takes turns with them."""
    from torch._inductor.runtime import benchmarking
    for kind in type(benchmarking.benchmarker).__mro__:
        if "benchmark_gpu" in vars(kind):
            kind.benchmark_gpu = _in_turn(kind.benchmark_gpu)


def _in_turn(measure):
    @functools.wraps(measure)
    def alone(*arguments, **named):
        with turns.turn():
            return measure(*arguments, **named)
    return alone


def prepared(path, precision, ways=tuple(way for way in WAYS if way not in SLOW)):
    """What times a run in each way, by name: functions of how long to measure. Empty if PyTorch has no GPU."""
    import torch
    if not torch.cuda.is_available() or precision not in PRECISIONS:
        return {}
    import numpy
    import torch._inductor.config
    from lib.onnx_graph import input_shapes
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True
    torch._inductor.config.freezing = True  # weights are constants, as they are for Egret
    _measure_in_turns()
    random = numpy.random.default_rng(1)
    given = [random.random(sizes, "f4").astype(kind) for _, sizes, kind in input_shapes(path)]
    module, inputs = network(path, precision, "cuda", given)
    compiled = {None: module}

    def made(mode, is_recorded):
        if mode not in compiled:
            compiled[mode] = torch.compile(module, mode=mode)
        run = functools.partial(compiled[mode], *inputs)
        for _ in range(3):
            run()
        run = _recorded(run) if is_recorded else run
        torch.cuda.synchronize()
        return run

    def timer(run):
        def median(seconds):
            with torch.inference_mode():
                return _median_seconds(run, seconds)
        return median

    with torch.inference_mode():
        return {way: timer(made(*WAYS[way])) for way in ways}
