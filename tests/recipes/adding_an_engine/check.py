#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows docs/adding_an_engine.md in a copy of experiments/lib.

The page's class becomes an engine of the copy. Its package `fastengine` is written here: its interface
is the one that the page assumes, and ONNX Runtime computes. The copy then runs the page's command on a
model, and its outputs are compared with those of ONNX Runtime.
Ends with 77 (skipped) if the project's Python environment lacks ONNX Runtime.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
PYTHON = ROOT / ".venv/bin/python"
MODEL = ROOT / "experiments/data/ppocr_cls.onnx"
SIZES = {f"p2o.DynamicDimension.{axis}": size for axis, size in enumerate((1, 48, 192))}  # of its input
SKIPPED = 77

PACKAGE = '''
import onnxruntime

__version__ = "1.0"


class Tensor:
    def __init__(self, array):
        self.array = array

    def numpy(self):
        return self.array


class Input:
    def __init__(self, given):
        self.name, self.shape, self.is_float = given.name, given.shape, "float" in given.type


class Model:
    def __init__(self, path, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.inputs = [Input(given) for given in self.session.get_inputs()]
        self.values = {}

    def set_input(self, name, value):
        self.values[name] = value

    def run(self):
        self.outputs = [Tensor(array) for array in self.session.run(None, self.values)]


def compile(path, threads):
    return Model(path, threads)
'''

COMPARE = f"""
SIZES = {SIZES}
import sys
from lib.peer_process import PeerProcess
outputs = []
for engine in ("fastengine", "onnxruntime"):
    process = PeerProcess(engine, sys.argv[1], 2, SIZES)
    outputs.append(process.outputs())
    process.close()
assert len(outputs[0]) == len(outputs[1]) > 0, "the engines have other outputs"
for ours, theirs in zip(*outputs):
    assert ours.shape == theirs.shape and abs(ours - theirs).max() < 1e-6, "the outputs differ"
"""


def add_engine(experiments: pathlib.Path, page: str) -> None:
    """The page's steps 1 and 2: its class, and its place among the engines."""
    peers = experiments / "lib/peers.py"
    text = peers.read_text()
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL).group(1)
    name = re.search(r"^class (\w+):", code, re.MULTILINE).group(1)
    rows = re.search(r"^ENGINES = .*\(([^()]*)\)\}$", text, re.MULTILINE)
    assert rows, "experiments/lib/peers.py has no line of ENGINES"
    peers.write_text(text[: rows.start()] + code + "\n\n" + text[rows.start() : rows.end(1)] +
                     f", {name}" + text[rows.end(1) :])


def main() -> None:
    if not PYTHON.exists() or subprocess.run([PYTHON, "-c", "import onnxruntime"], capture_output=True,
                                             check=False).returncode != 0:
        print("skipped: the Python environment lacks ONNX Runtime (scripts/setup.sh installs it)")
        sys.exit(SKIPPED)
    page = (ROOT / "docs/adding_an_engine.md").read_text()
    with tempfile.TemporaryDirectory(prefix="egret-recipe-") as folder:
        copy = pathlib.Path(folder)
        shutil.copytree(ROOT / "experiments/lib", copy / "experiments/lib")
        (copy / "experiments/fastengine.py").write_text(PACKAGE)
        add_engine(copy / "experiments", page)
        tools = copy / ".venv/bin"
        tools.mkdir(parents=True)
        # A link would lose the environment's packages.
        (tools / "python").write_text(f'#!/bin/sh\nexec "{PYTHON}" "$@"\n')
        (tools / "python").chmod(0o755)

        command = re.search(r"^    (PYTHONPATH=experiments .*)$", page, re.MULTILINE).group(1)
        sizes = "".join(f" {name}={size}" for name, size in SIZES.items())
        done = subprocess.run(command.replace("MODEL.onnx", f"{MODEL}") + sizes, shell=True, cwd=copy, text=True,
                              input="median 1 5\n", capture_output=True, check=False)
        lines = done.stdout.split()
        if done.returncode != 0 or lines[:1] != ["ready"] or float(lines[1]) <= 0:
            sys.exit(f"{command}\n{done.stdout}{done.stderr}")
        subprocess.run([PYTHON, "-c", COMPARE, MODEL], check=True,
                       env={**os.environ, "PYTHONPATH": str(copy / "experiments")})
    print("adding_an_engine: experiments/lib/peers.py")


if __name__ == "__main__":
    main()
