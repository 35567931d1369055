# SPDX-License-Identifier: Apache-2.0
"""PyTorch on the GPU: the same ONNX file, eager and with torch.compile(mode="max-autotune") and CUDA graphs."""
import contextlib
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


def eager_and_compiled(path, precision, seconds):
    """Median seconds of a run, eager and compiled; None, None where PyTorch has no GPU."""
    try:
        import torch
    except ImportError:
        return None, None
    if not torch.cuda.is_available() or precision not in PRECISIONS:
        return None, None
    from lib.onnx_graph import Graph
    from lib.torch_operators import operators
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True
    lowered = torch.autocast("cuda", torch.bfloat16) if precision == "bf16" else contextlib.nullcontext()
    graph = Graph(path, operators("cuda"), lambda array: torch.from_numpy(array.copy()).cuda())
    torch.manual_seed(1)
    given = [torch.from_numpy(torch.rand(sizes).numpy().astype(kind)).cuda()
             for _, sizes, kind in graph.input_shapes()]
    with torch.inference_mode(), lowered:
        eager = _median_seconds(lambda: graph(graph.weights, *given), seconds)
        compiled = torch.compile(lambda *inputs: graph(graph.weights, *inputs), mode="max-autotune")
        fast = _median_seconds(lambda: compiled(*given), seconds)
    return eager, fast
