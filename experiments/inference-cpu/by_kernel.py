# SPDX-License-Identifier: Apache-2.0
"""Where one model's time goes, by kernel, in Egret and in the other engines: their own profiles, one after another.

    PYTHONPATH=experiments .venv/bin/python experiments/inference-cpu/by_kernel.py MODEL [--batch N] [--threads N]
                                                                                 [--optimized FILE] [--top N]

MODEL is a part of a name in config.toml. Each engine's kernels are added up by kind, then the slowest are listed.
Profiling slows an engine down a little; the medians of the experiment are the ones to compare.
"""
import argparse
import collections
import json
import pathlib
import statistics
import sys
import tempfile
import tomllib

from lib import egret, models, peers

HERE = pathlib.Path(__file__).resolve().parent
RUNS = 12


def print_profile(engine, kernels, top):
    """kernels: kind, name, microseconds."""
    sums, counts = collections.Counter(), collections.Counter()
    for kind, _, microseconds in kernels:
        sums[kind] += microseconds
        counts[kind] += 1
    print(f"{engine}: {sum(sums.values()):.1f} us in {len(kernels)} kernels")
    for kind, microseconds in sums.most_common():
        print(f"  {microseconds:10.1f} us {counts[kind]:4} {kind}")
    print("  the slowest:")
    for kind, name, microseconds in sorted(kernels, key=lambda kernel: -kernel[2])[:top]:
        print(f"  {microseconds:10.1f} us {kind:34} {name[:70]}")


def of_egret(path, arguments, sizes):
    bench = egret.call("bench", path, "--kernels", "--time", "1s", "--threads", arguments.threads,
                       *models.bind_flags(sizes))
    print(f"egret: median {1e3 * bench['median_s']:.4f} ms of {path}")
    return [(f"{k['kernel']} {k['implementation']}", k["nodes"], 1e6 * k["seconds"]) for k in bench["kernels"]]


def of_onnxruntime(path, threads, given):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.enable_profiling = True
    options.log_severity_level = 3
    with tempfile.TemporaryDirectory() as folder:
        options.profile_file_prefix = f"{folder}/profile"
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        for _ in range(RUNS):
            session.run(None, given)
        events = json.loads(pathlib.Path(session.end_profiling()).read_text())
    samples = collections.defaultdict(list)
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            samples[event["args"]["op_name"], event["name"].removesuffix("_kernel_time")].append(event["dur"])
    return [(kind, name, statistics.median(times)) for (kind, name), times in samples.items()]


def of_openvino(path, threads, given):
    import openvino
    core = openvino.Core()
    request = core.compile_model(core.read_model(str(path)), "CPU", {
        "INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": 1, "PERF_COUNT": True}).create_infer_request()
    for name, value in given.items():
        request.set_tensor(name, openvino.Tensor(value))
    samples = collections.defaultdict(list)
    for _ in range(RUNS):
        request.infer(share_outputs=True)
        for node in request.profiling_info:
            samples[f"{node.node_type} {node.exec_type}", node.node_name].append(1e6 * node.real_time.total_seconds())
    medians = [(kind, name, statistics.median(times)) for (kind, name), times in samples.items()]
    return [kernel for kernel in medians if kernel[2] > 0]


PROFILES = {"onnxruntime": of_onnxruntime, "openvino": of_openvino}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--optimized", help="what `egret optimize` made of it, instead of the model itself")
    parser.add_argument("--top", type=int, default=20)
    arguments = parser.parse_args()
    config = tomllib.loads((HERE / "config.toml").read_text())
    names = [name for name in config["full"]["models"] if arguments.model in name]
    if not names:
        parser.error(f"config.toml has no model called {arguments.model}")
    sizes = dict(config["bind"].get(names[0], {}))
    if names[0] in config["batch"]:
        sizes[config["batch"][names[0]]] = arguments.batch
    with tempfile.TemporaryDirectory() as folder:
        path = models.locate(names[0], folder, arguments.batch)
        print_profile("egret", of_egret(arguments.optimized or path, arguments, sizes), arguments.top)
        for name in peers.installed():
            try:
                session = peers.ENGINES[name](path, arguments.threads)
                given = peers.random_inputs(session.inputs, sizes)
                session.bind(given)
                print(f"{name}: median {1e3 * peers.median(session, 1):.4f} ms")
                del session
                print_profile(name, PROFILES[name](path, arguments.threads, given), arguments.top)
            except RuntimeError as error:  # what the engines raise for models that they do not take
                print(f"{name} does not take it: {str(error).strip().splitlines()[-1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
