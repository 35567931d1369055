# SPDX-License-Identifier: Apache-2.0
"""What `egret optimize --engine onnxruntime` writes, in ONNX Runtime: compared and timed at several sizes, beside the files
of onnxsim and OnnxSlim; and the same for OpenVINO. One row for each model. A table grows over several runs, and a row
names the revision that measured it."""
import datetime
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy
import onnx
import onnxruntime

from lib import egret, results, settings, turns

LEVELS = ["ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL"]
COLUMNS = ["model", "domain", "verdict", "nodes", "egret_nodes", "onnxsim_nodes", "onnxslim_nodes", "egret_s",
           "onnxsim_s", "onnxslim_s", "sizes", "largest_error", "before_ms", "ratio", "worst_ratio", "onnxsim_ratio",
           "onnxslim_ratio", "openvino_before_ms", "openvino_ratio", "openvino_note", "note", "egret", "date"]
TYPES = {"tensor(float)": numpy.float32, "tensor(float16)": numpy.float16, "tensor(double)": numpy.float64,
         "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32, "tensor(bool)": numpy.bool_,
         "tensor(uint8)": numpy.uint8, "tensor(int8)": numpy.int8, "tensor(int16)": numpy.int16}


def session(path, level="ORT_ENABLE_ALL", threads=1):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


class OpenVino:
    """A session of OpenVINO with the calls of one of ONNX Runtime."""

    def __init__(self, path, threads):
        import openvino

        settings = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}
        self.model = openvino.Core().compile_model(str(path), "CPU", settings)
        self.request = self.model.create_infer_request()

    def run(self, _, feed):
        by_port = {port: feed[next(name for name in feed if name in port.get_names())] for port in self.model.inputs}
        results = self.request.infer(by_port, share_inputs=True)
        return [numpy.array(results[port]) for port in self.model.outputs]


def inputs_of(opened, sizes, draw, seed):
    random = numpy.random.default_rng(seed)
    feed = {}
    for value in opened.get_inputs():
        named = lambda axis, size: sizes.get(f"{value.name}_{axis}" if size is None else size, 1)
        shape = [size if isinstance(size, int) else named(axis, size) for axis, size in enumerate(value.shape)]
        dtype = TYPES[value.type]
        low, high = draw.get(value.name, (0, 1) if dtype != numpy.float32 else (-1, 1))
        if numpy.issubdtype(dtype, numpy.floating):
            feed[value.name] = random.uniform(low, high, shape).astype(dtype)
        else:
            feed[value.name] = random.integers(low, high, shape, endpoint=True).astype(dtype)
    return feed


def error_between(expected, got):
    """The largest difference, in proportion to the largest element or to 0.001 (probabilities are exact to 1e-7);
    infinite for other shapes or types."""
    worst = 0.0
    for a, b in zip(expected, got, strict=True):
        if not isinstance(a, numpy.ndarray):
            continue
        if a.shape != b.shape or a.dtype != b.dtype:
            return float("inf")
        if a.size == 0 or a.dtype.kind not in "fiub":
            continue
        a, b = a.astype(numpy.float64), b.astype(numpy.float64)
        if not numpy.array_equal(numpy.isfinite(a), numpy.isfinite(b)):
            return float("inf")
        a, b = a[numpy.isfinite(a)], b[numpy.isfinite(b)]
        if a.size:
            worst = max(worst, float(numpy.abs(a - b).max() / max(numpy.abs(a).max(), 1e-3)))
    return worst


def times(sessions, feed, seconds, rounds):
    """Of each session the least median of the rounds, which take turns."""
    best = {name: float("inf") for name in sessions}
    for opened in sessions.values():
        opened.run(None, feed)
    for _ in range(rounds):
        for name, opened in sessions.items():
            taken = []
            end = time.perf_counter() + seconds / rounds
            while time.perf_counter() < end or len(taken) < 3:
                start = time.perf_counter()
                opened.run(None, feed)
                taken.append(time.perf_counter() - start)
            best[name] = min(best[name], float(numpy.median(taken)))
    return best


def node_count(path):
    return len(onnx.load(path, load_external_data=False).graph.node)


def peer(name, source, target):
    """The peer's file and its time; None where it is not installed or fails."""
    if importlib.util.find_spec(name) is None:
        return None
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", name, str(source), str(target)], capture_output=True, text=True,
                          timeout=900, check=False)
    if done.returncode != 0 or not target.exists():
        return None
    return time.perf_counter() - start


def in_openvino(model, path, folder, config, like):
    """What `egret optimize --engine openvino` gains there. `like`: a session that tells the inputs."""
    if importlib.util.find_spec("openvino") is None:
        return {"openvino_note": "not installed"}
    result = folder / "for_openvino.onnx"
    try:
        before = OpenVino(path, config["threads"])
    except Exception:  # OpenVINO lacks operators
        return {"openvino_note": "does not load the original"}
    try:
        answer = egret.call("optimize", path, "-o", result, "--threads", config["threads"], "--engine", "openvino",
                            "--engine-python", sys.executable)
    except Exception as error:
        return {"openvino_note": "refused: " + str(error)[-200:].replace("\n", " ")}
    sessions = {"before": before, "egret": OpenVino(result, config["threads"])}
    ratios, first = [], None
    for seed, sizes in enumerate(model["sizes"]):
        feed = inputs_of(like, sizes, model.get("draw", {}), seed)
        try:
            measured = times(sessions, feed, config["seconds"], config["rounds"])
        except Exception as error:
            return {"openvino_note": f"fails at {sizes}: " + str(error)[:100].replace("\n", " ")}
        first = first or measured["before"]
        ratios.append(measured["egret"] / measured["before"])
    return {"openvino_before_ms": f"{1e3 * first:.3f}", "openvino_ratio": f"{geomean(ratios):.3f}",
            "openvino_note": answer.get("status", "")}


