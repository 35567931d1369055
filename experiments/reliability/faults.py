# SPDX-License-Identifier: Apache-2.0
"""A program that is killed, or lacks memory or disk: what it leaves behind."""
import contextlib
import os
import pathlib
import resource
import shutil
import signal
import sqlite3
import subprocess
import time

from lib import egret

HERE = pathlib.Path(__file__).resolve().parent
CHECKER = egret.PROGRAM.with_name("egret-check")
# Exit codes that say what is missing; 1 is a bug, and a negative one a crash.
OK, LIMIT, UNAVAILABLE = 0, 5, 7
UNLOADED = 127  # of the system's loader, which found no room
OLD = b"what the file held before"


def preloaded(folder):
    """The library that lets writes fail."""
    library = folder / "full_disk.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, HERE / "full_disk.c", "-ldl"], check=True)
    return library


class Job:
    """`egret optimize` of a model with a certificate, in a folder of its own with a database of costs of its own.
    Without measurements its files are the same each time, as no limit of time is reached."""

    def __init__(self, model, folder, measures):
        self.folder, self.model = folder, pathlib.Path(model)
        self.output, self.certificate = folder / "out.onnx", folder / "out.json"
        self.database = folder / "costs.db"
        self.command = [egret.PROGRAM, "optimize", model, "-o", self.output, "--certificate", self.certificate,
                        "--threads", "2", "--progress", "never", *([] if measures else ["--quick", "--limit-time", "60s"])]
        self.measures = measures
        self.environment = {**os.environ, "EGRET_COST_DB": str(self.database)}
        self.seconds = self.new = None

    def run(self, **how):
        """The exit code, or None where it does not end in time, and what it said."""
        environment = {**self.environment, **how.pop("environment", {})}
        limit_s = 600 if self.seconds is None else 30 + 10 * self.seconds
        try:
            done = subprocess.run([*map(str, self.command), *how.pop("flags", [])], env=environment,
                                  capture_output=True, text=True, errors="replace", timeout=limit_s, check=False, **how)
        except subprocess.TimeoutExpired:
            return None, f"it did not end within {limit_s:.0f} s"
        return done.returncode, done.stderr.strip()

    def reference(self):
        """Runs once without a fault."""
        start = time.monotonic()
        code, error = self.run()
        if code != OK:
            raise RuntimeError(f"without a fault it ends with code {code}: {error}")
        self.seconds = time.monotonic() - start
        self.new = {path: path.read_bytes() for path in (self.output, self.certificate)}

    def reset(self):
        """Both files as they were before a run, and no others."""
        for path in self.folder.iterdir():
            if path != self.database:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        for path in (self.output, self.certificate):
            path.write_bytes(OLD)

    def is_proven(self):
        """Whether the certificate proves the result. Where the plan that would be measured finds no room, the result is the
        model with its own nodes."""
        return subprocess.run([CHECKER, self.model, self.output, self.certificate], capture_output=True,
                              check=False).returncode == OK

    def broken(self, may_keep=False):
        """What is wrong with the files that a fault leaves: each is the old or the new one (or, where that is allowed, they
        prove each other), and the database is whole."""
        for path in (self.output, self.certificate):
            content = path.read_bytes() if path.exists() else None
            whole = content == OLD or (content is not None and (self.measures or content == self.new[path]))
            if not whole and not (may_keep and self.is_proven()):
                return f"{path.name} is neither the old nor the new file"
        if self.database.exists():
            with contextlib.closing(sqlite3.connect(self.database)) as database:
                answer = database.execute("PRAGMA integrity_check").fetchone()[0]
            if answer != "ok":
                return f"the database of costs: {answer}"
        return ""

    def recovers(self):
        """What is wrong with the next run without a fault."""
        code, error = self.run()
        if code != OK:
            return f"the next run ends with code {code}: {error[-200:]}"
        if not self.measures and any(path.read_bytes() != new for path, new in self.new.items()):
            return "the next run writes other bytes"
        return ""


def killed(job, draws):
    """Ends it by SIGKILL at a random time. What is wrong, and what happened."""
    job.reset()
    process = subprocess.Popen([*map(str, job.command)], env=job.environment, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        process.wait(draws.random() * 1.1 * job.seconds)
        happened = "ended before"
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        happened = "killed"
    return job.broken(), happened


def clean_end(job, code, error, allowed, may_keep=False):
    """What is wrong with how a run ended that lacked something. It may keep the model and say so, where that is
    allowed."""
    if code not in allowed:
        return f"ends with code {code}: {error[-200:]}"
    if code != OK and not error:
        return f"ends with code {code} and says nothing"
    return job.broken(may_keep and code == LIMIT)


def within(limit):
    """Of a process: so many bytes of address space."""
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def clean_run(job, limit):
    """Whether it ends well with this many bytes of address space."""
    return job.run(preexec_fn=within(limit))[0] == OK


def loads(limit):
    """Whether the system loads the program. Below, its loader says that there is no room, with code 127."""
    try:
        return subprocess.run([egret.PROGRAM, "--version"], capture_output=True, timeout=5, check=False,
                              preexec_fn=within(limit)).returncode != UNLOADED
    except subprocess.TimeoutExpired:
        return True


def without_memory(job, draws, least_bytes, most_bytes):
    """Limits its address space to a random part of what it needs, and at least to what loading takes."""
    job.reset()
    limit = draws.randrange(least_bytes, most_bytes)
    code, error = job.run(preexec_fn=within(limit))
    problem = clean_end(job, code, error, {OK, LIMIT, UNLOADED}, may_keep=True)
    return problem and f"{limit >> 20} MiB: {problem}", f"code {code}"


def without_disk(job, draws, library, kind, calls):
    job.reset()
    code, error = job.run(environment={"LD_PRELOAD": str(library), "FAIL": f"{kind}:{draws.randrange(1, calls + 1)}"})
    return clean_end(job, code, error, {OK, UNAVAILABLE}), f"code {code}"


def spoilt_database(job, draws):
    """A database of costs that was cut off, or of which bytes were changed."""
    whole = job.database.read_bytes()
    spoilt = bytearray(whole)
    if draws.random() < 0.5:
        del spoilt[draws.randrange(len(spoilt)):]
        happened = "cut off"
    else:
        for _ in range(draws.randrange(1, 40)):
            spoilt[draws.randrange(len(spoilt))] = draws.randrange(256)
        happened = "bytes changed"
    job.reset()
    job.database.write_bytes(spoilt)
    for extra in job.folder.glob("costs.db-*"):
        extra.unlink()
    code, error = job.run()
    job.database.write_bytes(whole)
    return clean_end(job, code, error, {OK, 3, UNAVAILABLE}), f"{happened}, code {code}"
