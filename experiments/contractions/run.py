# SPDX-License-Identifier: Apache-2.0
"""Generated contractions beside the CPU backend's kernels, for each distinct convolution and product of many models.

A contraction becomes a file of one operator with random weights. Egret's two backends and the versions of oneDNN that are
here (onednn.py) run it in turns, round by round, on inputs that stay in the cache. A time is the least of the rounds'
tenth percentiles, since other processes only add to it. The outputs of the generated kernel are checked against the
interpreter's, in the model's tiles and in those that were measured.
"""
import hashlib
import json
import os
import pathlib
import statistics
import sys
import tempfile

import numpy
import onnx
from onnx import helper, numpy_helper

import kinds
import onednn
from lib import egret, models, onnx_graph, results, settings

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["model", "kernel", "shapes", "count", "models", "right", "generated_ms", "model_ms", "library_ms", "ratio",
           "implementation", "reorders", *[f"onednn_{version}_ms" for version in onednn.PACKAGES], "mflop", "mbytes",
           "roofline_ms", "generated_share", "library_share"]


def shapes_by_name(model, sizes):
    """Symbolic dimensions have the given sizes, or 1."""
    for value in model.graph.input:
        for dimension in value.type.tensor_type.shape.dim:
            if not dimension.dim_value:
                dimension.dim_value = sizes.get(dimension.dim_param, 1)
    del model.graph.value_info[:]
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    known = {tensor.name: list(tensor.dims) for tensor in model.graph.initializer}
    inferred = onnx.shape_inference.infer_shapes(model).graph
    for value in [*inferred.input, *inferred.value_info, *inferred.output]:
        known[value.name] = [dimension.dim_value for dimension in value.type.tensor_type.shape.dim]
    return known


def plain(value):
    """An attribute's value as it is when it has been written and read as JSON: those of texts in lists are bytes."""
    if isinstance(value, bytes):
        return value.decode()
    return tuple(map(plain, value)) if isinstance(value, list) else value


def contractions_of(path, sizes):
    """The distinct contractions of a model, and how often each occurs: a tuple of operator, shapes of its operands,
    attributes, and which operands are weights. Those of unknown sizes are left out."""
    model = onnx.load(str(path))
    shapes = shapes_by_name(model, sizes)
    weights = {tensor.name for tensor in model.graph.initializer}
    found = {}
    for node in model.graph.node:
        if node.op_type not in ("Conv", "MatMul", "Gemm"):
            continue
        operands = tuple((tuple(shapes.get(name, (0,))), name in weights) for name in node.input if name)
        # A value whose rank inference does not find has no extents. All operators here need one at least.
        if any(not shape or min(shape) <= 0 for shape, _ in operands):
            continue
        attributes = tuple(sorted((name, plain(value)) for name, value in onnx_graph.attributes_of(node).items()))
        key = (node.op_type, operands, attributes)
        found[key] = found.get(key, 0) + 1
    return found


def tuples(value):
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def key_of(model, sizes):
    """What a model's contractions depend on: the file or, of the zoo, the revision of Egret; and the sizes. None where
    the file is absent."""
    if model.startswith("zoo:"):
        source = egret.version()
    else:
        path = models.locate(model, None)
        if path is None or not path.exists():
            return None
        with open(path, "rb") as file:
            source = hashlib.file_digest(file, "sha256").hexdigest()
    return hashlib.sha256(json.dumps([model, source, sorted(sizes.items())]).encode()).hexdigest()[:16]


def known_contractions(model, sizes, folder):
    """contractions_of() the model, kept in build/contractions: large models take long to build. None where it is
    absent."""
    key = key_of(model, sizes)
    if key is None:
        return None
    name = model.replace("/", "-").replace(":", "-")
    kept = egret.ROOT / "build" / "contractions" / f"{name}-{key}.json"
    try:
        return {tuples(key): count for key, count in json.loads(kept.read_text())}
    except (OSError, ValueError):
        pass
    with models.located(model, folder) as path:
        if path is None:
            return None
        found = contractions_of(path, sizes)
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(list(found.items())))
    return found


def size_of(contraction):
    """What the order of measurements goes by: terms of the weights or of the right operand, times rows."""
    _, operands, _ = contraction
    return int(numpy.prod(operands[1][0], dtype=float) * numpy.prod(operands[0][0][-2:], dtype=float))


def in_turns(by_model):
    """One of each model after the other, the largest first, so that a run that ends early has seen all models. Of
    what several models have, the first one's."""
    queues = {model: sorted(found, key=lambda each: -size_of(each) * found[each]) for model, found in by_model.items()}
    having = {}
    for model, found in by_model.items():
        for contraction in found:
            having.setdefault(contraction, []).append(model)
    while any(queues.values()):
        for model, queue in queues.items():
            while queue:
                contraction = queue.pop(0)
                if having[contraction][0] == model:
                    yield model, contraction, by_model[model][contraction], len(having[contraction])
                    break


def write(contraction, path):
    """A file of this contraction alone."""
    kind, operands, attributes = contraction
    random = numpy.random.default_rng(3)
    inputs, weights, names = [], [], []
    for i, (shape, is_weight) in enumerate(operands):
        names.append(f"x{i}")
        if is_weight:
            values = random.standard_normal(shape, dtype=numpy.float32) / numpy.sqrt(numpy.prod(shape[1:], initial=1))
            weights.append(numpy_helper.from_array(values.astype(numpy.float32), names[-1]))
        else:
            inputs.append(helper.make_tensor_value_info(names[-1], onnx.TensorProto.FLOAT, shape))
    node = helper.make_node(kind, names, ["y"], **dict(attributes))
    output = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "contraction", inputs, [output], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(onnx.shape_inference.infer_shapes(model), str(path))


