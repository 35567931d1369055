# SPDX-License-Identifier: Apache-2.0
"""The environments of TVM, IREE and PyTorch 2.

    .venv/bin/python experiments/inference-cpu/compilers.py

installs them from the Python registry (1.1 GB, and 4 GB for PyTorch), each into an environment of its own below
build/peers, in the versions of requirements-NAME.txt. Experiments compare with those that they find there. Names choose
some of them: `compilers.py torch`.
"""
import pathlib
import subprocess
import sys
import venv

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from lib import compilers  # noqa: E402  (from the folder of experiments)


# PyTorch for CPUs alone is not in the registry. The list has what it needs to run on one, and leaves out the compilers for
# GPUs that its package asks for.
WITHOUT_DEPENDENCES = {"torch": ["--no-deps"]}


def install(names):
    for name in names:
        if compilers.version(name) == "not installed":
            venv.create(compilers.ENVIRONMENTS / name, with_pip=True)
            subprocess.run([compilers.interpreter(name), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                            *WITHOUT_DEPENDENCES.get(name, []), "-r", HERE / f"requirements-{name}.txt"], check=True)
            compilers.version.cache_clear()
        print(f"{name} {compilers.version(name)} in {compilers.ENVIRONMENTS / name}")


if __name__ == "__main__":
    install(sys.argv[1:] or compilers.PACKAGES)
