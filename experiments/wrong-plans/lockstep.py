# SPDX-License-Identifier: Apache-2.0
"""Runs the models of all ranks node by node with ONNX's reference evaluator: an oracle that has no code of Egret."""
import numpy
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from faults import groups_of, value


class Contradiction(Exception):
    """A node whose attributes name two groups."""


def block(array, shape, place, count):
    """A rank's part of an input: whole, or cut in the dimension whose size differs."""
    for dim, (own, part) in enumerate(zip(array.shape, shape)):
        if own != part:
            return numpy.split(array, count, dim)[place]
    return array


def exchange(node, held, rank, mesh):
    """What a rank has after an exchange, from what all ranks sent."""
    name = value(node, "mesh_axis")
    own = groups_of(mesh, name.decode())[rank] if name else None
    group = list(value(node, "ranks") or own)
    size = value(node, "group_size")
    if (own and group != own) or (size and len(group) != size):
        raise Contradiction(f"{node.op_type} of rank {rank}: its axis, ranks and group_size are not of one group")
    parts = [held[one] for one in group]
    place = list(group).index(rank)
    axis = value(node, "axis") or 0
    if node.op_type == "AllGather":
        return numpy.concatenate(parts, axis)
    if node.op_type == "AllToAll":
        split, concat = value(node, "split_axis"), value(node, "concat_axis")
        return numpy.concatenate([numpy.split(part, len(group), split)[place] for part in parts], concat)
    if node.op_type == "Shard":
        return numpy.split(held[rank], len(group), axis)[place]
    # sum() begins with the integer 0, which makes f64 of a scalar of f32.
    reduced = (numpy.maximum if value(node, "reduction") == b"max" else numpy.add).reduce(parts)
    return numpy.split(reduced, len(group), axis)[place] if node.op_type == "ReduceScatter" else reduced


def apply(node, inputs, opsets):
    if node.op_type == "GatherElements":  # the evaluator's takes at most 32 elements of an axis
        data, indices = (inputs[name] for name in node.input)
        return [numpy.take_along_axis(data, indices, value(node, "axis") or 0)]
    function = helper.make_function("f", "f", [name for name in node.input if name], list(node.output), [node], opsets)
    return ReferenceEvaluator(function).run(None, inputs, attributes={})


def run(ranks, mesh, inputs):
    """The outputs of each rank. Raises where the programs cannot be run together."""
    count = len(ranks)
    values = []
    for rank, model in enumerate(ranks):
        own = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
        for one in model.graph.input:
            shape = [dim.dim_value for dim in one.type.tensor_type.shape.dim]
            own[one.name] = block(inputs[one.name], shape, rank, count)
        values.append(own)
    for nodes in zip(*(model.graph.node for model in ranks), strict=True):
        if nodes[0].domain == "egret":
            held = [own[node.input[0]] for own, node in zip(values, nodes)]
            for rank, node in enumerate(nodes):
                values[rank][node.output[0]] = exchange(node, held, rank, mesh)
            continue
        for own, node, model in zip(values, nodes, ranks):
            opsets = [one for one in model.opset_import if one.domain == node.domain]
            made = apply(node, {name: own[name] for name in node.input if name}, opsets)
            own.update(zip(node.output, made))
    return [{one.name: own[one.name] for one in model.graph.output} for own, model in zip(values, ranks)]


def shapes_of(ranks, mesh, inputs):
    """The shapes in which programs without a fault leave the outputs: whole, or in blocks."""
    return {name: array.shape for name, array in run(ranks, mesh, inputs)[0].items()}


def agree(ranks, mesh, inputs, expected, shapes):
    """Whether the outputs of the ranks are the expected ones by name, in these shapes: whole, or as blocks in the order
    of ranks. The names come in the model's order, too."""
    found = run(ranks, mesh, inputs)
    for rank, outputs in enumerate(found):
        if list(outputs) != list(expected):
            return False
        for name, whole in expected.items():
            if outputs[name].shape != shapes[name]:
                return False
            part = block(whole, shapes[name], rank, len(ranks))
            # Sums round relative to their largest terms, and weights of a training step reach 1e8.
            atol = 1e-5 * float(numpy.abs(whole).max(initial=0))
            if part.shape != shapes[name] or not numpy.allclose(part, outputs[name], rtol=1e-3, atol=atol):
                return False
    return True


def effect(ranks, mesh, inputs, expected, shapes):
    """What a fault does: "harmless", "changes" an output, or "not_run", where the programs cannot be run together."""
    try:
        with numpy.errstate(all="ignore"):
            return "harmless" if agree(ranks, mesh, inputs, expected, shapes) else "changes"
    except Exception:  # the evaluator raises errors of many kinds
        return "not_run"
