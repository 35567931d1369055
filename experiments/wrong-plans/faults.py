# SPDX-License-Identifier: Apache-2.0
"""Faults of distributed programs: each takes the models of all ranks and yields wrong ones."""
import copy

import numpy
from onnx import helper, numpy_helper

EXCHANGES = ("AllReduce", "AllGather", "ReduceScatter", "AllToAll")


def attribute(node, name):
    return next((one for one in node.attribute if one.name == name), None)


def value(node, name):
    found = attribute(node, name)
    return helper.get_attribute_value(found) if found is not None else None


def replace(node, name, new):
    old = attribute(node, name)
    if old is not None:
        node.attribute.remove(old)
    if new is not None:
        node.attribute.append(helper.make_attribute(name, new))


def copies(ranks):
    """The types of inner values are left out, since the fault may change them."""
    made = [copy.deepcopy(model) for model in ranks]
    for model in made:
        del model.graph.value_info[:]
    return made


def exchanges(model, kinds=EXCHANGES):
    return [i for i, node in enumerate(model.graph.node) if node.domain == "egret" and node.op_type in kinds]


def weights(model):
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


def put(model, name, array):
    for tensor in model.graph.initializer:
        if tensor.name == name:
            tensor.CopyFrom(numpy_helper.from_array(numpy.ascontiguousarray(array), name))


def read_instead(model, old, new, first=0):
    """Nodes from this one on, and outputs, read another value."""
    for node in model.graph.node[first:]:
        for i, name in enumerate(node.input):
            if name == old:
                node.input[i] = new
    for output in model.graph.output:
        if output.name == old:
            model.graph.node.append(helper.make_node("Identity", [new], [old]))


def insert(model, place, node):
    nodes = list(model.graph.node)
    nodes.insert(place, node)
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def with_each(ranks, sites, change):
    """The models with `change(model, site, rank)` done to all of them, for each site."""
    for site in sites:
        made = copies(ranks)
        if all(change(model, site, rank) is not False for rank, model in enumerate(made)):
            yield made


def missing(ranks, mesh):
    def change(model, i, rank):
        node = copy.deepcopy(model.graph.node[i])
        del model.graph.node[i]
        read_instead(model, node.output[0], node.input[0])
    yield from with_each(ranks, exchanges(ranks[0]), change)


def doubled(ranks, mesh):
    def change(model, i, rank):
        again = copy.deepcopy(model.graph.node[i])
        model.graph.node[i].output[0] += ".once"
        again.input[0] = model.graph.node[i].output[0]
        insert(model, i + 1, again)
    sums = [i for i in exchanges(ranks[0], ("AllReduce",)) if value(ranks[0].graph.node[i], "reduction") == b"sum"]
    yield from with_each(ranks, sums, change)


def maximum(ranks, mesh):
    def change(model, i, rank):
        node = model.graph.node[i]
        replace(node, "reduction", "max" if value(node, "reduction") == b"sum" else "sum")
    yield from with_each(ranks, exchanges(ranks[0], ("AllReduce", "ReduceScatter")), change)


def other_mesh_axis(ranks, mesh):
    def change(model, i, rank):
        node = model.graph.node[i]
        own = value(node, "mesh_axis").decode()
        other = next((name for name in mesh if name != own), None)
        if other is None:
            return False
        replace(node, "mesh_axis", other)
        replace(node, "group_size", mesh[other])
        return True
    yield from with_each(ranks, exchanges(ranks[0]), change)


def other_dimension(ranks, mesh):
    def change(model, i, rank):
        node = model.graph.node[i]
        name = "concat_axis" if node.op_type == "AllToAll" else "axis"
        replace(node, name, 1 - value(node, name) if value(node, name) < 2 else 0)
    yield from with_each(ranks, exchanges(ranks[0], ("AllGather", "ReduceScatter", "AllToAll")), change)


def groups_of(mesh, axis):
    """The ranks of each group along an axis, by rank."""
    sizes = list(mesh.values())
    numbers = numpy.arange(int(numpy.prod(sizes))).reshape(sizes)
    place = list(mesh).index(axis)
    groups = {}
    for row in numpy.moveaxis(numbers, place, -1).reshape(-1, sizes[place]):
        for rank in row:
            groups[int(rank)] = [int(one) for one in row]
    return groups


def other_order(ranks, mesh):
    def change(model, i, rank):
        node = model.graph.node[i]
        group = groups_of(mesh, value(node, "mesh_axis").decode())[rank]
        replace(node, "ranks", [group[1], group[0], *group[2:]])
        replace(node, "mesh_axis", None)
    yield from with_each(ranks, exchanges(ranks[0], ("AllGather", "ReduceScatter", "AllToAll")), change)


