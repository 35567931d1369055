# SPDX-License-Identifier: Apache-2.0
"""Times of PyTorch, ONNX Runtime and JAX: each compiles several models side by side, for minutes, and is timed on them in
turn, alone."""
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

from peer_worker import MARK
from torch_peer import WAYS

WORKER = pathlib.Path(__file__).resolve().parent / "peer_worker.py"
PEERS = {"torch": 0.3, "autotune": 0.4, "ort": 0.1, "jax": 0.2}  # and their parts of the time in which all compile
NAMES = [*WAYS, "ort", "jax"]
MOST_TIMING = 60  # seconds of one worker


class Worker:
    """One peer's process for one model."""

    def __init__(self, peer, path, precision, seconds):
        self.peer, self.ready, self.failed, self.seconds = peer, None, None, None
        self.turn = threading.Condition()
        environment = dict(os.environ, XLA_PYTHON_CLIENT_PREALLOCATE="false")
        self.process = subprocess.Popen([sys.executable, WORKER, peer, path, precision, str(seconds)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        env=environment)
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self.process.stdout:
            if not line.startswith(MARK):
                continue
            with self.turn:
                for name, value in json.loads(line[len(MARK):]).items():
                    setattr(self, name, value)
                self.turn.notify_all()
        with self.turn:
            if self.seconds is None and self.failed is None:
                self.failed = "ended without a word"
            self.turn.notify_all()

    def waited_for(self, what, until):
        """Whether it came to that, and did not fail before."""
        with self.turn:
            self.turn.wait_for(lambda: getattr(self, what) is not None or self.failed is not None,
                               max(0, until - time.monotonic()))
            return getattr(self, what) is not None

    def timed(self, until):
        """Median seconds by name; of a worker that is ready, while all others wait."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.seconds if self.waited_for("seconds", until) else {}

    def end(self):
        self.process.kill()
        self.process.wait()


def measured(rows, seconds, patience):
    """Median seconds by name, for each (path, precision) of rows; what is missing or fails is left out, and said. One peer
    after the other, since their compilers take all processors."""
    times = [{} for _ in rows]
    for peer, part in PEERS.items():
        for own, more in zip(times, of_peer(peer, rows, seconds, time.monotonic() + part * patience)):
            own.update(more)
    return times


def of_peer(peer, rows, seconds, until):
    workers = [Worker(peer, path, precision, seconds) for path, precision in rows]
    try:
        for worker in workers:
            worker.waited_for("ready", until)
        for worker in workers:
            if worker.ready is None:
                worker.failed = worker.failed or "not done in time"
                worker.end()  # and disturbs those no more that are timed
        times = [worker.timed(time.monotonic() + MOST_TIMING) if worker.ready is not None else {} for worker in workers]
        for worker, (path, precision) in zip(workers, rows):
            if worker.failed:
                print(f"  {peer} {path.stem} {precision}: {worker.failed}", flush=True)
        return times
    finally:
        for worker in workers:
            worker.end()
