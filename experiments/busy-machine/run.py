# SPDX-License-Identifier: Apache-2.0
"""What other processes cost: time of a run beside 0, 1 and 2 processes that compute without end, on one and two
threads, of Egret and of ONNX Runtime, which take turns."""
import contextlib
import pathlib
import subprocess
import sys
import tempfile

import onnxruntime

from lib import egret, results, settings
from lib.peer_process import PeerProcess

HERE = pathlib.Path(__file__).resolve().parent
BUNDLED = {"ppocr_cls": (HERE.parent / "data" / "ppocr_cls.onnx",
                         {"p2o.DynamicDimension.0": 1, "p2o.DynamicDimension.1": 48, "p2o.DynamicDimension.2": 192})}
ENGINES = ("egret", "onnxruntime")
COLUMNS = ["model", "threads", "busy", "egret_ms", "onnxruntime_ms", "egret_slowdown", "onnxruntime_slowdown",
           "relative"]


def file_of(name, folder):
    """The model's file and the sizes of its open dimensions."""
    if name in BUNDLED:
        return BUNDLED[name]
    path = folder / f"{name}.onnx"
    if not path.exists():
        egret.run("zoo", name, "-o", path)
    return path, {}


@contextlib.contextmanager
def busy_processes(count):
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def times(sessions, rounds, seconds):
    """Seconds of a run of each engine, as the mean over all rounds: a run that waits counts with its whole time."""
    spent = {name: [0.0, 0] for name in sessions}
    for _ in range(rounds):
        for name, session in sessions.items():
            total, runs = session.total(seconds)
            spent[name][0] += total
            spent[name][1] += runs
    return {name: total / runs for name, (total, runs) in spent.items()}


def main():
    mode, config = settings.read(__doc__, HERE)
    config = {**config, **config.get(mode, {})}
    table = results.Table("busy-machine", results.on_this_processor(mode) if mode == "full" else mode, COLUMNS,
                          ["model", "threads", "busy"],
                          {"egret": egret.version(), "onnxruntime": onnxruntime.__version__})
    with tempfile.TemporaryDirectory() as folder:
        for name in settings.WithinTime(config["models"]):
            path, sizes = file_of(name, pathlib.Path(folder))
            for threads in config["threads"]:
                if table.has(model=name, threads=threads, busy=config["busy"][-1]):
                    continue
                with contextlib.ExitStack() as stack:
                    sessions = {engine: stack.enter_context(
                        contextlib.closing(PeerProcess(engine, path, threads, sizes))) for engine in ENGINES}
                    idle = None
                    for busy in config["busy"]:
                        with busy_processes(busy):
                            now = times(sessions, config["rounds"], config["seconds"])
                        idle = idle or now
                        slowdown = {engine: now[engine] / idle[engine] for engine in ENGINES}
                        table.add(model=name, threads=threads, busy=busy,
                                  egret_ms=f"{1e3 * now['egret']:.3f}", onnxruntime_ms=f"{1e3 * now['onnxruntime']:.3f}",
                                  egret_slowdown=f"{slowdown['egret']:.2f}",
                                  onnxruntime_slowdown=f"{slowdown['onnxruntime']:.2f}",
                                  relative=f"{slowdown['egret'] / slowdown['onnxruntime']:.2f}")
                        print(*table.rows[-1].values(), flush=True)
    table.finish()
    table.print()
    return results.judge(HERE / "expected.json", mode, {
        "rows": len(table.rows), "relative": max(float(row["relative"]) for row in table.rows)})


if __name__ == "__main__":
    sys.exit(main())
