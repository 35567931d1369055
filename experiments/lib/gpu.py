# SPDX-License-Identifier: Apache-2.0
"""The GPU that experiments run on."""
import pathlib
import subprocess
import tempfile

from lib import egret

UNAVAILABLE = 7


def name():
    """Of the first one, with its driver."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def bench(paths, precision, seconds):
    """Median seconds of each model there, without what comes and goes, and the launches of the last one."""
    report = egret.call("bench", *paths, "--backend", "cuda", "--precision", precision, "--time", f"{seconds}s")
    return [model["device_s"] for model in report["models"]], report["models"][-1]["kernel_count"]


def why_not():
    """What keeps the backend from running here, or None."""
    with tempfile.TemporaryDirectory() as folder:
        probe = pathlib.Path(folder) / "probe.onnx"
        egret.run("zoo", "squeezenet1.1", "-o", probe)
        try:
            egret.run("run", probe, "--backend", "cuda")
        except egret.EgretError as error:
            if error.code == UNAVAILABLE:
                return str(error).splitlines()[-1]
            raise
    return None
