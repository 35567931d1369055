# SPDX-License-Identifier: Apache-2.0
"""What an engine's session adds to the memory of a process at its fullest, printed in bytes.

    python -m lib.peer_memory ENGINE MODEL THREADS [NAME=SIZE...]

The engine's own library is loaded before; the session then loads the model and runs it twice.
"""
import pathlib
import sys

from lib import peers


def status_bytes(field):
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return 1024 * int(line.split()[1])
    raise RuntimeError(f"/proc/self/status has no {field}")


def main():
    name, path, threads, *sizes = sys.argv[1:]
    peers.version(name)
    before = status_bytes("VmRSS")
    session = peers.ENGINES[name](path, int(threads))
    bound = dict(size.rsplit("=", 1) for size in sizes)
    session.bind(peers.random_inputs(session.inputs, {key: int(value) for key, value in bound.items()}))
    for _ in range(2):
        session.run()
    print(status_bytes("VmHWM") - before)


if __name__ == "__main__":
    main()
