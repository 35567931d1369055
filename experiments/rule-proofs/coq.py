# SPDX-License-Identifier: Apache-2.0
"""Rules as theorems, checked by Coq (Debian's package coq)."""
import shutil
import subprocess
import time

from lib import egret


def version():
    """Of coqc; "" where there is none."""
    if shutil.which("coqc") is None:
        return ""
    text = subprocess.run(["coqc", "--version"], capture_output=True, text=True, check=True).stdout
    return text.split("version")[1].split()[0]


def state(proofs, folder):
    """By the proof's line: file, families and whether on_scalars; or the reason why there is no theorem."""
    document = egret.call("rules", "theorems", proofs, "-o", folder)
    return document["rules"]


def check(folder, file, seconds):
    """The verdict and the seconds."""
    start = time.monotonic()
    command = ["timeout", str(seconds), "coqc", "-q", "-Q", ".", "Egret", file]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    taken = time.monotonic() - start
    if done.returncode == 0:
        return "accepted", taken, ""
    if done.returncode == 124:
        return "out of time", taken, ""
    return "not shown", taken, " ".join(done.stderr.split())[:200]
