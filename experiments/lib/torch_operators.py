# SPDX-License-Identifier: Apache-2.0
"""What PyTorch makes of each ONNX operator, so that it runs the networks that the others run (lib.onnx_graph)."""
import functools
import math

import numpy
import onnx


def operators(device, real="float32"):
    """By the names that ONNX gives them; new values are made on `device`, reals of the type `real`."""
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
        x, pads = inputs[0], attributes.get("pads", [0, 0, 0, 0])
        counted = bool(attributes.get("count_include_pad", 0))
        window = attributes["kernel_shape"], attributes.get("strides")
        ceil = bool(attributes.get("ceil_mode", 0))
        if pads[:2] == pads[2:]:
            return F.avg_pool2d(x, *window, pads[:2], ceil, counted)
        average = F.avg_pool2d(padded(x, attributes, 0.0)[0], *window, 0, ceil)
        if counted:
            return average
        ones = torch.ones_like(x[:1, :1])
        return average / F.avg_pool2d(padded(ones, attributes, 0.0)[0], *window, 0, ceil)

    def layer_norm(inputs, attributes):
        shape = inputs[0].shape[attributes.get("axis", -1) % inputs[0].ndim:]
        return F.layer_norm(inputs[0], shape, inputs[1], inputs[2] if len(inputs) > 2 else None,
                            attributes.get("epsilon", 1e-5))

    def reshape(inputs, attributes):
        return inputs[0].reshape([inputs[0].shape[i] if size == 0 else int(size)
                                  for i, size in enumerate(inputs[1])])

    def unsqueeze(inputs, attributes):
        axes = inputs[1].tolist() if len(inputs) > 1 else attributes["axes"]
        rank = inputs[0].ndim + len(axes)
        return functools.reduce(torch.unsqueeze, sorted(axis % rank for axis in axes), inputs[0])

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
        return torch.full([int(size) for size in inputs[0]], number, dtype=getattr(torch, real), device=device)

    def trilu(inputs, attributes):
        k = int(inputs[1]) if len(inputs) > 1 else 0
        return (torch.triu if attributes.get("upper", 1) else torch.tril)(inputs[0], k)

    def clip(inputs, attributes):
        low, high = (list(inputs[1:]) + [attributes.get("min"), attributes.get("max")][len(inputs) - 1:])[:2]
        return inputs[0] if low is None and high is None else torch.clamp(inputs[0], low, high)

    def softmax(inputs, attributes):
        x = inputs[0]
        if attributes["opset"] >= 13:
            return torch.softmax(x, attributes.get("axis", -1))
        return torch.softmax(x.flatten(attributes.get("axis", 1)), -1).reshape(x.shape)

    def gemm(inputs, attributes):
        a = inputs[0].t() if attributes.get("transA", 0) else inputs[0]
        b = inputs[1].t() if attributes.get("transB", 0) else inputs[1]
        alpha, beta = attributes.get("alpha", 1.0), attributes.get("beta", 1.0)
        if len(inputs) > 2 and inputs[2] is not None:
            return torch.addmm(inputs[2], a, b, alpha=alpha, beta=beta)
        return alpha * (a @ b)

    def local_response_norm(inputs, attributes):
        return F.local_response_norm(inputs[0], attributes["size"], attributes.get("alpha", 1e-4),
                                     attributes.get("beta", 0.75), attributes.get("bias", 1.0))

    def flatten(inputs, attributes):
        axis = attributes.get("axis", 1)
        return inputs[0].reshape(math.prod(inputs[0].shape[:axis]), -1)

    def concat(inputs, attributes):
        """Of tensors, or of sizes, which stay numpy arrays."""
        if all(isinstance(part, numpy.ndarray) for part in inputs):
            return numpy.concatenate(inputs, attributes["axis"])
        return torch.cat(inputs, attributes["axis"])

    def slice_of_sizes(inputs, attributes):
        data = inputs[0]
        if not isinstance(data, numpy.ndarray):
            raise NotImplementedError("Slice of a tensor")
        given = list(inputs[1:]) or [attributes[name] for name in ("starts", "ends", "axes") if name in attributes]
        starts, ends = given[:2]
        axes = given[2] if len(given) > 2 else range(len(starts))
        steps = given[3] if len(given) > 3 else [1] * len(starts)
        index = [slice(None)] * data.ndim
        for axis, start, end, step in zip(axes, starts, ends, steps):
            index[int(axis)] = slice(int(start), int(end), int(step))
        return data[tuple(index)]

    def cast_of_sizes(inputs, attributes):
        if not isinstance(inputs[0], numpy.ndarray):
            raise NotImplementedError("Cast of a tensor")
        return inputs[0].astype(onnx.helper.tensor_dtype_to_np_dtype(attributes["to"]))

    def hard_sigmoid(inputs, attributes):
        return torch.clamp(attributes.get("alpha", 0.2) * inputs[0] + attributes.get("beta", 0.5), 0, 1)

    return {
        "Conv": conv, "MaxPool": max_pool, "AveragePool": average_pool,
        "GlobalAveragePool": lambda x, a: x[0].mean(tuple(range(2, x[0].ndim)), keepdim=True),
        "BatchNormalization": lambda x, a: F.batch_norm(x[0], x[3], x[4], x[1], x[2], eps=a.get("epsilon", 1e-5)),
        "LayerNormalization": layer_norm, "Reshape": reshape, "Split": split, "ReduceMean": reduce_mean,
        "ConstantOfShape": constant_of_shape, "Trilu": trilu, "Clip": clip,
        "MatMul": lambda x, a: torch.matmul(x[0], x[1]), "Add": lambda x, a: x[0] + x[1],
        "Sub": lambda x, a: x[0] - x[1], "Exp": lambda x, a: torch.exp(x[0]),
        "Mul": lambda x, a: x[0] * x[1], "Div": lambda x, a: x[0] / x[1], "Neg": lambda x, a: -x[0],
        "Relu": lambda x, a: torch.relu(x[0]), "Tanh": lambda x, a: torch.tanh(x[0]),
        "Erf": lambda x, a: torch.erf(x[0]), "Sigmoid": lambda x, a: torch.sigmoid(x[0]),
        "Sqrt": lambda x, a: torch.sqrt(x[0]), "Softmax": softmax,
        "Concat": concat, "Gemm": gemm, "LRN": local_response_norm, "Flatten": flatten, "Slice": slice_of_sizes,
        "Cast": cast_of_sizes, "HardSigmoid": hard_sigmoid, "Dropout": lambda x, a: x[0],
        "Shape": lambda x, a: numpy.array(x[0].shape), "Sum": lambda x, a: functools.reduce(torch.add, x),
        "Max": lambda x, a: functools.reduce(torch.maximum, x),
        "LeakyRelu": lambda x, a: F.leaky_relu(x[0], a.get("alpha", 0.01)),
        "Transpose": lambda x, a: x[0].permute(a["perm"]),
        "Unsqueeze": unsqueeze, "Identity": lambda x, a: x[0],
        "Expand": lambda x, a: torch.broadcast_to(x[0], torch.broadcast_shapes(x[0].shape,
                                                                                tuple(int(s) for s in x[1]))),
    }
