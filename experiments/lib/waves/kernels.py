# SPDX-License-Identifier: Apache-2.0
"""Compiles the emitted kernels of rows beforehand, without a GPU: NVRTC for the tests' stand-ins of the other libraries.

The stand-ins' clock is simulated and they compute nothing (FAKE_CUDA=simulates, docs/cuda.md), so a command takes little
more than its compilation. They are a GPU of capability 9.0, as the H100 and the H200 are. The kernel cache names an image
by its source, its architecture and NVRTC's version (major and minor): another machine finds it if all are equal there.
A kernel that only the decisions of the real libraries lead to is compiled on that machine.
"""
import ctypes
import glob
import json
import os
import pathlib
import shutil
import site
import subprocess
import sys
import tempfile
import time

from lib import models
from lib.waves import parts, rows as table
from lib.waves.machines import BIN

STAND_IN = parts.ROOT / "build" / "release" / "fake_cuda" / "libfake_cuda.so"
DONE = "DONE.json"    # in the folder of kernels: the rows whose kernels are there
PARTS = ("definitions", "emission", "cuda", "device-tests")


def nvrtc():
    """(library, version) of NVRTC here, or None."""
    places = [*site.getsitepackages(), *sys.path, str(parts.ROOT / ".venv/lib/python3*/site-packages")]
    folders = [f"{place}/nvidia/*/lib" for place in places] + ["/usr/local/cuda/lib64"]
    for folder in folders:
        for library in sorted(glob.glob(f"{folder}/libnvrtc.so.1[23]"), reverse=True):
            major, minor = ctypes.c_int(), ctypes.c_int()
            if ctypes.CDLL(library).nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)) == 0:
                return library, f"{major.value}.{minor.value}"
    return None


def stand_ins(folder, library):
    """A folder for EGRET_CUDA_LIBRARIES: NVRTC itself, and the stand-ins."""
    for name in ("libcuda.so.1", "libcublasLt.so.13", "libcudnn.so.9"):
        os.symlink(STAND_IN, folder / name)
    os.symlink(os.path.realpath(library), folder / os.path.basename(library))


def commands_of(row, folder):
    """Programs that compile the row's kernels; their results mean nothing."""
    kind, *rest = row.work
    if kind == "tests" and row.group != "nccl":
        return [[BIN / "gpu_tests", f"--gtest_filter={rest[0]}"]]
    if kind == "check":
        model, precision = rest
        return [[BIN / "egret", "bench", models.locate(f"zoo:{model}", folder), "--backend", "cuda", "--precision",
                 precision, "--time", "0s"]]
    if kind == "egret":
        model, batch, precision = rest
        return [[BIN / "egret", "optimize", models.locate(f"zoo:{model}", folder, batch), "-o", folder / "optimized.onnx",
                 "--backend", "cuda", "--precision", precision, "--no-check", "--measure-time", "0s"]]
    return []


def folder_for(sources, root):
    """The kernels of these sources lie in a folder of their own, so that none of earlier ones is carried."""
    return root / parts.digest({part: sources.now[part] for part in PARTS})


def prepare(root, seconds, say=print):
    """Compiles for at most `seconds`, the most valuable rows first, and goes on another time. Returns the folder, or None
    without NVRTC or the stand-ins."""
    found = nvrtc()
    if found is None:
        say("no kernels are compiled beforehand: NVRTC is not installed (scripts/setup.sh --cuda)")
        return None
    if not STAND_IN.exists():
        say("no kernels are compiled beforehand: cmake --build build/release --target fake_cuda is missing")
        return None
    library, version = found
    folder = folder_for(parts.read(), root)
    for old in root.glob("*"):
        if old != folder:
            shutil.rmtree(old)
    folder.mkdir(parents=True, exist_ok=True)
    done_file = folder / DONE
    known = json.loads(done_file.read_text()) if done_file.exists() else {}
    done = known.get("rows", []) if known.get("nvrtc") == version else []
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as temporary:
        libraries = pathlib.Path(temporary) / "libraries"
        libraries.mkdir()
        stand_ins(libraries, library)
        environment = dict(os.environ, FAKE_CUDA="simulates", EGRET_CUDA_LIBRARIES=str(libraries),
                           EGRET_KERNEL_CACHE=str(folder), EGRET_COST_DB=f"{temporary}/costs.sqlite")
        wanted = [row for row in table.all_rows() if row.work[0] in ("tests", "check", "egret")
                  and row.group in ("correctness", "inference") and row.key not in done]
        for row in wanted:
            if time.monotonic() >= end or not _compiled(row, pathlib.Path(temporary), environment, end):
                break
            done.append(row.key)
            done_file.write_text(json.dumps({"nvrtc": version, "capability": 90, "rows": done}, indent=1) + "\n")
    count = len(list(folder.glob("*.cuda")))
    say(f"{count} images of kernels for sm_90 by NVRTC {version}, those of {len(done)} rows; "
        f"{len(wanted) - len([row for row in wanted if row.key in done])} rows are left")
    return folder


def _compiled(row, folder, environment, end):
    """Whether there was time for it."""
    for command in commands_of(row, folder):
        try:
            subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                           timeout=max(1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            return False
    for model in folder.glob("*.onnx"):
        model.unlink()
    return True
