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
import own
import peers
import torch_peer
from lib import egret, gpu, results, settings

HERE = pathlib.Path(__file__).resolve().parent
KEY = ["model", "batch", "precision"]
PEER_TIMES = [f"{peer}_ms" for peer in peers.NAMES]
PEER_COLUMNS = KEY + PEER_TIMES + ["software", "date"]
COLUMNS = (KEY + ["kernels", "original_ms", "optimized_ms", "speedup"] + PEER_TIMES +
           ["ratio", "roofline_share", "optimize_s", "check_error", "check_bound", "revision"])
PATIENCE = float(os.environ.get("EGRET_PEER_SECONDS", 300))  # that a peer may take to compile
ENOUGH = 300


class Rows:
    """Both tables of a device, and what fills them."""

    def __init__(self, mode, seconds, device):
        self.device, self.seconds = device, seconds
        chip, _, self.driver = device.partition(", ")
        name = results.on_machine(mode, chip)
        self.peers = results.Table("inference-gpu", f"{name}.peers", PEER_COLUMNS, KEY, {"device": chip}, of_host=False)
        self.egret = results.Table("inference-gpu", name, COLUMNS, KEY, {"device": chip}, of_host=False)
        self.failures = 0

    def measure(self, rows, files):
        """Egret's part of these rows."""
        for index, columns in own.measured([(files[row["model"], row["batch"]], row["precision"]) for row in rows],
                                           self.seconds, self.device):
            label = "  {model} x{batch} {precision}: ".format(**rows[index])
            if isinstance(columns, egret.EgretError):
                self.failures += 1
                print(f"{label}FAILED, {columns}", flush=True)
                continue
            self.egret.add(**rows[index], **columns)
            print(f"{label}{columns['original_ms']} -> {columns['optimized_ms']} ms", flush=True)

    def measure_peers(self, rows, files, patience):
        software = (f"driver {self.driver}, torch {torch_peer.version()}, onnxruntime {ort_peer.version()}, "
                    f"jax {jax_peer.version()}")
        times = peers.measured([(files[row["model"], row["batch"]], row["precision"]) for row in rows], self.seconds,
                               patience)
        for row, found in zip(rows, times):
            if patience < ENOUGH and "torch_autotune" not in found:
                continue  # it may have had too little time
            self.peers.add(**row, **{f"{name}_ms": own.milliseconds(found.get(name)) for name in peers.NAMES},
                           software=software, date=datetime.date.today().isoformat())

    def compare(self):
        """Fills in what peers took, in the rows that have both."""
        for known in self.peers.rows:
            key = {name: known[name] for name in KEY}
            if not self.egret.has(**key):
                continue
            row = next(row for row in self.egret.rows if all(row[k] == v for k, v in key.items()))
            times = {name: known[name] for name in PEER_TIMES}
            best = min((float(value) for value in times.values() if value), default=None)
            self.egret.set(key, **times, ratio=f"{best / float(row['optimized_ms']):.3f}" if best else "")


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
    missing = [row for row in wanted if not rows.egret.has(**row) or (PATIENCE > 0 and not rows.peers.has(**row))]
    waves = settings.WithinTime([missing[i:i + own.AT_A_TIME] for i in range(0, len(missing), own.AT_A_TIME)])
    for wave in waves:
        with tempfile.TemporaryDirectory() as folder:
            files = built(wave, folder)
            rows.measure([row for row in wave if not rows.egret.has(**row)], files)
            without = [row for row in wave if not rows.peers.has(**row)]
            patience = min(PATIENCE, waves.end - time.monotonic() - 10)
            if without and patience > 0:
                rows.measure_peers(without, files, patience)
    rows.compare()
    rows.egret.print()
    unknown = [row for row in wanted if not (rows.egret.has(**row) and rows.peers.has(**row))]
    print(f"{len(wanted) - len(unknown)} of {len(wanted)} rows are known, with their peers")
    if rows.failures:
        return 1
    if unknown:
        return 0
    rows.peers.finish()
    rows.egret.finish()
    return results.judge(HERE / "expected.json", mode, judged(rows.egret.rows))


if __name__ == "__main__":
    sys.exit(main())
