#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks exported models with ONNX's checker and ONNX Runtime. Not part of the tests: it needs the
packages onnx and onnxruntime of experiments/requirements.txt.

    build/release/bin/conformance_tests --export /tmp/exported
    tests/conformance/check_with_onnxruntime.py /tmp/exported

Each model must pass onnx.checker; where ONNX Runtime runs the original on the test's data, it must
run the exported one too, with close outputs. Prints one line a failure and a summary; exits with 1
when there is a failure.
"""

import collections
import pathlib
import sys

import numpy
import onnx
import onnx.numpy_helper
import onnxruntime

DATA = pathlib.Path("/usr/lib/python3/dist-packages/onnx/backend/test/data")


def read(folder, stem):
    tensors = []
    while (path := folder / f"{stem}_{len(tensors)}.pb").exists():
        tensors.append(onnx.numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes())))
    return tensors


def run(path, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    if len(names) != len(inputs):
        raise RuntimeError(f"{len(names)} inputs, {len(inputs)} in the data")
    return session.run(None, dict(zip(names, inputs)))


def close(actual, expected):
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return False
    if actual.dtype.kind not in "fc":
        return numpy.array_equal(actual, expected)
    return numpy.allclose(actual, expected, rtol=1e-3, atol=1e-5, equal_nan=True)


def check(path):
    """"ok", "unknown" when ONNX Runtime cannot run the original, or what is wrong."""
    suite, name = path.name.removesuffix(".onnx").split(".", 1)
    folder = DATA / suite / name
    try:
        onnx.checker.check_model(onnx.load(path), full_check=True)
    except Exception as error:
        return "checker: " + " ".join(str(error).split())[:300]
    fixed = {int(line) for line in pathlib.Path(str(path) + ".fixed").read_text().split()}
    inputs = read(folder / "test_data_set_0", "input")
    kept = [tensor for i, tensor in enumerate(inputs) if i not in fixed]
    expected = read(folder / "test_data_set_0", "output")
    try:
        actual = run(path, kept)
    except Exception as error:
        try:
            run(folder / "model.onnx", inputs)
        except Exception:
            return "unknown"
        return "runtime: " + " ".join(str(error).split())[:300]
    if not all(map(close, actual, expected)):
        # Some of ONNX's data is disputed; then the original decides.
        expected = run(folder / "model.onnx", inputs)
    bad = [i for i, pair in enumerate(zip(actual, expected, strict=True)) if not close(*pair)]
    return f"outputs {bad} differ" if bad else "ok"


def main():
    counts = collections.Counter()
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.onnx")):
        result = check(path)
        kind = result if result in ("ok", "unknown") else "failed"
        counts[kind] += 1
        if kind == "failed":
            print(f"{path.name}: {result}")
    print(f"exported models: {counts['ok']} ok, {counts['failed']} failed, "
          f"{counts['unknown']} that ONNX Runtime cannot run in either form")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