def small_group(ranks, mesh):
    def change(model, i, rank):
        node = model.graph.node[i]
        group = groups_of(mesh, value(node, "mesh_axis").decode())[rank]
        if len(group) < 4:
            return False
        half = group[:len(group) // 2] if group.index(rank) < len(group) // 2 else group[len(group) // 2:]
        replace(node, "ranks", half)
        replace(node, "mesh_axis", None)
        replace(node, "group_size", len(half))
        return True
    yield from with_each(ranks, exchanges(ranks[0], ("AllReduce",)), change)


def cut_weights(ranks):
    all_weights = [weights(model) for model in ranks]
    return [name for name, array in all_weights[0].items()
            if array.size > 1 and any(not numpy.array_equal(array, other[name]) for other in all_weights[1:])]


def exchanged_blocks(ranks, mesh):
    for name in cut_weights(ranks):
        made = copies(ranks)
        first, last = weights(ranks[0])[name], weights(ranks[-1])[name]
        if first.shape != last.shape:
            continue
        put(made[0], name, last)
        put(made[-1], name, first)
        yield made


def one_block(ranks, mesh):
    yield from with_each(ranks, cut_weights(ranks), lambda model, name, rank: put(model, name, weights(ranks[0])[name]))


def interleaved(ranks, mesh):
    """Each rank has every nth row or column of a weight instead of a block of them."""
    if len(mesh) > 1:
        return
    for name in cut_weights(ranks):
        blocks = [weights(model)[name] for model in ranks]
        for dim in range(blocks[0].ndim):
            if blocks[0].shape[dim] < 2:
                continue
            whole = numpy.concatenate(blocks, dim)
            made = copies(ranks)
            for rank, model in enumerate(made):
                put(model, name, whole.take(range(rank, whole.shape[dim], len(ranks)), dim))
            yield made
            break


def uneven(ranks, mesh):
    for name in cut_weights(ranks):
        first, second = weights(ranks[0])[name], weights(ranks[1])[name]
        if first.shape[0] < 2:
            continue
        made = copies(ranks)
        put(made[0], name, numpy.concatenate([first, second[:1]]))
        put(made[1], name, second[1:])
        yield made


def other_weight(ranks, mesh):
    """Two weights of equal sizes are exchanged on all ranks."""
    known = weights(ranks[0])
    names = [name for name, array in known.items() if array.size > 1 and array.dtype == numpy.float32]
    for i, a in enumerate(names):
        for b in names[i + 1:]:
            if known[a].shape != known[b].shape or numpy.array_equal(known[a], known[b]):
                continue
            made = copies(ranks)
            for model, source in zip(made, ranks):
                own = weights(source)
                put(model, a, own[b])
                put(model, b, own[a])
            yield made


def early_activation(ranks, mesh):
    def change(model, i, rank):
        node = model.graph.node[i]
        early = helper.make_node("Relu", [node.input[0]], [node.input[0] + ".early"])
        node.input[0] = early.output[0]
        insert(model, i, early)
    yield from with_each(ranks, exchanges(ranks[0], ("AllReduce", "ReduceScatter")), change)


def early_bias(ranks, mesh):
    """What is added to a sum is added on every rank before."""
    def change(model, i, rank):
        node = model.graph.node[i]
        produced = {name for earlier in model.graph.node[:i] for name in earlier.output}
        produced |= set(weights(model)) | {one.name for one in model.graph.input}
        for k in range(i + 1, len(model.graph.node)):
            later = model.graph.node[k]
            if later.op_type != "Add" or node.output[0] not in later.input:
                continue
            other = later.input[1 - list(later.input).index(node.output[0])]
            if other not in produced:
                continue
            early = helper.make_node("Add", [node.input[0], other], [node.input[0] + ".early"])
            old, new = later.output[0], node.output[0]
            node.input[0] = early.output[0]
            del model.graph.node[k]
            read_instead(model, old, new)
            insert(model, i, early)
            return True
        return False
    sums = [i for i in exchanges(ranks[0], ("AllReduce",)) if value(ranks[0].graph.node[i], "reduction") == b"sum"]
    yield from with_each(ranks, sums, change)


def other_scale(ranks, mesh):
    """A scale that depends on the number of ranks, as that of a mean over a rank's own share."""
    scalars = [name for name, array in weights(ranks[0]).items() if array.size == 1 and array.dtype == numpy.float32]
    yield from with_each(ranks, scalars,
                         lambda model, name, rank: put(model, name, weights(model)[name] * numpy.float32(len(ranks))))


def one_rank_differs(ranks, mesh):
    others = {"Relu": "Tanh", "Add": "Sub", "Mul": "Add", "Softmax": "LogSoftmax"}
    sites = [i for i, node in enumerate(ranks[0].graph.node) if node.op_type in others]

    def change(model, i, rank):
        if rank == 1:
            model.graph.node[i].op_type = others[model.graph.node[i].op_type]
    yield from with_each(ranks, sites, change)


def same_typed(values):
    """Pairs of names of equal types."""
    for i, a in enumerate(values):
        for b in values[i + 1:]:
            if a.type == b.type:
                yield a.name, b.name


def exchange_names(model, a, b):
    """Each of two values takes the other's name, where it is declared and where it is read and written."""
    names = {a: b, b: a}
    for one in [*model.graph.input, *model.graph.output]:
        one.name = names.get(one.name, one.name)
    for node in model.graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]


