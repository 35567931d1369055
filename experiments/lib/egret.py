# SPDX-License-Identifier: Apache-2.0
"""The egret program, called as users call it; answers are its JSON."""
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("EGRET_SHARED", ROOT.parent / "shared"))
PROGRAM = ROOT / "build" / "release" / "bin" / "egret"


class EgretError(RuntimeError):
    def __init__(self, command, code, stderr):
        super().__init__(f"{' '.join(map(str, command))}: exit code {code}\n{stderr.strip()}")
        self.code = code
        self.stderr = stderr


def run(*arguments, timeout=3600, accept=(0, 5)):
    """Runs `egret ARGUMENTS` and returns what it wrote to standard output; `accept` are the exit codes of success."""
    command = [PROGRAM, *map(str, arguments), "--progress=never"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode not in accept:
        raise EgretError(command, done.returncode, done.stderr)
    return done.stdout


def call(*arguments, timeout=3600, accept=(0, 5)):
    """The document of `egret ARGUMENTS --json`."""
    return json.loads(run(*arguments, "--json", timeout=timeout, accept=accept))


def version():
    document = call("version")
    return f"{document['version']} ({document['revision']})"
