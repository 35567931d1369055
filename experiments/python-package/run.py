# SPDX-License-Identifier: Apache-2.0
"""What Python costs: egret.optimize() beside the command line, an extractor in Python, and the import."""
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

from lib import egret, results, settings

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["what", "model", "turns", "cli_s", "python_s", "ratio", "cli_cpu_s", "python_cpu_s", "cpu_ratio", "import_s",
           "nodes"]
PACKAGE = egret.ROOT / "build" / "release" / "python"


def flags_of(options):
    """The options of the command line: {"measure": false, "threads": 1} is --no-measure --threads 1."""
    flags = []
    for name, value in options.items():
        flags += [f"--no-{name}"] if value is False else [f"--{name}", value]
    return flags


def arguments_of(options):
    named = {(f"no_{name}" if value is False else name.replace("-", "_")): value is False or value
             for name, value in options.items()}
    return json.dumps(named)


def on_command_line(model, output, options):
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    egret.run("optimize", model, "-o", output, "--quiet", *flags_of(options))
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"cli_s": seconds, "cli_cpu_s": after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime}


def in_python(*arguments):
    environment = dict(os.environ, PYTHONPATH=str(PACKAGE))
    done = subprocess.run([sys.executable, HERE / "in_python.py", *map(str, arguments)], capture_output=True, text=True,
                          env=environment, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def turns_of(model, folder, config):
    """Both ways in turns, each in a process of its own; the first turn warms the caches of files and is left out."""
    turns = []
    for turn in range(config["turns"] + 1):
        ways = [lambda: on_command_line(model, folder / "cli.onnx", config["options"]),
                lambda: in_python("optimize", model, folder / "python.onnx", arguments_of(config["options"]))]
        measured = {}
        for way in ways if turn % 2 == 0 else reversed(ways):
            measured.update(way())
        turns.append(measured)
    if (folder / "cli.onnx").read_bytes() != (folder / "python.onnx").read_bytes():
        raise RuntimeError(f"{model}: Python and the command line wrote different models")
    return turns[1:]


def compare(table, name, folder, config):
    model = folder / f"{name}.onnx"
    egret.run("zoo", name, "-o", model)
    turns = turns_of(model, folder, config)
    median = {key: statistics.median(turn[key] for turn in turns)
              for key in ("cli_s", "python_s", "cli_cpu_s", "python_cpu_s", "import_s")}
    ratio = {f"{part}ratio": statistics.median(turn[f"python_{part}s"] / turn[f"cli_{part}s"] for turn in turns)
             for part in ("", "cpu_")}
    table.add(what="optimize", model=name, turns=len(turns),
              **{key: f"{value:.4f}" for key, value in {**median, **ratio}.items()})


def extract(table, folder, config):
    name = config["e_graph"]
    model = folder / f"{name}.onnx"
    egret.run("zoo", name, "-o", model)
    answer = in_python("extract", model, config["limit_nodes"])
    table.add(what="extractor", model=name, turns=1, python_s=f"{answer['python_s']:.4f}", nodes=answer["nodes"],
              import_s=f"{answer['import_s']:.4f}")


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = {**forms, **forms[mode]}
    table = results.Table("python-package", mode, COLUMNS, ["what", "model"],
                          {"egret": egret.version(), "options": json.dumps(config["options"])})
    with tempfile.TemporaryDirectory() as folder:
        for name in config["models"]:
            if not table.has(what="optimize", model=name):
                compare(table, name, pathlib.Path(folder), config)
        if not table.has(what="extractor", model=config["e_graph"]):
            extract(table, pathlib.Path(folder), config)
    table.finish()
    table.print()
    extractor = next(row for row in table.rows if row["what"] == "extractor")
    pairs = [row for row in table.rows if row["what"] == "optimize"]
    return results.judge(HERE / "expected.json", mode, {
        "largest_ratio": max(float(row["ratio"]) for row in pairs),
        "extractor_nodes": int(extractor["nodes"]),
        "extractor_s": float(extractor["python_s"]),
        "import_s": statistics.median(float(row["import_s"]) for row in pairs),
    })


if __name__ == "__main__":
    sys.exit(main())
