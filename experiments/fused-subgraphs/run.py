# SPDX-License-Identifier: Apache-2.0
"""The subgraphs of Mirage's and Prism's evaluations: one operator after the other, in Egret's backend, after
`egret optimize`, with kernels chosen in the e-graph, and in other engines.

A round times Egret's three files in turns, run by run, then the original with a kernel for each operator and each
engine by itself. A time is the median of the rounds' medians, a gain the median of the rounds' ratios. --backend cuda
measures on a GPU. An interrupted run goes on with the rows that are missing.
"""
import contextlib
import pathlib
import statistics
import sys
import tempfile

import numpy
import onnx
import subgraphs
from lib import compilers, egret, gpu, peers, results, settings
from lib.peer_process import PeerProcess

HERE = pathlib.Path(__file__).resolve().parent
PEERS = {"onnxruntime": "onnxruntime", "torch_eager": "torch", "torch_compile": "torch"}  # and their packages
WAYS = ["single", "backend", "optimized", "kernels", *PEERS]
COLUMNS = ["subgraph", "sizes", "operators", "operators_after", *[f"{way}_ms" for way in WAYS], "gain", "kernels_gain",
           "ratio", "chosen", "kernels_after", "rules", "fired", "difference", "check_error", "check_bound", "optimize_s",
           "kernels_s", "left_out", "egret"]
LEAST_RUNS = 5


def bench(files, seconds, flags):
    """Median seconds of each file, on a GPU of the device; and the numbers of kernels."""
    models = egret.call("bench", *files, "--time", f"{seconds}s", "--runs", LEAST_RUNS, *flags)["models"]
    return [model.get("device_s") or model["median_s"] for model in models], [model["kernel_count"] for model in models]


def optimized(path, kernels_from, flags):
    """The file that `optimize` writes, and its report. The outputs of a file that is written were checked."""
    written = path.with_suffix(f".{kernels_from}.onnx")
    return written, egret.call("optimize", path, "-o", written, "--kernels-from", kernels_from, *flags)


def names(rules):
    return " ".join(sorted(rule["name"] for rule in rules))


def fired(path):
    """Rules of the graph that counts of operations and bytes make the cheapest: the same ones on every machine."""
    report = egret.call("optimize", path, "-o", path.with_suffix(".counted.onnx"), "--cost", "roofline", "--no-measure")
    return names(report["rules_used"])


def version(package):
    """Of the engine's own environment, if there is one."""
    own = compilers.version(package) if package in compilers.PACKAGES else "not installed"
    return own if own != "not installed" else peers.version(package)


def leave_out(name, reason, opened, left_out):
    left_out[name] = reason
    opened.pop(name).close()


def sessions(path, config, backend):
    """The engines that are installed and take the file, by name; and why others do not. On a GPU they need a program of
    their own: experiments/inference-gpu has it."""
    opened, left_out = {}, {}
    for name in config["peers"] if backend == "cpu" else []:
        if version(PEERS[name]) == "not installed":
            left_out[name] = "not installed"
            continue
        try:
            opened[name] = PeerProcess(name, path, config["threads"], {})
        except RuntimeError as error:
            left_out[name] = str(error)
    return opened, left_out


def median(name, seconds, opened, left_out):
    """None of an engine that fails, which goes from `opened` to `left_out`."""
    try:
        return opened[name].median(seconds, LEAST_RUNS)
    except RuntimeError as error:
        leave_out(name, str(error), opened, left_out)
        return None


def outputs_of(name, opened, left_out):
    """None of an engine that fails, which goes from `opened` to `left_out`."""
    try:
        return opened[name].outputs()
    except RuntimeError as error:
        leave_out(name, f"no outputs: {error}", opened, left_out)
        return None


def own_outputs(path, threads):
    """Of `egret run`, on the inputs that engines get."""
    graph = onnx.load(path).graph
    weights = {value.name for value in graph.initializer}
    inputs = [(value.name, [dim.dim_value for dim in value.type.tensor_type.shape.dim], True)
              for value in graph.input if value.name not in weights]
    with tempfile.TemporaryDirectory() as folder:
        given = []
        for i, (name, value) in enumerate(peers.random_inputs(inputs, {}).items()):
            numpy.save(file := pathlib.Path(folder) / f"input_{i}.npy", value)
            given += ["--input", f"{name}={file}"]
        egret.run("run", path, "--output-folder", folder, "--threads", threads, *given)
        files = sorted(pathlib.Path(folder).glob("output_*.pb"), key=lambda f: int(f.stem.rsplit("_", 1)[1]))
        return [onnx.numpy_helper.to_array(onnx.load_tensor(file)) for file in files]


