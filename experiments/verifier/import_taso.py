# SPDX-License-Identifier: Apache-2.0
"""TASO's published rules (graph_subst.pb) as rules of Egret's language.

    python3 import_taso.py graph_subst.pb [--as-written] > taso.rules
"""
import argparse
import pathlib

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from published_terms import Equation, Op, Var, rule_text

TYPES = {3: "conv", 8: "relu", 12: "concat", 13: "split", 16: "ewadd", 17: "ewmul", 18: "matmul"}
KERNEL_H, KERNEL_W, STRIDE_H, STRIDE_W, PAD, ACTIVATION, RANK, AXIS = 4, 5, 6, 7, 8, 9, 10, 11
ACTIVATIONS = {0: "none", 1: "sigmoid", 2: "relu", 3: "tanh"}

# message: its fields, by number from 1; a field of a message's type is repeated.
MESSAGES = {
    "Parameter": ["key", "value"],
    "Tensor": ["opId", "tsId"],
    "Operator": ["type", ("input", "Tensor"), ("para", "Parameter")],
    "MapOutput": ["srcOpId", "dstOpId", "srcTsId", "dstTsId"],
    "Rule": [("src", "Operator"), ("dst", "Operator"), ("map", "MapOutput")],
    "Collection": [("rule", "Rule")],
}


def collection_class():
    file = descriptor_pb2.FileDescriptorProto(name="taso.proto", package="taso", syntax="proto2")
    kind = descriptor_pb2.FieldDescriptorProto
    for message, fields in MESSAGES.items():
        descriptor = file.message_type.add(name=message)
        for number, entry in enumerate(fields, 1):
            if isinstance(entry, str):
                descriptor.field.add(name=entry, number=number, label=kind.LABEL_OPTIONAL, type=kind.TYPE_INT32)
            else:
                descriptor.field.add(name=entry[0], number=number, label=kind.LABEL_REPEATED,
                                     type=kind.TYPE_MESSAGE, type_name=f".taso.{entry[1]}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("taso.Collection"))


def terms_of(operators):
    """The terms of a graph's operators, by (operator, output); variables have negative operators."""
    terms = {}

    def tensor(reference):
        if reference.opId < 0:
            return Var(f"i{-reference.opId}")
        return terms[reference.opId, reference.tsId]

    for number, operator in enumerate(operators):
        name = TYPES[operator.type]
        given = {p.key: p.value for p in operator.para}
        args = tuple(tensor(t) for t in operator.input)
        params = ()
        if name == "conv":
            assert given[PAD] == 0, "only SAME is known here"
            params = (("kernel", (given[KERNEL_H], given[KERNEL_W])), ("strides", (given[STRIDE_H], given[STRIDE_W])),
                      ("act", ACTIVATIONS[given[ACTIVATION]]))
        elif name == "matmul":
            assert given[ACTIVATION] == 0, "only products without activation are known here"
        elif name == "concat":
            params = (("axis", given[AXIS]), ("rank", given[RANK]))
        if name == "split":
            for part in (0, 1):
                terms[number, part] = Op(name, args, (("axis", given[AXIS]), ("part", part)))
        else:
            terms[number, 0] = Op(name, args, params)
    return terms


def equations(path):
    collection = collection_class().FromString(pathlib.Path(path).read_bytes())
    for number, rule in enumerate(collection.rule):
        left, right = terms_of(rule.src), terms_of(rule.dst)

        def side(graph, operator, output):
            return graph[operator, output] if operator >= 0 else Var(f"i{-operator}")

        outputs = [(side(left, m.srcOpId, m.srcTsId), side(right, m.dstOpId, m.dstTsId)) for m in rule.map]
        yield Equation(f"taso-{number:03}", outputs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--as-written", action="store_true", help="3x3, stride 1, SAME, instead of all windows")
    arguments = parser.parse_args()
    print("# From TASO's graph_subst.pb (Apache-2.0), by import_taso.py.\n")
    for equation in equations(arguments.file):
        print(rule_text(equation, as_written=arguments.as_written))


if __name__ == "__main__":
    main()
