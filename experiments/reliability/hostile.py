# SPDX-License-Identifier: Apache-2.0
"""Malformed model files: a model with parts of its bytes cut off, changed, exchanged or made large."""
import resource
import subprocess
import time

from lib import egret

REFUSED = {3: "malformed", 4: "unsupported", 5: "limit"}
MOST_SECONDS, MOST_BYTES = 1.0, 256 << 20


def altered(whole, draws):
    """A kind, and the bytes."""
    made = bytearray(whole)
    kind = draws.choice(["cut off", "bytes changed", "large number", "part repeated", "part left out", "head"])
    if kind == "cut off":
        del made[draws.randrange(len(made)):]
    elif kind == "bytes changed":
        # Most bytes are weights. The first and the last hold the structure.
        for _ in range(draws.randrange(1, 9)):
            made[draws.randrange(len(made))] = draws.randrange(256)
    elif kind == "large number":
        at = draws.randrange(len(made))
        made[at:at + 1] = b"\xff" * draws.randrange(4, 10) + b"\x7f"
    elif kind == "part repeated":
        at, size = draws.randrange(len(made)), draws.randrange(1, 4096)
        made[at:at] = made[at:at + size] * draws.randrange(1, 20)
    elif kind == "part left out":
        at = draws.randrange(len(made))
        del made[at:at + draws.randrange(1, 4096)]
    else:
        made[:draws.randrange(1, 64)] = draws.randbytes(draws.randrange(1, 64))
    return kind, bytes(made)


def outcome(path):
    """What is wrong with how `egret inspect` ends, and how it ends."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    done = subprocess.run(["/usr/bin/env", "time", "-f", "%M", egret.PROGRAM, "inspect", path], capture_output=True,
                          text=True, errors="replace", timeout=60, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = min(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.monotonic() - start)
    lines = done.stderr.strip().splitlines()
    kilobytes = int(lines[-1]) if lines and lines[-1].isdigit() else 0
    if done.returncode != 0 and done.returncode not in REFUSED:
        return f"ends with code {done.returncode}: {' '.join(lines)[-200:]}", "wrong"
    if done.returncode != 0 and not any("error" in line for line in lines):
        return f"ends with code {done.returncode} and says nothing", "wrong"
    if seconds > MOST_SECONDS:
        return f"takes {seconds:.1f} s of the processor", "wrong"
    if kilobytes << 10 > MOST_BYTES:
        return f"takes {kilobytes >> 10} MB", "wrong"
    return "", REFUSED.get(done.returncode, "read all the same")