def largest_difference(opened, left_out, written, threads):
    """Of the outputs of the engines and of Egret's file, relative to the largest output of ONNX Runtime. None where
    nothing is known."""
    if "onnxruntime" not in opened or (truth := outputs_of("onnxruntime", opened, left_out)) is None:
        return None
    known = [own_outputs(written, threads)]
    known += [outputs_of(name, opened, left_out) for name in list(opened) if name != "onnxruntime"]
    return max(peers.disagreement(outputs, truth) for outputs in known if outputs is not None)


def measure(path, config, backend):
    flags = ["--threads", config["threads"], "--backend", backend]
    by_operators, report = optimized(path, "backend", flags)
    by_kernels, kernel_report = optimized(path, "egraph", flags)
    opened, left_out = sessions(path, config, backend)
    difference = largest_difference(opened, left_out, by_operators, config["threads"])
    rounds = []
    for _ in range(config["rounds"]):
        files = {"backend": path, "optimized": by_operators, "kernels": by_kernels}
        seconds, kernels = bench(files.values(), config["seconds"], flags)
        medians = dict(zip(files, seconds))
        if backend == "cpu":
            [medians["single"]], _ = bench([path], config["seconds"], [*flags, "--without", "fusion"])
        medians |= {name: median(name, config["seconds"], opened, left_out) for name in list(opened)}
        rounds.append(medians)
    rounds = [{name: value for name, value in medians.items() if name not in left_out} for medians in rounds]
    for session in opened.values():
        session.close()

    def gain(own):
        return statistics.median(r["backend"] / r[own] for r in rounds)

    def ratio(r):
        return min(r[name] for name in opened) / min(r["optimized"], r["kernels"])

    return {
        "operators": report["operators_before"], "operators_after": report["operators_after"],
        **{f"{way}_ms": f"{1e3 * statistics.median(r[way] for r in rounds):.4f}" for way in rounds[0]},
        "gain": f"{gain('optimized'):.3f}", "kernels_gain": f"{gain('kernels'):.3f}",
        "ratio": f"{statistics.median(map(ratio, rounds)):.3f}" if opened else "",
        "chosen": kernel_report["chosen"], "kernels_after": kernels[-1],
        "rules": names(report["rules_used"]), "fired": fired(path),
        "difference": f"{difference:.2g}" if difference is not None else "",
        "check_error": f"{report['check']['max_error']:.3g}", "check_bound": f"{report['check']['bound']:.3g}",
        "optimize_s": f"{report['seconds']:.1f}", "kernels_s": f"{kernel_report['seconds']:.1f}",
        "left_out": "; ".join(f"{name}: {reason}" for name, reason in left_out.items())}


def values_of(rows, expected_rules):
    """What expected.json speaks of."""
    known = [float(row["difference"]) for row in rows if row["difference"]]
    values = {"subgraphs_without_their_rule": sum(
        not set(expected_rules.get(row["subgraph"], row["fired"]).split()) <= set(row["fired"].split()) for row in rows)}
    if known:
        values["largest_difference"] = max(known)
    for column in ("gain", "kernels_gain", "ratio"):
        numbers = [float(row[column]) for row in rows if row[column]]
        if numbers:
            values |= {f"least_{column}": min(numbers), f"geometric_mean_{column}": statistics.geometric_mean(numbers)}
    return values


def main():
    parser = settings.parser(__doc__)
    parser.add_argument("--backend", choices=["cpu", "cuda"], default="cpu")
    arguments = parser.parse_args()
    forms = settings.config_of(HERE)
    config = {**forms, **forms[arguments.mode]}
    if arguments.backend == "cuda" and (reason := gpu.why_not()):
        print("nothing measured:", reason)
        return 0
    if arguments.backend == "cuda":
        name = results.on_machine(arguments.mode, gpu.name().partition(", ")[0])
    else:
        name = results.on_this_processor(arguments.mode)
    versions = {package: version(package) for package in ("onnxruntime", "torch")}
    table = results.Table("fused-subgraphs", name, COLUMNS, ["subgraph"], {"threads": config["threads"], **versions})
    revision = egret.version()
    missing = settings.WithinTime(s for s in config["subgraphs"].items() if not table.has(subgraph=s[0]))
    for subgraph, sizes in missing:
        with tempfile.TemporaryDirectory() as folder:
            row = measure(subgraphs.write(subgraph, sizes, pathlib.Path(folder)), config, arguments.backend)
        table.add(subgraph=subgraph, sizes=" ".join(f"{k}={v}" for k, v in sizes.items()), **row, egret=revision)
        print(f"  {subgraph}: {row['backend_ms']} -> {row['optimized_ms']} ms, {row['kernels_ms']} ms with kernels chosen",
              flush=True)
        if row["left_out"]:
            print(f"  {subgraph}: left out: {row['left_out']}", flush=True)
    if missing.left:
        return 0
    table.finish()
    table.print()
    return results.judge(HERE / "expected.json", arguments.mode, values_of(table.rows, config["rules"]))


if __name__ == "__main__":
    sys.exit(main())
