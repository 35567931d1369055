# SPDX-License-Identifier: Apache-2.0
"""The environments of TVM and IREE.

    .venv/bin/python experiments/inference-cpu/compilers.py

installs both from the Python registry (1.1 GB), each into an environment of its own below build/peers, in the versions
of requirements-NAME.txt. The experiment compares with those that it finds there.
"""
import pathlib
import subprocess
import sys
import venv

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from lib import compilers  # noqa: E402  (from the folder of experiments)


def install():
    for name in compilers.COMPILERS:
        if compilers.version(name) == "not installed":
            venv.create(compilers.ENVIRONMENTS / name, with_pip=True)
            subprocess.run([compilers.interpreter(name), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                            "-r", HERE / f"requirements-{name}.txt"], check=True)
            compilers.version.cache_clear()
        print(f"{name} {compilers.version(name)} in {compilers.ENVIRONMENTS / name}")


if __name__ == "__main__":
    install()
