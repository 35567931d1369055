# SPDX-License-Identifier: Apache-2.0
"""A session of another engine in a process of its own: neither its memory nor its threads meet those of others,
and an engine that runs out of memory is left out instead of ending the experiment.

    python -m lib.peer_process ENGINE MODEL THREADS [NAME=SIZE...]

ENGINE may be "egret". Prints "ready" when the session is there, then answers lines of its input until that ends:
"median SECONDS RUNS" with seconds, "total SECONDS" with the seconds and the number of the runs that began within that
time, "outputs FILE" with nothing, when they are written.
"""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from lib import compilers, peers

EXPERIMENTS = pathlib.Path(__file__).resolve().parents[1]


class PeerProcess:
    """Raises RuntimeError where the engine does not take the model, or its process ends."""

    def __init__(self, engine, path, threads, sizes):
        self.errors = tempfile.TemporaryFile(mode="w+")
        command = [str(compilers.interpreter_of(engine)), "-m", "lib.peer_process", engine, str(path), str(threads),
                   *[f"{name}={size}" for name, size in sizes.items()]]
        # In a group of its own, which ends with it: what a compiler has begun would disturb later times.
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                        text=True, env=dict(os.environ, PYTHONPATH=str(EXPERIMENTS)),
                                        start_new_session=True)
        try:
            self._answer()
        except BaseException:
            self.close()
            raise

    def _end_group(self):
        """Before its first process is waited for, whose number another group could have after that."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def _answer(self):
        try:
            line = self.process.stdout.readline()
            if line:
                return line.strip()
            os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)
        except BaseException:  # an interrupt reaches the process that asks alone
            self._end_group()
            raise
        self._end_group()
        code = self.process.wait()
        self.errors.seek(0)
        said = self.errors.read().strip().splitlines()
        if code == -signal.SIGALRM:
            raise RuntimeError(f"not compiled within {compilers.SECONDS:.0f} s")
        if code < 0 or not said:
            raise RuntimeError(f"ended by signal {-code}" if code < 0 else f"exit code {code}")
        raise RuntimeError(next((line.strip() for line in reversed(said) if "Error" in line), said[-1])[:200])

    def _ask(self, *words):
        try:
            self.process.stdin.write(" ".join(map(str, words)) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the answer says why
        return self._answer()

    def median(self, seconds, least_runs):
        return float(self._ask("median", seconds, least_runs))

    def total(self, seconds):
        spent, runs = self._ask("total", seconds).split()
        return float(spent), int(runs)

    def outputs(self):
        import numpy
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "outputs.npz"
            self._ask("outputs", path)
            with numpy.load(path) as arrays:
                return [arrays[f"arr_{i}"] for i in range(len(arrays.files))]

    def close(self):
        with contextlib.suppress(BrokenPipeError):  # of a process that has ended with a question unread
            self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


def main():
    engine, path, threads, *sizes = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what engines print of their own
    if engine in compilers.COMPILERS or engine in compilers.ENVIRONMENT_OF:
        signal.alarm(int(compilers.SECONDS) + 1)
    if engine not in compilers.COMPILERS:
        peers.version(engine)  # finds Debian's packages
    session = peers.SESSIONS[engine](path, int(threads))
    bound = {name: int(size) for name, size in (text.rsplit("=", 1) for text in sizes)}
    session.bind(peers.random_inputs(session.inputs, bound))
    signal.alarm(0)
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        what, *words = line.split()
        if what == "median":
            print(peers.median(session, float(words[0]), int(words[1])), file=answers, flush=True)
        elif what == "total":
            taken = peers.times(session, float(words[0]))
            print(sum(taken), len(taken), file=answers, flush=True)
        else:
            import numpy
            session.run()
            numpy.savez(words[0], *session.outputs())
            print("written", file=answers, flush=True)


if __name__ == "__main__":
    main()
