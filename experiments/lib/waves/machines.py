# SPDX-License-Identifier: Apache-2.0
"""Machines that a wave runs rows on: this one, and one whose clock is simulated.

Both have now(), the seconds since the wave began, start(row, expected, limit), and wait(), which returns (row, outcome,
values, note) of the next row that ends. A row that takes longer than its limit is stopped.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

from lib import gpu
from lib.waves import kept
from lib.waves.parts import ROOT

BIN = ROOT / "build" / "release" / "bin"
MARK = "wave: "    # begins the line of a row's values in its output
POLL = 0.1         # seconds
# Variables that tell programs how many processors a row may use.
THREADS = ("EGRET_THREADS", "OMP_NUM_THREADS", "TORCHINDUCTOR_COMPILE_THREADS")


def log_name(key):
    return key.replace("/", ".") + ".txt"


class Processes:
    """Each row is a process group; its output goes to a file in `logs`."""

    def __init__(self, logs, environment):
        self.logs, self.environment, self.began = pathlib.Path(logs), environment, time.monotonic()
        self.running = []
        self.logs.mkdir(parents=True, exist_ok=True)

    def now(self):
        return time.monotonic() - self.began

    def start(self, row, _expected, limit):
        command = [sys.executable, "-m", "lib.waves.work", *row.work]
        if row.background:
            command = ["nice", "-n", "10", *command]
        threads = {name: str(row.cores) for name in THREADS}
        with open(self.logs / log_name(row.key), "w") as log:
            process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       env=self.environment | threads, start_new_session=True)
        self.running.append((row, process, self.now() + limit))

    def wait(self):
        while True:
            for each in self.running:
                row, process, end = each
                if process.poll() is not None or self.now() >= end:
                    self.running.remove(each)
                    return self._ended(row, process)
            time.sleep(POLL)

    def _ended(self, row, process):
        was_over = process.poll() is not None
        code = self._kill(process)
        values, last = self._said(row)
        if not was_over:
            return row, kept.STOPPED, values, "its time was over"
        if code == 0:
            return row, kept.OK, values, ""
        return row, kept.UNAVAILABLE if code == gpu.UNAVAILABLE else kept.FAILED, values, f"exit code {code}, {last}"

    @staticmethod
    def _kill(process):
        """Also what the row left behind. The exit code."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        return process.wait()

    def close(self):
        """Ends rows that still run, when the wave is interrupted."""
        while self.running:
            self._kill(self.running.pop()[1])

    def _said(self, row):
        """The values that it gave, and its last line."""
        values, last = {}, ""
        for line in (self.logs / log_name(row.key)).read_text(errors="replace").splitlines():
            if line.startswith(MARK):
                values.update(json.loads(line[len(MARK):]))
            elif line.strip():
                last = line.strip()
        return values, last[:200]


class Simulated:
    """Rows take the time that is expected of them, or that of `takes`: {key: (seconds, outcome)}."""

    def __init__(self, takes=None):
        self.clock, self.takes, self.running, self.started = 0.0, takes or {}, [], 0

    def now(self):
        return self.clock

    def start(self, row, expected, limit):
        seconds, outcome = self.takes.get(row.key, (expected, kept.OK))
        if seconds > limit:
            seconds, outcome = limit, kept.STOPPED
        self.started += 1  # orders rows that end together
        self.running.append((self.clock + seconds, self.started, row, outcome))

    def wait(self):
        ended = min(self.running)
        self.running.remove(ended)
        self.clock, _, row, outcome = ended
        return row, outcome, {}, "" if outcome == kept.OK else "simulated"
