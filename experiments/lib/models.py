# SPDX-License-Identifier: Apache-2.0
"""Models by name: "zoo:NAME", "data:FILE" (bundled), "shared:FILE"."""
import contextlib
import pathlib
import tempfile

from lib import egret

EXPERIMENTS = pathlib.Path(__file__).resolve().parents[1]


def locate(model, folder, batch=1):
    """Its file; of the zoo, built in `folder` for this batch. None where a shared one is absent."""
    kind, name = model.split(":", 1)
    if kind == "data":
        return EXPERIMENTS / "data" / name
    if kind == "shared":
        path = egret.SHARED / "models" / name
        return path if path.exists() else None
    path = pathlib.Path(folder) / f"{name}.onnx"
    egret.call("zoo", name, "--batch", batch, "-o", path)
    return path


@contextlib.contextmanager
def located(model, folder):
    """The model's file for a while: those of the zoo are large."""
    path = locate(model, folder)
    yield path
    if path is not None and path.parent == pathlib.Path(folder):
        path.unlink()


def without_row(table, config, work=None, rows=1):
    """Each model of `config` (or of `work`, settings.WithinTime) that the table has fewer rows of: its name, its file,
    the sizes bound in it, and a folder for what is made of it. Says which are not there."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for model in config["models"] if work is None else work:
            name = model.split(":", 1)[1]
            if sum(row["model"] == name for row in table.rows) >= rows:
                continue
            with located(model, folder) as path:
                if path is None:
                    print(f"{name}: left out, there is no such file")
                else:
                    yield name, path, config["bind"].get(model, {}), folder


def bind_flags(sizes):
    """Sizes of symbolic dimensions, as flags."""
    return [flag for name, size in sizes.items() for flag in ("--bind", f"{name}={size}")]