def geomean(values):
    return float(numpy.exp(numpy.mean(numpy.log(values))))


def row_of(model, path, folder, config):
    files = {"before": path, "egret": folder / "egret.onnx"}
    row = {"nodes": node_count(path), "verdict": "ok"}
    start = time.perf_counter()
    try:
        answer = egret.call("optimize", path, "-o", files["egret"], "--threads", config["threads"],
                             "--engine", "onnxruntime", "--engine-python", sys.executable)
    except Exception as error:  # the message is the row's
        return {**row, "verdict": "refused", "note": str(error)[-200:].replace("\n", " ")}
    row.update(egret_s=f"{time.perf_counter() - start:.1f}", egret_nodes=node_count(files["egret"]),
               note=answer.get("status", ""))
    for name in ("onnxsim", "onnxslim"):
        seconds = peer(name, path, folder / f"{name}.onnx")
        if seconds is not None:
            files[name] = folder / f"{name}.onnx"
            row.update({f"{name}_s": f"{seconds:.1f}", f"{name}_nodes": node_count(files[name])})
    for level in LEVELS:
        try:
            session(files["egret"], level)
        except Exception as error:
            return {**row, "verdict": f"not loaded at {level}", "note": str(error)[:200].replace("\n", " ")}
    sessions = {}
    for name, file in files.items():
        try:
            sessions[name] = session(file, threads=config["threads"])
        except Exception:  # a peer's file
            row[f"{name}_nodes"] = "not loaded"
    ratios = {name: [] for name in sessions}
    errors, before = [], []
    for seed, sizes in enumerate(model["sizes"]):
        feed = inputs_of(sessions["before"], sizes, model.get("draw", {}), seed)
        try:
            expected = sessions["before"].run(None, feed)
        except Exception as error:
            return {**row, "verdict": "the original does not run", "note": str(error)[:200].replace("\n", " ")}
        errors.append(error_between(expected, sessions["egret"].run(None, feed)))
        for name in [name for name in sessions if name in ("onnxsim", "onnxslim")]:
            try:
                sessions[name].run(None, feed)
            except Exception:  # a peer's file does not accept all inputs of the original
                row[f"{name}_nodes"] = f"fails at {sizes}"
                del sessions[name]
        measured = times(sessions, feed, config["seconds"], config["rounds"])
        before.append(measured["before"])
        for name in sessions:
            ratios[name].append(measured[name] / measured["before"])
    row.update(sizes=len(model["sizes"]), largest_error=f"{max(errors):.1e}", before_ms=f"{1e3 * before[0]:.3f}",
               ratio=f"{geomean(ratios['egret']):.3f}", worst_ratio=f"{max(ratios['egret']):.3f}")
    for name in ("onnxsim", "onnxslim"):
        if name in sessions:
            row[f"{name}_ratio"] = f"{geomean(ratios[name]):.3f}"
    row.update(in_openvino(model, path, folder, config, sessions["before"]))
    return row


class Deployed:
    """The table of an experiment, and what fills it."""

    def __init__(self, experiment, description, folder):
        self.folder = folder
        self.mode, config = settings.read(description, folder)
        self.config = {**config, **config[self.mode]}
        self.version = egret.version()
        self.table = results.Table(experiment, results.on_this_processor(self.mode), COLUMNS, ["model"],
                                   {"onnxruntime": onnxruntime.__version__, "threads": self.config["threads"]},
                                   grows=self.mode == "full")

    def missing(self, models):
        """Of `models`, tuples that begin with a name, those without a row; with $EGRET_EXPERIMENT_AGAIN also those with
        a row of another revision, the earliest first. None is begun when the time is over."""
        dates = {row["model"]: "" if row["egret"] == self.version else row["date"] for row in self.table.rows}
        new = [model for model in models if model[0] not in dates]
        old = sorted((model for model in models if dates.get(model[0])), key=lambda model: dates[model[0]])
        return settings.WithinTime(new + (old if os.environ.get("EGRET_EXPERIMENT_AGAIN") else []))

    def measure(self, name, domain, model, path):
        with tempfile.TemporaryDirectory() as folder, turns.processor():
            row = row_of(model, path, pathlib.Path(folder), self.config)
        self.table.add(model=name, domain=domain, **row, egret=self.version, date=datetime.date.today().isoformat())
        print(f"{name}: {row}", flush=True)

    def judge(self):
        """Ends and prints the table; the experiment's exit code."""
        self.table.finish()
        self.table.print()
        rows = [row for row in self.table.rows if row["verdict"] == "ok"]
        return results.judge(self.folder / "expected.json", self.mode, {
            "not_ok": len(self.table.rows) - len(rows),
            "largest_error": max((float(row["largest_error"]) for row in rows), default=0),
            "slower": sum(float(row["worst_ratio"]) > self.config["least_ratio"] for row in rows),
            "models": len(self.table.rows)})
