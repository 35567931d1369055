# SPDX-License-Identifier: Apache-2.0
"""Gradients of `egret grad` against JAX's, by running the step in ONNX Runtime and in Egret's CPU backend."""
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

from lib import egret, results, settings

import networks
import onnx_forms

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["network", "parameter", "numbers", "norm", "error", "forward_operators", "operators"]
RATE = 1024.0  # the gradient is (parameter - next) / rate; a power of two divides exactly


def step_of(name, folder):
    model, step = folder / f"{name}.onnx", folder / f"{name}-step.onnx"
    onnx.save(onnx_forms.model(name), model)
    answer = egret.call("grad", model, "--loss", networks.LOSSES[name], "--optimizer", "sgd", "--lr", RATE, "-o", step)
    egret.run("run", "--check", step)
    return step, answer


def gradients(step, name):
    x, labels = networks.data(name)
    given = {"x": x.astype(np.int64) if x.dtype.kind == "i" else x, **networks.parameters(name)}
    given["labels"] = labels.astype(np.int64) if labels.dtype.kind == "i" else labels
    session = onnxruntime.InferenceSession(str(step), providers=["CPUExecutionProvider"])
    outputs = dict(zip([o.name for o in session.get_outputs()], session.run(None, given)))
    loss = outputs.pop("loss")
    return loss, {k.removesuffix(".next"): (given[k.removesuffix(".next")] - v) / RATE for k, v in outputs.items()}


def main():
    mode, forms = settings.read(__doc__, HERE)
    reference = np.load(HERE / "reference.npz")
    table = results.Table("gradients", mode, COLUMNS, ["network", "parameter"],
                          {"egret": egret.version(), "jax": str(reference["jax_version"]),
                           "onnxruntime": onnxruntime.__version__})
    worst = loss_error = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name in forms[mode]["networks"]:
            step, answer = step_of(name, pathlib.Path(folder))
            loss, found = gradients(step, name)
            loss_error = max(loss_error, abs(loss / reference[f"{name}/loss"] - 1))
            assert set(found) == set(networks.NETWORKS[name])
            for parameter, gradient in sorted(found.items()):
                expected = reference[f"{name}/{parameter}"]
                norm = np.linalg.norm(expected)
                error = np.linalg.norm(gradient - expected) / norm
                worst = max(worst, error)
                if not table.has(network=name, parameter=parameter):
                    table.add(network=name, parameter=parameter, numbers=gradient.size, norm=f"{norm:.4g}",
                              error=f"{error:.2g}", forward_operators=answer["operators_forward"],
                              operators=answer["operators"])
    table.finish()
    table.print()
    print(f"largest relative error of a gradient {worst:.2g}, of a loss {loss_error:.2g}")
    return results.judge(HERE / "expected.json", mode,
                         {"largest_error": worst, "loss_error": loss_error, "parameters": len(table.rows)})


if __name__ == "__main__":
    sys.exit(main())
