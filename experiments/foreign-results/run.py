# SPDX-License-Identifier: Apache-2.0
"""What onnxsim, OnnxSlim and ONNX Runtime (extended level, offline) make of models: proven equal by `egret verify`,
undecided, or different."""
import pathlib
import subprocess
import sys
import time

from lib import egret, models, results, settings

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["model", "tool", "verdict", "nodes", "after", "values", "same", "by_rules", "folded", "unused_inputs",
           "difference", "open", "tool_s", "verify_s", "note", "egret"]
# Each in a process of its own: a tool that fails ends that alone.
TOOLS = {
    "onnxsim": "import onnx, onnxsim, sys; "
               "made, ok = onnxsim.simplify(onnx.load(sys.argv[1])); onnx.save(made, sys.argv[2])",
    "onnxslim": "import onnx, onnxslim, sys; onnx.save(onnxslim.slim(sys.argv[1]), sys.argv[2])",
    "onnxruntime": "import onnxruntime as o, sys; s = o.SessionOptions(); s.optimized_model_filepath = sys.argv[2]; "
                   "s.graph_optimization_level = o.GraphOptimizationLevel.ORT_ENABLE_EXTENDED; "
                   "s.log_severity_level = 3; "
                   "o.InferenceSession(sys.argv[1], s, providers=['CPUExecutionProvider'])",
}
NODES = "import onnx, sys; print(len(onnx.load(sys.argv[1], load_external_data=False).graph.node))"


def python(code, *arguments, seconds):
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True,
                          timeout=seconds, check=False)


def nodes_of(path):
    return int(python(NODES, path, seconds=120).stdout or 0)


def row_of(path, tool, sizes, folder, config):
    made = folder / "made.onnx"
    made.unlink(missing_ok=True)
    start = time.monotonic()
    try:
        done = python(TOOLS[tool], path, made, seconds=config["tool_seconds"])
        error = done.stderr.strip().splitlines()[-1:] if not made.exists() else []
    except subprocess.TimeoutExpired:
        error = ["out of time"]
    seconds = time.monotonic() - start
    row = {"nodes": nodes_of(path), "tool_s": f"{seconds:.1f}"}
    if not made.exists() or error == ["out of time"]:
        return {**row, "verdict": "the tool failed", "note": "".join(error)[:200]}
    row["after"] = nodes_of(made)
    start = time.monotonic()
    try:
        proof = egret.call("verify", path, made, "--proof-time", config["proof_seconds"], *models.bind_flags(sizes),
                           accept=(0, 5, 6))
    except egret.EgretError as failure:
        return {**row, "verdict": "refused", "verify_s": f"{time.monotonic() - start:.1f}",
                "note": failure.stderr.strip().splitlines()[-1][:200]}
    return {**row, "verdict": proof["verdict"], "verify_s": f"{time.monotonic() - start:.1f}",
            **{name: proof[name] for name in ("values", "same", "by_rules", "folded", "difference")},
            "unused_inputs": len(proof["unused_inputs"]), "open": proof["open_value"]}


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = {**forms, **forms[mode]}
    table = results.Table("foreign-results", results.on_this_processor(mode), COLUMNS, ["model", "tool"], {})
    work = settings.WithinTime(config["models"])
    for name, path, sizes, folder in models.without_row(table, config, work, rows=len(TOOLS)):
        for tool in TOOLS:
            if not table.has(model=name, tool=tool):
                table.add(model=name, tool=tool, egret=egret.version(), **row_of(path, tool, sizes, folder, config))
    if work.left:
        return 0
    table.finish()
    table.print()
    verdicts = [row["verdict"] for row in table.rows]
    return results.judge(HERE / "expected.json", mode, {
        "pairs": len(verdicts), "proven": verdicts.count("proven"), "undecided": verdicts.count("undecided"),
        "different": verdicts.count("different"), "refused": verdicts.count("refused")})


if __name__ == "__main__":
    sys.exit(main())
