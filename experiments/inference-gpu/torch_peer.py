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


def operators():
    import torch
    from torch.nn import functional as F

    def padded(x, attributes, value):
        spatial = x.ndim - 2
        pads = attributes.get("pads", [0] * 2 * spatial)
        if pads[:spatial] == pads[spatial:]:
            return x, list(pads[:spatial])
        ends = [size for axis in reversed(range(spatial)) for size in (pads[axis], pads[axis + spatial])]
        return F.pad(x, ends, value=value), [0] * spatial

    def conv(inputs, attributes):
        x, pads = padded(inputs[0], attributes, 0.0)
        spatial = x.ndim - 2
        run = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[spatial]
        return run(x, inputs[1], inputs[2] if len(inputs) > 2 else None, attributes.get("strides", [1] * spatial),
                   pads, attributes.get("dilations", [1] * spatial), attributes.get("group", 1))

    def max_pool(inputs, attributes):
        x, pads = padded(inputs[0], attributes, float("-inf"))
        return F.max_pool2d(x, attributes["kernel_shape"], attributes.get("strides"), pads,
                            attributes.get("dilations", 1), bool(attributes.get("ceil_mode", 0)))

    def average_pool(inputs, attributes):
        counted = bool(attributes.get("count_include_pad", 0))
        pads = attributes.get("pads", [0, 0, 0, 0])
        if pads[:2] != pads[2:]:
            raise NotImplementedError("average of a window padded on one side")
        return F.avg_pool2d(inputs[0], attributes["kernel_shape"], attributes.get("strides"), pads[:2],
                            bool(attributes.get("ceil_mode", 0)), counted)

    def layer_norm(inputs, attributes):
        shape = inputs[0].shape[attributes.get("axis", -1) % inputs[0].ndim:]
        return F.layer_norm(inputs[0], shape, inputs[1], inputs[2] if len(inputs) > 2 else None,
                            attributes.get("epsilon", 1e-5))

    def reshape(inputs, attributes):
        return inputs[0].reshape([inputs[0].shape[i] if size == 0 else int(size)
                                  for i, size in enumerate(inputs[1])])

    def split(inputs, attributes):
        axis = attributes.get("axis", 0)
        if len(inputs) > 1:
            return list(torch.split(inputs[0], inputs[1].tolist(), axis))
        return list(torch.tensor_split(inputs[0], attributes["outputs"], axis))

    def reduce_mean(inputs, attributes):
        axes = inputs[1].tolist() if len(inputs) > 1 else attributes["axes"]
        return inputs[0].mean(tuple(axes), keepdim=bool(attributes.get("keepdims", 1)))

    def constant_of_shape(inputs, attributes):
        from onnx import numpy_helper
        value = attributes.get("value")
        number = 0.0 if value is None else float(numpy_helper.to_array(value)[0])
        return torch.full([int(size) for size in inputs[0]], number, device="cuda")

    def trilu(inputs, attributes):
        k = int(inputs[1]) if len(inputs) > 1 else 0
        return (torch.triu if attributes.get("upper", 1) else torch.tril)(inputs[0], k)

    def clip(inputs, attributes):
        low, high = (list(inputs[1:]) + [None, None])[:2]
        return torch.clamp(inputs[0], low, high)

    return {
        "Conv": conv, "MaxPool": max_pool, "AveragePool": average_pool,
        "GlobalAveragePool": lambda x, a: x[0].mean(tuple(range(2, x[0].ndim)), keepdim=True),
        "BatchNormalization": lambda x, a: F.batch_norm(x[0], x[3], x[4], x[1], x[2], eps=a.get("epsilon", 1e-5)),
        "LayerNormalization": layer_norm, "Reshape": reshape, "Split": split, "ReduceMean": reduce_mean,
        "ConstantOfShape": constant_of_shape, "Trilu": trilu, "Clip": clip,
        "MatMul": lambda x, a: torch.matmul(x[0], x[1]), "Add": lambda x, a: x[0] + x[1],
        "Mul": lambda x, a: x[0] * x[1], "Div": lambda x, a: x[0] / x[1], "Neg": lambda x, a: -x[0],
        "Relu": lambda x, a: torch.relu(x[0]), "Tanh": lambda x, a: torch.tanh(x[0]),
        "Erf": lambda x, a: torch.erf(x[0]), "Sigmoid": lambda x, a: torch.sigmoid(x[0]),
        "Sqrt": lambda x, a: torch.sqrt(x[0]), "Softmax": lambda x, a: torch.softmax(x[0], a.get("axis", -1)),
        "Concat": lambda x, a: torch.cat(x, a["axis"]),
        "Transpose": lambda x, a: x[0].permute(a["perm"]),
        "Expand": lambda x, a: torch.broadcast_to(x[0], torch.broadcast_shapes(x[0].shape,
                                                                                tuple(int(s) for s in x[1]))),
    }


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
    from onnx_graph import Graph
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True
    lowered = torch.autocast("cuda", torch.bfloat16) if precision == "bf16" else contextlib.nullcontext()
    graph = Graph(path, operators(), lambda array: torch.from_numpy(array.copy()).cuda())
    torch.manual_seed(1)
    given = [torch.from_numpy(torch.rand(sizes).numpy().astype(kind)).cuda()
             for _, sizes, kind in graph.input_shapes()]
    with torch.inference_mode(), lowered:
        eager = _median_seconds(lambda: graph(graph.weights, *given), seconds)
        compiled = torch.compile(lambda *inputs: graph(graph.weights, *inputs), mode="max-autotune")
        fast = _median_seconds(lambda: compiled(*given), seconds)
    return eager, fast
