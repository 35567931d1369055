#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows docs/adding_a_scheduler.md in a copy of the sources.

The scheduler is the page's first C++ block. One file and one row are added to the copy, nothing else;
then a program that uses it (adding_a_scheduler/check.cc) is built on top of it and run.
Usage: adding_a_scheduler_test.py [FOLDER]   keeps the copy in FOLDER; otherwise it is removed.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEEDED = ["CMakeLists.txt", "cmake", "base", "egraph"]  # what the program is built from


def scheduler_of_page() -> tuple[str, str]:
    page = (ROOT / "docs/adding_a_scheduler.md").read_text()
    code = re.search(r"```cpp\n(.*?)```", page, re.DOTALL).group(1)
    return re.search(r"^SchedulerRow (\w+)\(\)", code, re.MULTILINE).group(1), code


def add_scheduler(copy: pathlib.Path, name: str, code: str) -> None:
    new = copy / "egraph/schedulers" / f"{name}.cc"
    assert not new.exists(), f"{new} exists already"
    new.write_text(code)
    rows = copy / "egraph/schedulers/schedulers.def"
    rows.write_text(rows.read_text() + f"EGRET_SCHEDULER({name})\n")


def build_and_run(copy: pathlib.Path) -> None:
    # The folder, the flags and CCACHE_BASEDIR let ccache find what the usual build has compiled, if
    # that was given its root as CCACHE_BASEDIR.
    build = copy / "build/release"
    environment = {**os.environ, "CCACHE_BASEDIR": str(copy)}
    configure = [
        "cmake", "-G", "Ninja", "-S", str(ROOT / "tests/recipes/adding_a_scheduler"),
        "-B", str(build), f"-DEGRET_COPY={copy}", "-DCMAKE_BUILD_TYPE=Release",
        "-DEGRET_WERROR=ON",
    ]
    if shutil.which("ccache"):
        configure.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
    jobs = str(min(2, os.cpu_count() or 1))
    for command in (configure, ["cmake", "--build", str(build), "--target", "check", "-j", jobs],
                    [str(build / "check")]):
        done = subprocess.run(command, env=environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stdout[-4000:]}\nfailed ({done.returncode})")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="egret-recipe-") as temporary:
        folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else temporary)
        copy = folder / "egret"
        for needed in NEEDED:
            source = ROOT / needed
            copy.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, copy / needed)
            else:
                shutil.copy2(source, copy / needed)
        name, code = scheduler_of_page()
        add_scheduler(copy, name, code)
        build_and_run(copy)
    print(f"one file and one row made {name}")


if __name__ == "__main__":
    main()
