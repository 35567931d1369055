# SPDX-License-Identifier: Apache-2.0
"""Turns on a GPU that several programs measure on: Egret's own ($EGRET_CUDA_TURNS, docs/cuda.md), and a second file for
programs that take no turns. Without the variable nothing waits."""
import contextlib
import fcntl
import os


_held = set()  # by this process, for nested turns


@contextlib.contextmanager
def _locked(suffix, how):
    name = os.environ.get("EGRET_CUDA_TURNS")
    if not name or suffix in _held:
        yield
        return
    with open(name + suffix, "a") as file:  # closing it gives the lock back
        fcntl.flock(file, how)
        _held.add(suffix)
        try:
            yield
        finally:
            _held.remove(suffix)


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
