#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows docs/tutorials/operator.md: adds its operator to a copy of the sources, builds the program there, and
runs the commands of the page with it.

Usage: operator_tutorial.py [--show] [FOLDER]   keeps the copy in FOLDER; otherwise it is removed
"""

import os
import pathlib
import shutil
import sys
import tempfile

import follow_recipe

ROOT = follow_recipe.ROOT
PAGE = ROOT / "docs/tutorials/operator.md"
SOURCES = follow_recipe.Recipe(
    needed=[*follow_recipe.PARALLEL, "backends", "frontends", "runtime", "zoo", "driver", "tools", "LICENSE"],
    libraries=[])


def main() -> None:
    arguments = [argument for argument in sys.argv[1:] if argument != "--show"]
    python = ROOT / ".venv/bin/python"
    run = [str(python) if python.exists() else sys.executable, str(ROOT / "scripts/run_examples.py"), str(PAGE)]
    jobs = str(min(2, os.cpu_count() or 1))
    with tempfile.TemporaryDirectory(prefix="egret-tutorial-") as temporary:
        copy = follow_recipe.copy_sources(SOURCES, pathlib.Path(arguments[0] if arguments else temporary))
        changed = follow_recipe.apply_marked(copy, PAGE.read_text())
        build = copy / "build/release"
        configure = ["cmake", "-G", "Ninja", "-S", str(copy), "-B", str(build), "-DCMAKE_BUILD_TYPE=Release",
                     "-DEGRET_TESTS=OFF", "-DEGRET_PYTHON=OFF", "-DEGRET_WERROR=ON"]
        if shutil.which("ccache"):
            configure.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
        environment = {**follow_recipe.environment_of(copy), "EGRET_BUILD": str(build)}
        follow_recipe.run_all([configure, ["cmake", "--build", str(build), "--target", "egret", "-j", jobs]],
                              environment)
        if "--show" in sys.argv:
            os.environ.update(environment)
            os.execv(run[0], [*run[:2], "--show", run[2]])
        follow_recipe.run_all([run], environment)
    print(f"operator tutorial: {', '.join(changed)}")


if __name__ == "__main__":
    main()
