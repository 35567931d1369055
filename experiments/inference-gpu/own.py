# SPDX-License-Identifier: Apache-2.0
"""Egret's times: a model as built and after `egret optimize`. Several rows side by side, since searches and checks take
the host most of their time; what runs on the GPU takes turns ($EGRET_CUDA_TURNS), so that times are of one program."""
import concurrent.futures
import os
import pathlib
import tempfile

import roofline
from lib import egret, gpu

AT_A_TIME = max(1, (os.cpu_count() or 1) // 5)
THREADS = max(1, (os.cpu_count() or 1) // (AT_A_TIME + 1))  # of each; the rest launches


def milliseconds(seconds):
    return f"{1e3 * seconds:.4f}" if seconds is not None else ""


def row_of(original, precision, seconds, device):
    """Columns of one row."""
    optimized = original.with_suffix(f".{precision}.optimized.onnx")
    place = ["--backend", "cuda", "--precision", precision]
    report = egret.call("optimize", original, "-o", optimized, *place, "--threads", THREADS)
    facts = egret.call("inspect", original)
    work = sum(operator["flops"] for operator in facts["operators"]), facts["weight_bytes"]
    (before, after), kernels = gpu.bench([original, optimized], precision, seconds)
    optimized.unlink()
    least = roofline.least_seconds(device, precision, *work)
    return {"kernels": kernels, "original_ms": milliseconds(before), "optimized_ms": milliseconds(after),
            "speedup": f"{before / after:.3f}", "roofline_share": f"{least / after:.3f}" if least is not None else "",
            "optimize_s": f"{report['seconds']:.1f}", "check_error": f"{report['check']['max_error']:.3g}",
            "check_bound": f"{report['check']['bound']:.3g}", "revision": egret.version()}


def measured(rows, seconds, device):
    """Yields columns, or the EgretError that came instead, with the index of each (path, precision) of rows, as they are
    done."""
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        os.environ["EGRET_CUDA_TURNS"] = str(pathlib.Path(folder) / "turns")
        futures = {pool.submit(row_of, *row, seconds, device): index for index, row in enumerate(rows)}
        for future in concurrent.futures.as_completed(futures):
            try:
                yield futures[future], future.result()
            except egret.EgretError as error:
                yield futures[future], error
        del os.environ["EGRET_CUDA_TURNS"]
