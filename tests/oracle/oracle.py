# SPDX-License-Identifier: Apache-2.0
"""Models through `egret optimize`, compared with ONNX Runtime and ONNX's checker.

A test that lacks the Python environment or its data ends with SKIPPED.
"""

import concurrent.futures
import dataclasses
import os
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv/bin/python"


def skip(reason: str) -> None:
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


if pathlib.Path(sys.prefix).resolve() != (ROOT / ".venv").resolve() and PYTHON.exists():
    os.execv(PYTHON, [str(PYTHON), *sys.argv])  # the project's environment has the packages
try:
    import numpy
    import onnx
    import onnx.numpy_helper
    import onnxruntime
except ImportError as error:
    skip(f"{error} (scripts/setup.sh installs the Python environment)")
onnxruntime.set_default_logger_severity(4)


def read_tensor(path: pathlib.Path):
    """An array, or None for what is no tensor."""
    try:
        return onnx.numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))
    except Exception:  # a sequence or an optional value in the same kind of file
        return None


def run(model: pathlib.Path, inputs: dict, outputs=None):
    """Outputs of the model as it stands, in ONNX Runtime without its optimizations."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    known = {value.name for value in session.get_inputs()}
    return session.run(outputs, {name: value for name, value in inputs.items() if name in known})


def is_valid(model) -> bool:
    try:
        onnx.checker.check_model(model)
        return True
    except Exception:
        return False


def agree(a, b) -> bool:
    """Equal within the rounding of f32, or of the type if it has fewer digits."""
    if not isinstance(a, numpy.ndarray) or not isinstance(b, numpy.ndarray):
        return True  # sequences and optional values are not looked at
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind not in "fc":
        return bool(numpy.array_equal(a, b))
    wide = a.astype(numpy.float64)
    finite = numpy.abs(wide[numpy.isfinite(wide)])
    relative = 2e-2 if a.dtype.itemsize < 4 else 1e-3
    absolute = 1e-5 * max(1.0, float(finite.max()) if finite.size else 1.0)
    return bool(numpy.allclose(wide, b.astype(numpy.float64), rtol=relative, atol=absolute, equal_nan=True))


@dataclasses.dataclass
class Case:
    name: str
    model: pathlib.Path
    inputs: dict            # arrays by name; None: not known, so nothing is run
    expected: list | None   # by output; None: what ONNX Runtime computes of the original
    outputs: list | None = None
    may_grow: bool = False


def verdict(egret: str, case: Case) -> str:
    """"ok", "refused: ..." or what is wrong."""
    with tempfile.TemporaryDirectory(prefix="egret-oracle-") as folder:
        result = pathlib.Path(folder, "result.onnx")
        command = [egret, "optimize", str(case.model), "-o", str(result), "--oracle", "none", "--no-measure", "--quiet",
                   "--threads", "1", "--profile-time", "0", "--cost-db", f"{folder}/costs"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode not in (0, 5) or not result.exists():
            return f"refused: exit {done.returncode}, {done.stderr.strip()[-300:]}"
        before, after = onnx.load(case.model), onnx.load(result)
        if is_valid(before) and not is_valid(after):
            return "the result is not valid, the original is"
        if len(after.graph.node) > len(before.graph.node) and not case.may_grow:
            names = [node.op_type for node in after.graph.node]
            return f"{len(before.graph.node)} nodes became {len(names)}: {names}"
        if case.inputs is None:
            return "ok"
        try:
            expected = case.expected or run(case.model, case.inputs, case.outputs)
        except Exception:
            return "ok"  # ONNX Runtime does not take the original
        try:
            got = run(result, case.inputs, case.outputs)
        except Exception as error:
            try:
                run(case.model, case.inputs, case.outputs)
            except Exception:
                return "ok"  # nor the original
            return f"ONNX Runtime refuses the result: {str(error)[:300]}"
        wrong = [i for i, (a, b) in enumerate(zip(expected, got)) if not agree(a, b)]
        return f"outputs {wrong} differ" if wrong else "ok"


def check(cases: list, known: dict) -> None:
    """Checks all cases. `known`: by name, the beginning of another verdict than "ok", with a reason."""
    egret = sys.argv[1]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = dict(zip([case.name for case in cases], pool.map(lambda case: verdict(egret, case), cases)))
    failures = []
    for name, text in verdicts.items():
        wanted = known.get(name, ("ok", ""))[0]
        if not text.startswith(wanted) or (wanted == "ok" and text != "ok"):
            failures.append(f"{name}: {text} (expected: {wanted})")
    print("\n".join(failures))
    print(f"{len(cases)} models, {len(failures)} failures, {len(known)} known differences")
    sys.exit(1 if failures or not cases else 0)
