# SPDX-License-Identifier: Apache-2.0
"""The egret program, called as users call it; answers are its JSON."""
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("EGRET_SHARED", ROOT.parent / "shared"))
PROGRAM = ROOT / "build" / "release" / "bin" / "egret"
TERMINATED = 143  # the exit code after SIGTERM


class EgretError(RuntimeError):
    def __init__(self, command, code, stderr):
        super().__init__(f"{' '.join(map(str, command))}: exit code {code}\n{stderr.strip()}")
        self.code = code
        self.stderr = stderr


def run(*arguments, timeout=3600, accept=(0, 5), stop_after=None):
    """Runs `egret ARGUMENTS` and returns what it wrote to standard output; `accept` are the exit codes of success.

    After stop_after seconds it is asked to stop (SIGTERM), and what it has by then is its answer.
    """
    command = [PROGRAM, *map(str, arguments), "--progress=never"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            try:
                out, errors = process.communicate(timeout=stop_after or timeout)
            except subprocess.TimeoutExpired:
                if stop_after is None:
                    raise
                process.terminate()
                accept = (*accept, TERMINATED)
                out, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    if process.returncode not in accept or (process.returncode == TERMINATED and not out):
        raise EgretError(command, process.returncode, errors)
    return out


def call(*arguments, **limits):
    """The document of `egret ARGUMENTS --json`; `limits` are those of run()."""
    return json.loads(run(*arguments, "--json", **limits))


def flags(options):
    """As words of a command line; True is a switch that is on, False one that is off."""
    words = []
    for key, value in options.items():
        if value is True:
            words.append(f"--{key}")
        elif value is not False:
            words += [f"--{key}", str(value)]
    return words


def version():
    document = call("version")
    return f"{document['version']} ({document['revision']})"
