# SPDX-License-Identifier: Apache-2.0
"""Hosts made of network namespaces with slow links (scripts/virtual_hosts.sh). A machine has one set of them."""
import contextlib
import fcntl
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from lib import egret

SCRIPT = egret.ROOT / "scripts" / "virtual_hosts.sh"
LOCK = pathlib.Path(tempfile.gettempdir()) / "egret-virtual-hosts.lock"
MISSING = 7  # the script's exit code


class NoHosts(Exception):
    """Says what is missing."""


def script(*words, **more):
    done = subprocess.run([SCRIPT, *map(str, words)], capture_output=True, text=True, check=False, **more)
    if done.returncode == MISSING:
        raise NoHosts(done.stderr.strip())
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


@contextlib.contextmanager
def hosts(count, rate, delay):
    """Taken down whatever happens in between."""
    try:
        script("up", count, rate, *([delay] if delay else []))
        yield
    finally:
        script("down")


@contextlib.contextmanager
def exclusively():
    """Waits for other programs with hosts. Raises NoHosts without mpirun or iproute2. A SIGTERM ends the program as
    an exception, so that hosts are taken down then, too."""
    if shutil.which("mpirun") is None or shutil.which("ip") is None:
        raise NoHosts("needs mpirun and iproute2")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    with open(LOCK, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def document(text):
    """The JSON document behind what mpirun says."""
    return json.loads(text[text.index("{"):])
