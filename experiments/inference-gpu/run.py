# SPDX-License-Identifier: Apache-2.0
"""Latency of models on a GPU: as built, after `egret optimize`, and in PyTorch, all in f32.

Times are medians between two events on the device around a run whose inputs lie there. Without a GPU
nothing is measured, and the experiment says why.
"""
import pathlib
import statistics
import subprocess
import sys
import tempfile

import torch_peer
from lib import egret, results, settings

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["model", "batch", "kernels", "original_ms", "optimized_ms", "speedup", "torch_eager_ms",
           "torch_compile_ms", "ratio", "check_error", "check_bound"]
UNAVAILABLE = 7


def device_seconds(paths, seconds):
    report = egret.call("bench", *paths, "--backend", "cuda", "--time", f"{seconds}s")
    return [model["device_s"] for model in report["models"]], report["models"][-1]["kernel_count"]


def measure(model, batch, size, peers, folder):
    original, optimized = (pathlib.Path(folder) / name for name in ("original.onnx", "optimized.onnx"))
    egret.run("zoo", model, "--batch", batch, "-o", original)
    report = egret.call("optimize", original, "-o", optimized, "--backend", "cuda")
    (before, after), kernels = device_seconds([original, optimized], size["seconds"])
    eager, compiled = None, None
    if model in peers:
        eager, compiled = torch_peer.eager_and_compiled(peers[model], batch, size["seconds"])
    milliseconds = lambda s: f"{1e3 * s:.4f}" if s is not None else ""
    best = min((s for s in (eager, compiled) if s is not None), default=None)
    return {
        "model": model, "batch": batch, "kernels": kernels,
        "original_ms": milliseconds(before), "optimized_ms": milliseconds(after),
        "speedup": f"{before / after:.3f}",
        "torch_eager_ms": milliseconds(eager), "torch_compile_ms": milliseconds(compiled),
        "ratio": f"{best / after:.3f}" if best is not None else "",
        "check_error": f"{report['check']['max_error']:.3g}", "check_bound": f"{report['check']['bound']:.3g}",
    }


def device():
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def why_not(folder):
    """What keeps the backend from running here, or None."""
    probe = pathlib.Path(folder) / "probe.onnx"
    egret.run("zoo", "squeezenet1.1", "-o", probe)
    try:
        egret.run("run", probe, "--backend", "cuda")
    except egret.EgretError as error:
        if error.code == UNAVAILABLE:
            return str(error).splitlines()[-1]
        raise
    return None


def main():
    mode, config = settings.read(__doc__, HERE)
    size = config[mode]
    with tempfile.TemporaryDirectory() as folder:
        reason = why_not(folder)
        if reason is not None:
            print("nothing measured:", reason)
            return 0
        table = results.Table("inference-gpu", mode, COLUMNS, ["model", "batch"],
                              {"egret": egret.version(), "torch": torch_peer.version(),
                               "device": device()})
        for model in size["models"]:
            for batch in size["batches"]:
                if table.has(model=model, batch=batch):
                    continue
                row = measure(model, batch, size, config["torchvision"], folder)
                table.add(**row)
                print(f"  {model} x{batch}: {row['original_ms']} -> {row['optimized_ms']} ms, "
                      f"PyTorch {row['torch_compile_ms'] or '-'} ms", flush=True)
        table.finish()
        table.print()
        speedups = [float(row["speedup"]) for row in table.rows]
        values = {"least_speedup": min(speedups),
                  "geometric_mean_speedup": statistics.geometric_mean(speedups)}
        return results.judge(HERE / "expected.json", mode, values)


if __name__ == "__main__":
    sys.exit(main())
