# SPDX-License-Identifier: Apache-2.0
"""Turns on a GPU that several programs measure on: Egret's own ($EGRET_CUDA_TURNS, docs/cuda.md), and a second file for
programs that take no turns. On processors, $EGRET_MEASURE_TURNS names the file that programs lock while they measure.
Without the variables nothing waits."""
import contextlib
import fcntl
import os


_held = set()  # by this process, for nested turns


@contextlib.contextmanager
def _locked(suffix, how, variable="EGRET_CUDA_TURNS"):
    name = os.environ.get(variable)
    path = f"{name}{suffix}"
    if not name or path in _held:
        yield
        return
    with open(path, "a") as file:  # closing it gives the lock back
        fcntl.flock(file, how)
        _held.add(path)
        try:
            yield
        finally:
            _held.remove(path)


def turn():
    """Alone among the programs that take turns."""
    return _locked("", fcntl.LOCK_EX)


def busy():
    """For a program that takes no turns: none is timed by quiet() meanwhile."""
    return _locked(".busy", fcntl.LOCK_SH)


@contextlib.contextmanager
def quiet():
    """Alone among all."""
    with _locked(".busy", fcntl.LOCK_EX), turn():
        yield


def processor():
    """Alone among the programs that measure on the processors."""
    return _locked("", fcntl.LOCK_EX, "EGRET_MEASURE_TURNS")
