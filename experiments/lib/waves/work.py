# SPDX-License-Identifier: Apache-2.0
"""The work of one row: python3 -m lib.waves.work KIND ARGUMENT... (the kinds are WORK's).

Prints its values as JSON behind machines.MARK; other output is for people. The exit code is 0 if the row is measured
and right.
"""
import contextlib
import importlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

from lib import egret, gpu, models, turns
from lib.waves.machines import BIN, MARK
from lib.waves.parts import ROOT

SECONDS = 0.3  # of repeated runs, for a median on the device


def say(values):
    print(MARK + json.dumps(values), flush=True)


def experiment(name, module):
    """A module of another experiment."""
    sys.path.insert(0, str(ROOT / "experiments" / name))
    return importlib.import_module(module)


def zoo(model, folder, batch=1):
    return models.locate(f"zoo:{model}", folder, batch)


def probe(folder):
    print(egret.run("doctor"))
    print(egret.run("run", zoo("squeezenet1.1", folder), "--backend", "cuda"))
    return 0


def _gtest(program, folder, *flags, environment=None):
    report = pathlib.Path(folder) / "tests.json"
    code = subprocess.call([BIN / program, *flags, f"--gtest_output=json:{report}"],
                           env=dict(os.environ, **(environment or {})))
    if not report.exists():
        return code or 1
    tests = [test for suite in json.loads(report.read_text())["testsuites"] for test in suite["testsuite"]]
    failed = sum("failures" in test for test in tests)
    skipped = sum(test["result"] == "SKIPPED" for test in tests)
    ran = sum(test["status"] == "RUN" for test in tests)
    say({"passed": ran - failed - skipped, "failed": failed, "skipped": skipped})
    return code if ran > skipped else gpu.UNAVAILABLE


def tests(folder, selected):
    """Whole graphs take turns on the GPU, kernels do not."""
    with contextlib.nullcontext() if selected.startswith("DeviceGraphs") else turns.busy():
        return _gtest("gpu_tests", folder, f"--gtest_filter={selected}")


def conformance(folder, part, parts):
    data = ROOT / "onnx-testdata"
    places = {"EGRET_ONNX_TESTDATA": str(data)} if data.exists() else {}
    return _gtest("conformance_tests", folder, "--gtest_filter=Onnx/BackendTests.*",
                  environment=places | {"EGRET_CONFORMANCE_BACKEND": "cuda",
                                        "EGRET_CONFORMANCE_PART": f"{part}/{parts}"})


def check(folder, model, precision):
    values = experiment("gpu-models", "run").checked(zoo(model, folder), precision, [])
    say({name: values[name] for name in ("max_error", "bound") if name in values})
    print(values.get("why", ""))
    return 0 if values["passed"] is True else 1


def optimized(folder, model, batch, precision):
    values = experiment("inference-gpu", "own").row_of(zoo(model, folder, batch), precision, SECONDS, gpu.name())
    del values["revision"]  # the row has one
    say(values)
    return 0


def torch(folder, model, batch, precision, *ways):
    peer = experiment("inference-gpu", "torch_peer")
    timers = peer.prepared(zoo(model, folder, batch), precision, ways)
    if not timers:
        print("PyTorch finds no GPU")
        return gpu.UNAVAILABLE
    values = {"software": f"torch {peer.version()}"}
    for way, timer in timers.items():
        with turns.quiet():
            values[f"{way}_ms"] = f"{1e3 * timer(SECONDS):.4f}"
        say(values)  # a later way may fail
    return 0


def rates(_folder, precision):
    report = egret.call("costs", "calibrate", "--backend", "cuda", "--precision", precision)
    say({name: f"{value:.4g}" for name, value in report["rates"].items() if isinstance(value, float)})
    return 0


def profile(folder, model, precision, seconds):
    egret.run("costs", "profile", zoo(model, folder), "--backend", "cuda", "--precision", precision, "--profile-time",
              f"{seconds}s")
    return 0


def sanitizer(folder, tool, subject):
    program = {"model": [BIN / "egret", "run", "--backend", "cuda", zoo("squeezenet1.1", folder)],
               "graphs": [BIN / "gpu_tests", "--gtest_filter=DeviceGraphs.*"]}[subject]
    environment = {name: value for name, value in os.environ.items() if name != "EGRET_CUDA_TURNS"}
    with turns.busy():
        return subprocess.call(["compute-sanitizer", "--tool", tool, "--error-exitcode", "1", *program], env=environment)


def ablation(folder, model, batch, way):
    ablations = experiment("gpu-ablations", "run")
    config = tomllib.loads((ablations.HERE / "config.toml").read_text())
    say(ablations.row_of(zoo(model, folder, batch), config["ways"][way], config["full"]["precision"], SECONDS, folder))
    return 0


def fused_subgraphs(_folder):
    """The whole experiment; the times of each subgraph are kept as it prints them."""
    run = subprocess.Popen([sys.executable, ROOT / "experiments" / "fused-subgraphs" / "run.py", "--full", "--backend",
                            "cuda"], stdout=subprocess.PIPE, text=True)
    for line in run.stdout:
        print(line, end="")
        if found := re.fullmatch(r"  (\S+): (.* ms\b.*)", line.rstrip()):
            say({found[1]: found[2]})
    return run.wait()


WORK = {"probe": probe, "tests": tests, "conformance": conformance, "check": check, "egret": optimized, "torch": torch,
        "rates": rates, "profile": profile, "sanitizer": sanitizer, "ablation": ablation,
        "fused-subgraphs": fused_subgraphs}


def main():
    kind, *arguments = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        try:
            return WORK[kind](folder, *arguments)
        except egret.EgretError as error:
            print(error)
            return error.code


if __name__ == "__main__":
    sys.exit(main())
