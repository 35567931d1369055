# SPDX-License-Identifier: Apache-2.0
"""Benchmark models in ONNX Runtime, before and after `egret optimize --engine onnxruntime`, beside the files of onnxsim
and OnnxSlim."""
import pathlib
import sys
import tempfile

import onnxruntime

from lib import deployed, egret, results, settings

HERE = pathlib.Path(__file__).resolve().parent


def files(config, folder):
    """(name, where it is from, path) of each model; files of the zoo are made when they are asked for."""
    for name in config["zoo"]:
        yield name, "zoo", folder / f"{name}.onnx"
    for path in config["shared"]:
        yield pathlib.PurePosixPath(path).stem, "shared", egret.SHARED / path


def main():
    mode, config = settings.read(__doc__, HERE)
    config = {**config, **config[mode]}
    table = results.Table("inference-engines", results.on_this_processor(mode), deployed.COLUMNS, ["model"],
                          {"egret": egret.version(), "onnxruntime": onnxruntime.__version__, "threads": config["threads"]})
    with tempfile.TemporaryDirectory() as folder:
        for name, source, path in settings.WithinTime(files(config, pathlib.Path(folder))):
            if table.has(model=name):
                continue
            if source == "zoo":
                egret.run("zoo", name, "-o", path)
            elif not path.exists():
                print(f"{name}: {path} is not there; left out")
                continue
            deployed.add_row(table, name, source, {"sizes": [{}]}, path, config)
            if source == "zoo":
                for part in path.parent.glob(f"{path.name}*"):  # the weights of large models are beside it
                    part.unlink()
    return deployed.judge(table, HERE / "expected.json", mode, config)


if __name__ == "__main__":
    sys.exit(main())
