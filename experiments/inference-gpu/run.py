# SPDX-License-Identifier: Apache-2.0
"""Latency of models on a GPU: as built, after `egret optimize`, and in PyTorch, ONNX Runtime and JAX.

Times are medians between two events on the device around a run whose inputs lie there (of ONNX Runtime and
JAX: around runs that the host waits for). Peers have a table of their own, since they do not change with Egret. Rows are
kept by device and say which revision measured them; those that are there are not measured again. Without a GPU nothing
is measured, and the experiment says why. $EGRET_EXPERIMENT_SECONDS limits a run; the same command goes on with what is
left. $EGRET_PEER_SECONDS (300) limits the compilers of the peers.
"""
import datetime
import os
import pathlib
import statistics
import sys
import tempfile
import time

import jax_peer
import ort_peer
import peers
import roofline
import torch_peer
from lib import egret, gpu, results, settings

HERE = pathlib.Path(__file__).resolve().parent
KEY = ["model", "batch", "precision"]
PEER_COLUMNS = KEY + [f"{peer}_ms" for peer in peers.NAMES] + ["date"]
COLUMNS = (KEY + ["kernels", "original_ms", "optimized_ms", "speedup"] + [f"{peer}_ms" for peer in peers.NAMES] +
           ["ratio", "roofline_share", "optimize_s", "check_error", "check_bound", "revision"])
PATIENCE = float(os.environ.get("EGRET_PEER_SECONDS", 300))  # that a peer may take to compile
ENOUGH = 300
WAVE = max(1, (os.cpu_count() or 1) // 5)  # models whose peers compile at a time: each takes several processors


def milliseconds(seconds):
    return f"{1e3 * seconds:.4f}" if seconds is not None else ""


class Rows:
    """Both tables of a device, and what fills them."""

    def __init__(self, mode, seconds, device):
        self.device, self.seconds = device, seconds
        name = results.on_machine(mode, device.split(",")[0])
        versions = {"torch": torch_peer.version(), "onnxruntime": ort_peer.version(), "jax": jax_peer.version()}
        self.peers = results.Table("inference-gpu", f"{name}.peers", PEER_COLUMNS, KEY, {"device": device, **versions})
        self.egret = results.Table("inference-gpu", name, COLUMNS, KEY, {"device": device})

    def measure(self, row, original):
        """Egret's part of a row."""
        optimized = original.with_suffix(".optimized.onnx")
        place = ["--backend", "cuda", "--precision", row["precision"]]
        report = egret.call("optimize", original, "-o", optimized, *place)
        facts = egret.call("inspect", original)
        work = sum(operator["flops"] for operator in facts["operators"]), facts["weight_bytes"]
        check = egret.call("compare", original, optimized, *place)
        (before, after), kernels = gpu.bench([original, optimized], row["precision"], self.seconds)
        optimized.unlink()
        least = roofline.least_seconds(self.device, row["precision"], *work)
        self.egret.add(**row, kernels=kernels, original_ms=milliseconds(before), optimized_ms=milliseconds(after),
                       speedup=f"{before / after:.3f}",
                       roofline_share=f"{least / after:.3f}" if least is not None else "",
                       optimize_s=f"{report['seconds']:.1f}", check_error=f"{check['max_error']:.3g}",
                       check_bound=f"{check['bound']:.3g}", revision=egret.version())
        print(f"  {row['model']} x{row['batch']} {row['precision']}: {milliseconds(before)} -> {milliseconds(after)} ms",
              flush=True)

    def measure_peers(self, rows, files, patience):
        times = peers.measured([(files[row["model"], row["batch"]], row["precision"]) for row in rows], self.seconds,
                               patience)
        for row, own in zip(rows, times):
            if patience < ENOUGH and "torch_compile" not in own:
                continue  # it may have had too little time
            self.peers.add(**row, **{f"{name}_ms": milliseconds(own.get(name)) for name in peers.NAMES},
                           date=datetime.date.today().isoformat())

    def compare(self):
        """Fills in what peers took, in the rows that have both."""
        for known in self.peers.rows:
            key = {name: known[name] for name in KEY}
            own = next((row for row in self.egret.rows if all(row[k] == v for k, v in key.items())), None)
            times = {f"{name}_ms": known[f"{name}_ms"] for name in peers.NAMES}
            best = min((float(value) for value in times.values() if value), default=None)
            if own is not None:
                self.egret.set(key, **times, ratio=f"{best / float(own['optimized_ms']):.3f}" if best else "")


def built(rows, folder):
    """The files of the rows' models, by name and batch."""
    files = {}
    for row in rows:
        name = row["model"], row["batch"]
        if name not in files:
            files[name] = pathlib.Path(folder) / f"{name[0]}.{name[1]}.onnx"
            egret.run("zoo", name[0], "--batch", name[1], "-o", files[name])
    return files


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
    rows = Rows(mode, size["seconds"], gpu.name())
    wanted = [{"model": model, "batch": batch, "precision": precision} for batch in size["batches"]
              for precision in size["precisions"] for model in size["models"]]
    missing = [row for row in wanted if not (rows.egret.has(**row) and rows.peers.has(**row))]
    waves = settings.WithinTime([missing[i:i + WAVE] for i in range(0, len(missing), WAVE)])
    for wave in waves:
        with tempfile.TemporaryDirectory() as folder:
            files = built(wave, folder)
            for row in wave:
                if not rows.egret.has(**row) and time.monotonic() < waves.end:
                    rows.measure(row, files[row["model"], row["batch"]])
            without = [row for row in wave if not rows.peers.has(**row)]
            patience = min(PATIENCE, waves.end - time.monotonic() - 10)
            if without and patience > 0:
                rows.measure_peers(without, files, patience)
    rows.compare()
    if any(not table.has(**row) for row in wanted for table in (rows.egret, rows.peers)):
        return 0
    rows.peers.finish()
    rows.egret.finish()
    rows.egret.print()
    return results.judge(HERE / "expected.json", mode, judged(rows.egret.rows))


if __name__ == "__main__":
    sys.exit(main())
