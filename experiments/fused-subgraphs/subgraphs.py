# SPDX-License-Identifier: Apache-2.0
"""The subgraphs of Mirage's and Prism's evaluations as ONNX files, in the operators that exporters write.

Weights are random with a fixed seed. What Mirage's programs take as an input that changes from call to call (queries,
keys, values, activations) is an input here; matrices that a model keeps are weights.
"""
import numpy
from lib.small_models import Model


def rms_norm(m, x, name, width):
    """x / sqrt(mean(x^2) + epsilon) * scale, as Llama's exports write it."""
    mean = m.apply("ReduceMean", [m.apply("Mul", [x, x])], axes=[-1], keepdims=1)
    root = m.apply("Sqrt", [m.apply("Add", [mean, m.constant(f"{name}.epsilon", numpy.float32(1e-5))])])
    scale = m.constant(f"{name}.scale", m.random.uniform(0.5, 1.5, width).astype("float32"))
    return m.apply("Mul", [m.apply("Div", [x, root]), scale])


def attend(m, q, keys_transposed, v):
    scores = m.apply("MatMul", [q, keys_transposed])
    return m.apply("MatMul", [m.apply("Softmax", [scores], axis=-1), v])


def gqa(m, heads, rows, context, width):
    """The queries of a group are rows of one key head already, and the keys transposed."""
    q, k = m.input("q", [heads, rows, width]), m.input("k", [heads, width, context])
    return attend(m, q, k, m.input("v", [heads, context, width])), [heads, rows, width]


def gqa_repeated(m, queries, heads, context, width):
    """One token; keys and values are repeated for each query head, as exporters write it."""
    def repeated(name):
        apart = m.constant(f"{name}.apart", numpy.int64([1, heads, 1, context, width]))
        x = m.apply("Reshape", [m.input(name, [1, heads, context, width]), apart])
        times = m.constant(f"{name}.times", numpy.int64([1, heads, queries // heads, context, width]))
        joined = m.constant(f"{name}.joined", numpy.int64([1, queries, context, width]))
        return m.apply("Reshape", [m.apply("Expand", [x, times]), joined])

    q = m.input("q", [1, queries, 1, width])
    scale = m.constant("scale", numpy.float32(width**-0.5))
    keys = m.apply("Transpose", [repeated("k")], perm=[0, 1, 3, 2])
    scores = m.apply("Mul", [m.apply("MatMul", [q, keys]), scale])
    return m.apply("MatMul", [m.apply("Softmax", [scores], axis=-1), repeated("v")]), [1, queries, 1, width]


def qk_norm(m, heads, rows, context, width):
    q = rms_norm(m, m.input("q", [heads, rows, width]), "q", width)
    k = rms_norm(m, m.input("k", [heads, context, width]), "k", width)
    keys = m.apply("Transpose", [k], perm=[0, 2, 1])
    return attend(m, q, keys, m.input("v", [heads, context, width])), [heads, rows, width]


def rms_norm_matmul(m, rows, width, columns):
    x = rms_norm(m, m.input("x", [rows, width]), "norm", width)
    return m.apply("MatMul", [x, m.weight("w", width, columns)]), [rows, columns]


def adapted(m, x, a, b, width, columns):
    low = m.apply("MatMul", [m.apply("MatMul", [x, a]), b])
    return m.apply("Add", [m.apply("MatMul", [x, m.weight("w", width, columns)]), low])


def lora(m, rows, width, rank, columns):
    x = m.input("x", [rows, width])
    return adapted(m, x, m.weight("a", width, rank), m.weight("b", rank, columns), width, columns), [rows, columns]


def lora_inputs(m, rows, width, rank, columns):
    """The adapter is an input: one that is exchanged between calls."""
    x, a, b = m.input("x", [rows, width]), m.input("a", [width, rank]), m.input("b", [rank, columns])
    return adapted(m, x, a, b, width, columns), [rows, columns]


def gated_mlp(m, rows, width, inner):
    x = m.input("x", [rows, width])
    gate, up = (m.apply("MatMul", [x, m.weight(name, width, inner)]) for name in ("w1", "w2"))
    return m.apply("Mul", [m.apply("Mul", [gate, m.apply("Sigmoid", [gate])]), up]), [rows, inner]


def n_trans(m, rows, width):
    """norm(x + alpha * (norm(h) - x)), the step of a normalized transformer."""
    x, h, alpha = (m.input(name, [rows, width]) for name in ("x", "h", "alpha"))
    step = m.apply("Mul", [alpha, m.apply("Sub", [rms_norm(m, h, "inner", width), x])])
    return rms_norm(m, m.apply("Add", [x, step]), "outer", width), [rows, width]


BUILD = {"gqa": gqa, "gqa-repeated": gqa_repeated, "qk-norm": qk_norm, "qk-norm-decode": qk_norm,
         "rms-norm": rms_norm_matmul, "lora": lora, "lora-inputs": lora_inputs, "gated-mlp": gated_mlp,
         "n-trans": n_trans}


def write(name, sizes, folder):
    """The file of a subgraph."""
    m = Model(name)
    output, shape = BUILD[name](m, **sizes)
    m.save(folder, output, shape)
    return folder / f"{name}.onnx"
