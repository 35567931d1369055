# SPDX-License-Identifier: Apache-2.0
"""PyTorch on the GPU: the same ONNX file, eager and with torch.compile(mode="max-autotune") and CUDA graphs.

In bf16 weights, inputs and all values are bf16. The file is traced into a graph of PyTorch's own first, with its
weights as constants, so that what the compiler sees is straight-line code. On tensor cores tensors of rank 4 have
their channels last, as PyTorch advises for convolutions.
"""
import statistics

PRECISIONS = ("f32", "tf32", "bf16")


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


def prepared(path, precision):
    """What times a run, eager and compiled, by name: functions of how long to measure. Empty where PyTorch has no GPU."""
    import torch
    if not torch.cuda.is_available() or precision not in PRECISIONS:
        return {}
    import numpy
    import torch._inductor.config
    from lib.onnx_graph import input_shapes
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True
    torch._inductor.config.freezing = True  # weights are constants, as they are for Egret
    random = numpy.random.default_rng(1)
    given = [random.random(sizes, "f4").astype(kind) for _, sizes, kind in input_shapes(path)]
    module, inputs = network(path, precision, "cuda", given)
    compiled = torch.compile(module, mode="max-autotune")

    def timer(run):
        def median(seconds):
            with torch.inference_mode():
                return _median_seconds(lambda: run(*inputs), seconds)
        return median

    with torch.inference_mode():
        for run in (module, compiled):
            for _ in range(3):
                run(*inputs)
            torch.cuda.synchronize()
    return {"torch_eager": timer(module), "torch_compile": timer(compiled)}
