# SPDX-License-Identifier: Apache-2.0
"""Runs an ONNX graph by whoever brings the operators, so that peers compute the same network from the same file.

A peer is a table from operator names to functions of (inputs, attributes); `constant` makes its arrays.
"""
import onnx
from onnx import numpy_helper


def attributes_of(node):
    values = {}
    for attribute in node.attribute:
        value = onnx.helper.get_attribute_value(attribute)
        values[attribute.name] = value.decode() if isinstance(value, bytes) else value
    return values


def _shapes(inputs):
    for value in inputs:
        kind = value.type.tensor_type
        sizes = [dimension.dim_param or dimension.dim_value for dimension in kind.shape.dim]
        yield value.name, sizes, onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)


def input_shapes(path):
    """As Graph.input_shapes(), of a file that no peer has read."""
    graph = onnx.load(str(path), load_external_data=False).graph
    known = {tensor.name for tensor in graph.initializer}
    return _shapes(value for value in graph.input if value.name not in known)


class Graph:
    """`operators[name](inputs, attributes)` gives one value or a list of them; what a constant says as sizes,
    axes or indices stays a numpy array. Among the attributes are "outputs", their number, and "opset"."""

    def __init__(self, path, operators, constant):
        model = onnx.load(str(path))
        self.graph = model.graph
        self.opset = max(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
        self.operators = operators
        missing = sorted({node.op_type for node in self.graph.node} - set(operators) - {"Constant"})
        if missing:
            raise NotImplementedError(", ".join(missing))
        self.weights, self.numbers = {}, {}
        for tensor in self.graph.initializer:
            self._keep(tensor.name, numpy_helper.to_array(tensor), constant)
        for node in self.graph.node:
            if node.op_type == "Constant":
                self._keep(node.output[0], numpy_helper.to_array(node.attribute[0].t), constant)
        self.nodes = [(node, attributes_of(node)) for node in self.graph.node if node.op_type != "Constant"]
        known = set(self.weights) | set(self.numbers)
        self.inputs = [value for value in self.graph.input if value.name not in known]

    def _keep(self, name, array, constant):
        if array.dtype.kind in "iub":
            self.numbers[name] = array
        else:
            self.weights[name] = constant(array)

    def input_shapes(self):
        """Of each input: its name, sizes (names where they are symbolic) and element type as numpy calls it."""
        return _shapes(self.inputs)

    def __call__(self, weights, *inputs):
        values = {**self.numbers, **weights}
        values.update(zip((value.name for value in self.inputs), inputs))
        for node, attributes in self.nodes:
            given = [values[name] if name else None for name in node.input]
            context = {"outputs": len(node.output), "opset": self.opset}
            made = self.operators[node.op_type](given, attributes | context)
            for name, value in zip(node.output, made if isinstance(made, (list, tuple)) else [made]):
                values[name] = value
        return [values[output.name] for output in self.graph.output]