def name_of(contraction):
    kind, operands, attributes = contraction
    special = {name: value for name, value in attributes if name in ("strides", "dilations", "group")
               and value not in ((1, 1), 1)}
    return kind, " ".join("x".join(map(str, shape)) for shape, _ in operands if len(shape) > 1) + "".join(
        f" {name} {value if isinstance(value, int) else value[0]}" for name, value in special.items())


def is_right(path, threads):
    try:
        for tiles in ("model", "measured"):
            os.environ["EGRET_TILES"] = tiles
            egret.run("run", path, "--backend", "codegen", "--check", "--threads", threads, accept=(0,))
    except egret.EgretError:
        return False
    return True


def row_of(path, contraction, libraries, config):
    flags = ["--threads", config["threads"], "--time", f"{config['seconds']}s", "--kernels", "--reuse-inputs"]
    times = {name: [] for name in ("measured", "model", "library", *onednn.PACKAGES)}
    line = onednn.line_of(contraction)
    for _ in range(config["rounds"]):
        for tiles in ("measured", "model"):
            os.environ["EGRET_TILES"] = tiles
            report = egret.call("bench", path, "--backend", "codegen", *flags)
            work = report["kernels"]
            times[tiles].append(report["p10_s"])
        report = egret.call("bench", path, *flags)
        kernels = report["kernels"]
        total = sum(kernel["seconds"] for kernel in kernels)
        reorders = sum(kernel["seconds"] for kernel in kernels if kernel["kernel"] == "reorder") / total
        times["library"].append(report["p10_s"] * (1 - reorders))
        for library in libraries:
            answer = library.ask(line) if line else None
            if answer:
                times[library.version].append(answer[0])
    main = max(kernels, key=lambda kernel: kernel["flops"])
    least = {name: min(values) for name, values in times.items() if values}
    return {"generated_ms": f"{1e3 * least['measured']:.4f}", "model_ms": f"{1e3 * least['model']:.4f}",
            "library_ms": f"{1e3 * least['library']:.4f}", "ratio": f"{least['measured'] / least['library']:.3f}",
            "implementation": main["implementation"], "reorders": f"{reorders:.2f}",
            **{f"onednn_{version}_ms": f"{1e3 * least[version]:.4f}" for version in onednn.PACKAGES if version in least},
            "mflop": f"{sum(kernel['flops'] for kernel in work) / 1e6:.3f}",
            "mbytes": f"{sum(kernel['bytes'] for kernel in work) / 1e6:.3f}"}


def set_shares(table, bytes_per_second):
    """The roofline's arithmetic is the best rate of a generated kernel, none of which saves products."""
    rows = [{name: float(row[name]) for name in ("mflop", "mbytes", "generated_ms", "library_ms")} for row in table.rows]
    rate = max(row["mflop"] / row["generated_ms"] for row in rows)
    for row, kept in zip(rows, table.rows):
        least = max(row["mflop"] / rate, row["mbytes"] * 1e9 / bytes_per_second)
        table.set({name: kept[name] for name in ("model", "kernel", "shapes")}, roofline_ms=f"{least:.4f}",
                  generated_share=f"{least / row['generated_ms']:.3f}", library_share=f"{least / row['library_ms']:.3f}")


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = forms[mode]
    table = results.Table("contractions", mode, COLUMNS, ["model", "kernel", "shapes"],
                          {"egret": egret.version(), "threads": config["threads"]}, grows=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        libraries = onednn.libraries(folder, config["threads"], config["seconds"])
        by_model = {}
        for model in config["models"]:
            found = known_contractions(model, forms["bind"].get(model, {}), folder)
            if found is None:
                print(f"{model}: left out, there is no such file")
                continue
            by_model[model.split(":", 1)[1]] = dict(list(found.items())[:config.get("most")])
        wanted = []
        for model, contraction, count, having in in_turns(by_model):
            kernel, shapes = name_of(contraction)
            key = {"model": model, "kernel": kernel, "shapes": shapes}
            if not table.has(**key):
                wanted.append((key, contraction, count, having))
        print(f"{len(wanted)} kernels to measure, {len(table.rows)} measured before")
        path = folder / "contraction.onnx"
        for key, contraction, count, having in settings.WithinTime(wanted):
            write(contraction, path)
            table.add(**key, count=count, models=having, right=int(is_right(path, config["threads"])),
                      **row_of(path, contraction, libraries, config))
        some = next((contraction for found in by_model.values() for contraction in found), None)
        if some is None:
            print("no model has a contraction")
            return 1
        write(some, path)
        set_shares(table, egret.call("bench", path, "--kernels", "--time", "0.01s")["rates"]["bytes_per_second"])
    table.finish()
    table.print()
    print(kinds.table(table.rows), end="")
    ratios = [float(row["ratio"]) for row in table.rows]
    # Products of one row remain loops.
    products = [float(row["ratio"]) for row in table.rows
                if row["kernel"] != "Conv" and int(row["shapes"].split()[0].split("x")[-2]) > 2]
    return results.judge(HERE / "expected.json", mode, {
        "right": statistics.mean(float(row["right"]) for row in table.rows), "kernels": len(ratios),
        "median_ratio": statistics.median(ratios), **({"product_ratio": statistics.median(products)} if products else {})})


if __name__ == "__main__":
    sys.exit(main())
