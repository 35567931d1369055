# SPDX-License-Identifier: Apache-2.0
"""One peer and one model: peer_worker.py PEER MODEL.onnx PRECISION SECONDS, started by peers.py.

Compiles, says "ready" with the names of what it can time, waits for a line, and writes their median seconds; or what
failed. One JSON document a line, each after MARK: peers print things of their own.
"""
import importlib
import json
import pathlib
import sys

MARK = "peer: "


def main():
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
    peer, path, precision, seconds = sys.argv[1:]
    try:
        timers = importlib.import_module(f"{peer}_peer").prepared(path, precision)
        print(MARK + json.dumps({"ready": sorted(timers)}), flush=True)
        sys.stdin.readline()
        print(MARK + json.dumps({"seconds": {name: timer(float(seconds)) for name, timer in timers.items()}}), flush=True)
    except Exception as error:  # a peer's failure is a result
        print(MARK + json.dumps({"failed": f"{type(error).__name__}: {error}".splitlines()[0][:200]}), flush=True)


if __name__ == "__main__":
    main()
