# SPDX-License-Identifier: Apache-2.0
"""The egret program as so many ranks of mpirun."""
import os
import shutil
import subprocess

import numpy
import onnx

from lib import egret

ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def command(count, *arguments):
    return ["mpirun", "--oversubscribe", "-n", str(count), str(egret.PROGRAM), *map(str, arguments)]


def run(count, *arguments, timeout=600):
    """Raises where the ranks fail."""
    return subprocess.run(command(count, *arguments), check=True, capture_output=True, text=True, env=ENVIRONMENT,
                          timeout=timeout)


def tensor(path):
    return onnx.numpy_helper.to_array(onnx.load_tensor(str(path)))


def outputs_differ(folder, model, plan, count):
    """Of a run by so many ranks from one by a single process, relative to the largest element; empty without MPI."""
    if shutil.which("mpirun") is None:
        return ""
    one, many = folder / "one", folder / "many"
    one.mkdir(exist_ok=True)
    many.mkdir(exist_ok=True)
    egret.run("run", model, "--output-folder", one)
    run(count, "run", plan, "--output-folder", many, "--progress=never")
    a, b = tensor(one / "output_0.pb"), tensor(many / "output_0.pb")
    return float(numpy.abs(a - b).max() / numpy.abs(a).max())
