# SPDX-License-Identifier: Apache-2.0
"""JAX on the GPU: the same ONNX file, compiled by XLA as one function. In bf16 all values are bf16."""
import math
import statistics
import time

TOGETHER = 20  # runs that are waited for together
PRECISIONS = {"f32": "highest", "tf32": "tensorfloat32", "bf16": "bfloat16"}


def version():
    try:
        import jax
    except ImportError:
        return "not installed"
    return jax.__version__


def _window(inputs, attributes, spatial):
    pads = attributes.get("pads", [0] * 2 * spatial)
    strides = attributes.get("strides", [1] * spatial)
    return strides, list(zip(pads[:spatial], pads[spatial:]))


def operators(real="float32"):
    import jax
    import jax.numpy as np
    import numpy
    from onnx import numpy_helper

    def conv(inputs, attributes):
        spatial = inputs[0].ndim - 2
        strides, pads = _window(inputs, attributes, spatial)
        y = jax.lax.conv_general_dilated(inputs[0], inputs[1], strides, pads,
                                         rhs_dilation=attributes.get("dilations", [1] * spatial),
                                         feature_group_count=attributes.get("group", 1))
        return y + inputs[2].reshape([1, -1] + [1] * spatial) if len(inputs) > 2 else y

    def pool(reduce, start):
        def run(inputs, attributes):
            x, spatial = inputs[0], inputs[0].ndim - 2
            strides, pads = _window(inputs, attributes, spatial)
            if attributes.get("ceil_mode", 0):
                raise NotImplementedError("ceil_mode")
            window = [1, 1] + list(attributes["kernel_shape"])
            return jax.lax.reduce_window(x, np.array(start, x.dtype), reduce, window, [1, 1] + list(strides),
                                         [(0, 0), (0, 0)] + pads)
        return run

    def average_pool(inputs, attributes):
        add = pool(jax.lax.add, 0.0)
        total = add(inputs, attributes)
        if attributes.get("count_include_pad", 0):
            return total / math.prod(attributes["kernel_shape"])
        return total / add([np.ones_like(inputs[0])], attributes)

    def batch_norm(inputs, attributes):
        x, scale, bias, mean, variance = inputs
        shape = [1, -1] + [1] * (x.ndim - 2)
        factor = scale / np.sqrt(variance + attributes.get("epsilon", 1e-5))
        return x * factor.reshape(shape) + (bias - mean * factor).reshape(shape)

    def layer_norm(inputs, attributes):
        x = inputs[0]
        axes = tuple(range(attributes.get("axis", -1) % x.ndim, x.ndim))
        centred = x - x.mean(axes, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axes, keepdims=True) + attributes.get("epsilon", 1e-5))
        y = centred / spread * inputs[1]
        return y + inputs[2] if len(inputs) > 2 else y

    def reshape(inputs, attributes):
        sizes = [inputs[0].shape[i] if size == 0 else int(size) for i, size in enumerate(inputs[1])]
        return inputs[0].reshape(sizes)

    def split(inputs, attributes):
        axis = attributes.get("axis", 0)
        if len(inputs) > 1:
            return np.split(inputs[0], numpy.cumsum(inputs[1])[:-1].tolist(), axis)
        return np.array_split(inputs[0], attributes["outputs"], axis)

    def reduce_mean(inputs, attributes):
        axes = inputs[1].tolist() if len(inputs) > 1 else attributes["axes"]
        return inputs[0].mean(tuple(axes), keepdims=bool(attributes.get("keepdims", 1)))

    def constant_of_shape(inputs, attributes):
        value = attributes.get("value")
        number = 0.0 if value is None else float(numpy_helper.to_array(value)[0])
        return np.full([int(size) for size in inputs[0]], number, real)

    def trilu(inputs, attributes):
        k = int(inputs[1]) if len(inputs) > 1 else 0
        return (np.triu if attributes.get("upper", 1) else np.tril)(inputs[0], k)

    def clip(inputs, attributes):
        low, high = (list(inputs[1:]) + [None, None])[:2]
        return np.clip(inputs[0], low, high)

    return {
        "Conv": conv, "MaxPool": pool(jax.lax.max, -np.inf), "AveragePool": average_pool,
        "GlobalAveragePool": lambda x, a: x[0].mean(tuple(range(2, x[0].ndim)), keepdims=True),
        "BatchNormalization": batch_norm, "LayerNormalization": layer_norm, "Reshape": reshape, "Split": split,
        "ReduceMean": reduce_mean, "ConstantOfShape": constant_of_shape, "Trilu": trilu, "Clip": clip,
        "MatMul": lambda x, a: np.matmul(x[0], x[1]), "Add": lambda x, a: x[0] + x[1],
        "Mul": lambda x, a: x[0] * x[1], "Div": lambda x, a: x[0] / x[1], "Neg": lambda x, a: -x[0],
        "Relu": lambda x, a: np.maximum(x[0], 0), "Tanh": lambda x, a: np.tanh(x[0]),
        "Erf": lambda x, a: jax.lax.erf(x[0]), "Sigmoid": lambda x, a: jax.nn.sigmoid(x[0]),
        "Sqrt": lambda x, a: np.sqrt(x[0]), "Softmax": lambda x, a: jax.nn.softmax(x[0], a.get("axis", -1)),
        "Concat": lambda x, a: np.concatenate(x, a["axis"]),
        "Transpose": lambda x, a: np.transpose(x[0], a.get("perm")),
        "Expand": lambda x, a: x[0] * np.ones([int(size) for size in x[1]], x[0].dtype),
    }


def _network(path, precision, given):
    """The file as a function with its weights, and its inputs (numpy arrays) as JAX's."""
    import jax.numpy as np
    from lib.onnx_graph import Graph
    real = np.bfloat16 if precision == "bf16" else np.float32

    def array(of):
        return np.asarray(of, real if of.dtype.kind == "f" else None)

    return Graph(path, operators(real), array), [array(of) for of in given]


def outputs(path, given, precision="f32"):
    """Of a run where JAX runs by default; for check_peers.py."""
    graph, inputs = _network(path, precision, given)
    return [output.astype("float32") for output in graph(graph.weights, *inputs)]


def prepared(path, precision):
    """What times a run with inputs on the device; empty where JAX has no GPU or not the precision.

    Runs are put behind each other and waited for together, as well as one by one; the faster counts.
    """
    import jax
    if jax.default_backend() != "gpu" or precision not in PRECISIONS:
        return {}
    import numpy
    from lib.onnx_graph import input_shapes
    random = numpy.random.default_rng(1)
    given = [random.random(sizes, "f4").astype(kind) for _, sizes, kind in input_shapes(path)]
    with jax.default_matmul_precision(PRECISIONS[precision]):
        graph, given = _network(path, precision, given)
        run = jax.jit(graph.__call__)
        for _ in range(3):
            jax.block_until_ready(run(graph.weights, *given))

    def seconds_of(runs):
        start = time.perf_counter()
        for _ in range(runs):
            result = run(graph.weights, *given)
        jax.block_until_ready(result)
        return (time.perf_counter() - start) / runs

    def median(seconds):
        times = {1: [], TOGETHER: []}
        with jax.default_matmul_precision(PRECISIONS[precision]):  # of the compiled function too
            while len(times[1]) < 10 or sum(sum(own) * runs for runs, own in times.items()) < seconds:
                for runs, own in times.items():
                    own.append(seconds_of(runs))
        return min(map(statistics.median, times.values()))

    return {"jax": median}
