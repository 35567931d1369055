# SPDX-License-Identifier: Apache-2.0
"""The command line program `egret`, which the package holds: python -m egret ..."""

from __future__ import annotations

import os
import pathlib
import sys


def program() -> pathlib.Path:
    """The program beside this package: in a wheel, or in a build folder."""
    package = pathlib.Path(__file__).parent.absolute()
    for path in (package / "bin" / "egret", package.parents[1] / "bin" / "egret"):
        if path.is_file():
            return path
    raise FileNotFoundError("the program egret is not beside the package egret; build the target egret")


def main() -> None:
    path = str(program())
    # Engines run in the program `python3`: this one, with its packages, where the environment is not activated, too.
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join([str(pathlib.Path(sys.executable).parent), *folders])
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
