# SPDX-License-Identifier: Apache-2.0
"""Benchmark models in ONNX Runtime, before and after `egret optimize --engine onnxruntime`, beside the files of onnxsim
and OnnxSlim."""
import pathlib
import sys
import tempfile

from lib import deployed, egret

HERE = pathlib.Path(__file__).resolve().parent


def main():
    run = deployed.Deployed("inference-engines", __doc__, HERE)
    models = ([(name, "zoo", name) for name in run.config["zoo"]] +
              [(pathlib.PurePosixPath(path).stem, "shared", path) for path in run.config["shared"]])
    missing = run.missing(models)
    for name, source, place in missing:
        with tempfile.TemporaryDirectory() as folder:
            path = egret.SHARED / place
            if source == "zoo":  # large ones have their weights in a file beside them
                path = pathlib.Path(folder) / f"{name}.onnx"
                egret.run("zoo", name, "-o", path)
            elif not path.exists():
                print(f"{name}: {path} is not there; left out")
                continue
            run.measure(name, source, {"sizes": [{}]}, path)
    return 0 if missing.left else run.judge()


if __name__ == "__main__":
    sys.exit(main())
