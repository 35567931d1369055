# SPDX-License-Identifier: Apache-2.0
"""Versions of oneDNN beside the one that Egret links.

    .venv/bin/python experiments/contractions/onednn.py

installs them from the Python registry (0.7 GB), each into a virtual environment of its own below build/onednn. The
experiment compiles onednn_peer.cc against each version that it finds there, and against the system's.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import venv

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE.parents[1] / "build" / "onednn"
# The first is the system's. 3.13 exists with the DPC++ run time only, which is among its dependencies.
PACKAGES = {"2.6": None, "3.2": "onednn-devel-cpu-gomp==2023.2.0", "3.13": "onednn-devel==2026.1.0"}


def install():
    for version, package in PACKAGES.items():
        place = FOLDER / version
        if package is None or (place / "include" / "oneapi").exists():
            continue
        venv.create(place, with_pip=True)
        subprocess.run([place / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                        package], check=True)
        print(f"oneDNN {version} in {place}")


def line_of(contraction):
    """What onednn_peer.cc reads; None for what it does not time."""
    kind, operands, attributes = contraction
    left, right = operands[0][0], operands[1][0]
    bias = int(len(operands) > 2)
    attributes = dict(attributes)
    if kind == "Conv":
        if len(left) != 4 or attributes.get("auto_pad", "NOTSET") not in ("NOTSET", b"NOTSET", ""):
            return None
        pads = attributes.get("pads", (0, 0, 0, 0))
        numbers = [*left, right[0], *right[2:], *attributes.get("strides", (1, 1)), *pads,
                   *attributes.get("dilations", (1, 1)), attributes.get("group", 1), bias]
        return "conv " + " ".join(map(str, numbers))
    if len(left) < 2 or len(right) < 2 or (kind == "Gemm" and attributes.get("transA", 0)):
        return None
    depth, columns = right[-2:] if not attributes.get("transB", 0) else right[:-3:-1]
    batch = 1
    for extent in left[:-2]:
        batch *= extent
    word = "weights" if operands[1][1] and len(right) == 2 else "matmul"
    return f"{word} {batch} {left[-2]} {depth} {columns} {bias}"


class Library:
    """A version of oneDNN in a process of its own, on this many of the first processors."""

    def __init__(self, version, folder, threads, seconds):
        self.version = version
        place = FOLDER / version
        program = pathlib.Path(folder) / f"onednn-{version}"
        command = ["c++", "-O2", "-std=c++20", str(HERE / "onednn_peer.cc"), "-o", str(program)]
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
        if PACKAGES[version] is not None:
            library = place / "lib"
            command += [f"-I{place / 'include'}", f"-L{library}", f"-Wl,-rpath-link,{library}"]
            environment["LD_LIBRARY_PATH"] = str(library)
            # The run time's own file names a place where it is not.
            environment["OCL_ICD_FILENAMES"] = str(library / "libintelocl.so")
        done = subprocess.run([*command, "-ldnnl"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"onednn_peer.cc does not compile: {done.stderr.strip()[-300:]}")
        # Versions with DPC++ take all processors that they may use.
        allowed = sorted(os.sched_getaffinity(0))[:threads]
        self.process = subprocess.Popen(
            ["taskset", "-c", ",".join(map(str, allowed)), str(program), str(seconds)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
        self.full_version = self._next_line()
        self.ask("matmul 1 8 8 8 0")  # what does not run fails here

    def _next_line(self):
        # The library's own messages are not answers.
        for line in self.process.stdout:
            if not line.startswith("onednn_verbose"):
                return line.strip()
        raise RuntimeError("it ends")

    def ask(self, line):
        """Seconds and implementation; None where this version has no kernel."""
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise RuntimeError("it ends") from error
        words = self._next_line().split(" ", 2)
        return None if words[0] == "none" else (float(words[1]), words[2])


def libraries(folder, threads, seconds):
    """Those that are here; says which are not."""
    found = []
    for version, package in PACKAGES.items():
        if package is not None and not (FOLDER / version / "include" / "oneapi").exists():
            print(f"oneDNN {version} is left out: {pathlib.Path(__file__).relative_to(HERE.parents[1])} installs it")
            continue
        try:
            found.append(Library(version, folder, threads, seconds))
        except (OSError, RuntimeError) as error:
            print(f"oneDNN {version} is left out: {error}")
    return found


if __name__ == "__main__":
    if shutil.which("taskset") is None:
        sys.exit("taskset is not here (Debian: util-linux)")
    install()