def inputs_of_one_rank(ranks, mesh):
    """Rank 1 declares two inputs in the other order, and computes by their places what rank 0 does."""
    def change(model, site, rank):
        if rank == 1:
            exchange_names(model, *site)
    yield from with_each(ranks, same_typed(list(ranks[0].graph.input)), change)


def outputs_of_one_rank(ranks, mesh):
    def change(model, site, rank):
        if rank == 1:
            exchange_names(model, *site)
    yield from with_each(ranks, same_typed(list(ranks[0].graph.output)), change)


def outputs_of_all_ranks(ranks, mesh):
    yield from with_each(ranks, same_typed(list(ranks[0].graph.output)),
                         lambda model, site, rank: exchange_names(model, *site))


def contradictory_ranks(ranks, mesh):
    """The list of ranks is that of another axis, or in another order, than the named axis."""
    def change(model, i, rank):
        node = model.graph.node[i]
        own = value(node, "mesh_axis").decode()
        other = next((name for name in mesh if name != own), None)
        replace(node, "ranks", groups_of(mesh, other)[rank] if other else groups_of(mesh, own)[rank][::-1])
    yield from with_each(ranks, exchanges(ranks[0]), change)


def contradictory_size(ranks, mesh):
    def change(model, i, rank):
        node = model.graph.node[i]
        replace(node, "group_size", value(node, "group_size") + 1)
    yield from with_each(ranks, exchanges(ranks[0]), change)


def last_gather(ranks, mesh):
    """The outputs stay as blocks."""
    results = {output.name for output in ranks[0].graph.output}
    for i in exchanges(ranks[0], ("AllGather", "AllReduce")):
        node = ranks[0].graph.node[i]
        readers = [later for later in ranks[0].graph.node if node.output[0] in later.input]
        is_last = node.output[0] in results or any(set(later.output) & results for later in readers)
        if not is_last:
            continue
        made = copies(ranks)
        for model in made:
            own = model.graph.node[i]
            shard = node.op_type == "AllReduce"
            if shard:  # each rank keeps its rows of the sum
                own.op_type = "ReduceScatter"
                replace(own, "axis", 0)
            else:
                old, new = own.output[0], own.input[0]
                del model.graph.node[i]
                read_instead(model, old, new)
            for output in model.graph.output:
                output.type.tensor_type.ClearField("shape")
        yield made


def carried(plan):
    """Of a plan file of a training step: two parameters of one type and placement take each other's next value."""
    pairs = plan["carried"]
    for i, a in enumerate(pairs):
        for k in range(i + 1, len(pairs)):
            first, second = plan["program"][a["node"]], plan["program"][pairs[k]["node"]]
            if (first["type"], first["placement"]) != (second["type"], second["placement"]):
                continue
            made = copy.deepcopy(plan)
            made["carried"][i]["output"], made["carried"][k]["output"] = pairs[k]["output"], a["output"]
            yield made


# Of plan files.
CARRIED = "two carried values are exchanged"
# Of ranks' models.
FAULTS = {
    "an exchange is missing": missing,
    "an exchange happens twice": doubled,
    "a maximum in the place of a sum": maximum,
    "another axis of the mesh": other_mesh_axis,
    "another dimension": other_dimension,
    "another order of ranks": other_order,
    "a group of half the ranks": small_group,
    "two ranks have each other's blocks": exchanged_blocks,
    "all ranks have one block": one_block,
    "blocks are interleaved": interleaved,
    "blocks are uneven": uneven,
    "two weights are exchanged": other_weight,
    "an activation of partial sums": early_activation,
    "a bias on every rank": early_bias,
    "another scale": other_scale,
    "one rank computes something else": one_rank_differs,
    "one rank has two inputs exchanged": inputs_of_one_rank,
    "one rank has two outputs exchanged": outputs_of_one_rank,
    "two outputs are exchanged": outputs_of_all_ranks,
    "an axis and other ranks": contradictory_ranks,
    "another group size": contradictory_size,
    "outputs stay in blocks": last_gather,
}
