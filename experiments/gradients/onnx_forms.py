# SPDX-License-Identifier: Apache-2.0
"""The networks of networks.py as ONNX."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

import networks


class Writer:
    def __init__(self, name):
        self.name, self.nodes, self.count = name, [], 0
        self.constants = [numpy_helper.from_array(v, k) for k, v in networks.parameters(name).items()]

    def __call__(self, op, *inputs, **attributes):
        self.count += 1
        out = f"v{self.count}"
        self.nodes.append(helper.make_node(op, list(inputs), [out], **attributes))
        return out

    def fixed(self, value):
        """A constant that is no parameter: scalars and integers are not trained."""
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def model(self, out):
        x, _ = networks.data(self.name)
        kind = TensorProto.INT64 if x.dtype.kind == "i" else TensorProto.FLOAT
        self.nodes[-1].output[0] = "y"
        graph = helper.make_graph(self.nodes, self.name, [helper.make_tensor_value_info("x", kind, x.shape)],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], self.constants)
        assert out == f"v{self.count}"
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def mlp(w):
    h = w("Relu", w("Add", w("MatMul", "x", "w1"), "b1"))
    h = w("Tanh", w("Gemm", h, "w2", "b2"))
    return w("Gemm", h, "w3", "b3")


def block(w):
    x = w("Conv", "x", "k0", strides=[2, 2], pads=[1] * 4)
    x = w("Relu", w("Add", w("Mul", x, "scale0"), "shift0"))
    x = w("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    inner = w("Relu", w("Mul", w("Conv", x, "k1", pads=[2] * 4, dilations=[2, 2]), "scale1"))
    inner = w("Conv", inner, "k2", strides=[2, 2], pads=[1] * 4, group=2)
    x = w("Relu", w("Add", inner, w("Conv", x, "k3", strides=[2, 2])))
    return w("MatMul", w("Flatten", w("GlobalAveragePool", x)), "w")


def layer(w):
    batch, length, width, heads = networks.BATCH, networks.LENGTH, networks.WIDTH, networks.HEADS
    x = w("Gather", "table", "x")

    def split(y, perm=(0, 2, 1, 3)):
        apart = w("Reshape", y, w.fixed(np.array([batch, length, heads, width // heads])))
        return w("Transpose", apart, perm=perm)

    y = w("LayerNormalization", x, "scale1", "shift1", epsilon=1e-5)
    q, k = split(w("MatMul", y, "wq")), split(w("MatMul", y, "wk"), (0, 2, 3, 1))
    weights = w("Softmax", w("Div", w("MatMul", q, k), w.fixed(np.float32(np.sqrt(width / heads)))), axis=-1)
    v = split(w("MatMul", y, "wv"))
    mixed = w("Transpose", w("MatMul", weights, v), perm=[0, 2, 1, 3])
    mixed = w("Reshape", mixed, w.fixed(np.array([batch, length, width])))
    x = w("Add", x, w("MatMul", mixed, "wo"))
    y = w("LayerNormalization", x, "scale2", "shift2", epsilon=1e-5)
    h = w("Add", w("MatMul", y, "w1"), "b1")
    odd = w("Erf", w("Div", h, w.fixed(np.float32(np.sqrt(2)))))
    gelu = w("Mul", w("Mul", h, w("Add", odd, w.fixed(np.float32(1)))), w.fixed(np.float32(0.5)))
    return w("Add", x, w("MatMul", gelu, "w2"))


FORMS = {"mlp": mlp, "resnet-block": block, "transformer-layer": layer}


def model(name):
    writer = Writer(name)
    return writer.model(FORMS[name](writer))
