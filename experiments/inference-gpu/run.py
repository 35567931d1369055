# SPDX-License-Identifier: Apache-2.0
"""Latency of models on a GPU: as built, after `egret optimize`, and in PyTorch, ONNX Runtime and JAX.

Times are medians between two events on the device around a run whose inputs lie there (of ONNX Runtime and
JAX: around a run that the host waits for). Without a GPU nothing is measured, and the experiment says why.
$EGRET_EXPERIMENT_SECONDS limits a run; the same command goes on with the rows that are left.
"""
import pathlib
import signal
import statistics
import sys
import tempfile

import jax_peer
import ort_peer
import roofline
import torch_peer
from lib import egret, gpu, results, settings

HERE = pathlib.Path(__file__).resolve().parent
PEERS = ["torch_eager", "torch_compile", "ort", "jax"]
COLUMNS = (["model", "batch", "precision", "kernels", "original_ms", "optimized_ms", "speedup"] +
           [f"{peer}_ms" for peer in PEERS] + ["ratio", "roofline_share", "check_error", "check_bound"])
PATIENCE = 300  # seconds that a peer may take, its compiler included


def peer_seconds(path, precision, seconds):
    """By peer; None for one that is missing here or cannot run the model, which is said."""
    measured = dict.fromkeys(PEERS)

    def give_up(number, frame):
        raise TimeoutError(f"not done after {PATIENCE} s")

    def attempt(names, run):
        signal.signal(signal.SIGALRM, give_up)
        signal.alarm(PATIENCE)
        try:
            times = run()
        except Exception as error:  # a peer's failure is a result, not the end of the experiment
            print(f"  {names[0]}: {type(error).__name__}: {error}".splitlines()[0], flush=True)
            return
        finally:
            signal.alarm(0)
        measured.update(zip(names, times if isinstance(times, tuple) else (times,)))

    attempt(["torch_eager", "torch_compile"], lambda: torch_peer.eager_and_compiled(path, precision, seconds))
    attempt(["ort"], lambda: ort_peer.median_seconds(path, precision, seconds))
    attempt(["jax"], lambda: jax_peer.median_seconds(path, precision, seconds))
    return measured


def row_of(model, batch, precision, measured, check, work, device):
    """One row of the table from seconds, the check's report and what the model computes and reads at least."""
    (before, after), kernels, peers = measured
    milliseconds = lambda s: f"{1e3 * s:.4f}" if s is not None else ""
    best = min((s for s in peers.values() if s is not None), default=None)
    least = roofline.least_seconds(device, precision, *work)
    return {
        "model": model, "batch": batch, "precision": precision, "kernels": kernels,
        "original_ms": milliseconds(before), "optimized_ms": milliseconds(after),
        "speedup": f"{before / after:.3f}",
        **{f"{peer}_ms": milliseconds(seconds) for peer, seconds in peers.items()},
        "ratio": f"{best / after:.3f}" if best is not None else "",
        "roofline_share": f"{least / after:.3f}" if least is not None else "",
        "check_error": f"{check['max_error']:.3g}", "check_bound": f"{check['bound']:.3g}",
    }


def measure(model, batch, precision, seconds, folder, device):
    original, optimized = (pathlib.Path(folder) / name for name in ("original.onnx", "optimized.onnx"))
    egret.run("zoo", model, "--batch", batch, "-o", original)
    place = ["--backend", "cuda", "--precision", precision]
    egret.call("optimize", original, "-o", optimized, *place)
    facts = egret.call("inspect", original)
    work = sum(operator["flops"] for operator in facts["operators"]), facts["weight_bytes"]
    check = egret.call("compare", original, optimized, *place)
    times, kernels = gpu.bench([original, optimized], precision, seconds)
    measured = times, kernels, peer_seconds(original, precision, seconds)
    return row_of(model, batch, precision, measured, check, work, device)


def judged(rows):
    """What expected.json is asked about."""
    speedups = [float(row["speedup"]) for row in rows]
    ratios = [float(row["ratio"]) for row in rows if row["ratio"]]
    values = {"least_speedup": min(speedups), "geometric_mean_speedup": statistics.geometric_mean(speedups)}
    if ratios:
        values |= {"least_ratio": min(ratios), "geometric_mean_ratio": statistics.geometric_mean(ratios)}
    return values


def main():
    mode, config = settings.read(__doc__, HERE)
    size = config[mode]
    reason = gpu.why_not()
    if reason is not None:
        print("nothing measured:", reason)
        return 0
    device = gpu.name()
    versions = {"egret": egret.version(), "torch": torch_peer.version(), "onnxruntime": ort_peer.version(),
                "jax": jax_peer.version(), "device": device}
    table = results.Table("inference-gpu", mode, COLUMNS, ["model", "batch", "precision"], versions)
    missing = settings.WithinTime(
        (model, batch, precision) for batch in size["batches"] for precision in size["precisions"]
        for model in size["models"] if not table.has(model=model, batch=batch, precision=precision))
    with tempfile.TemporaryDirectory() as folder:
        for model, batch, precision in missing:
            row = measure(model, batch, precision, size["seconds"], folder, device)
            table.add(**row)
            print(f"  {model} x{batch} {row['precision']}: {row['original_ms']} -> {row['optimized_ms']} ms, "
                  f"best peer / Egret {row['ratio'] or '-'}", flush=True)
    if missing.left:
        return 0
    table.finish()
    table.print()
    return results.judge(HERE / "expected.json", mode, judged(table.rows))


if __name__ == "__main__":
    sys.exit(main())
