#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows the recipes docs/adding_*.md in a copy of the sources.

What is added is the page's first C++ block. One file and one row are added to the copy, nothing
else; then a program that uses it (RECIPE/check.cc) is built on top of it and run.
Usage: follow_recipe.py RECIPE [FOLDER]   keeps the copy in FOLDER; otherwise it is removed.
"""

import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass(frozen=True)
class Recipe:
    needed: list[str]  # folders that the program is built from
    returns: str       # the type that the page's function returns
    folder: str        # where the file goes
    rows: str          # where the row goes
    macro: str


RECIPES = {
    "adding_an_operator": Recipe(["base", "ir", "frontends"], "Operator", "ir/ops",
                                 "ir/ops/operators.def", "EGRET_OPERATOR"),
    "adding_a_scheduler": Recipe(["base", "egraph"], "SchedulerRow", "egraph/schedulers",
                                 "egraph/schedulers/schedulers.def", "EGRET_SCHEDULER"),
    "adding_an_extractor": Recipe(["base", "egraph", "extract"], "ExtractorRow", "extract/extractors",
                                  "extract/extractors/extractors.def", "EGRET_EXTRACTOR"),
}


def addition_of_page(name: str, recipe: Recipe) -> tuple[str, str]:
    page = (ROOT / f"docs/{name}.md").read_text()
    code = re.search(r"```cpp\n(.*?)```", page, re.DOTALL).group(1)
    return re.search(rf"^{recipe.returns} (\w+)\(\)", code, re.MULTILINE).group(1), code


def add(copy: pathlib.Path, recipe: Recipe, name: str, code: str) -> None:
    new = copy / recipe.folder / f"{name}.cc"
    assert not new.exists(), f"{new} exists already"
    new.write_text(code)
    rows = copy / recipe.rows
    rows.write_text(rows.read_text() + f"{recipe.macro}({name})\n")


def build_and_run(recipe: str, copy: pathlib.Path) -> None:
    # The folder, the flags and CCACHE_BASEDIR let ccache find what the usual build has compiled, if
    # that was given its root as CCACHE_BASEDIR.
    build = copy / "build/release"
    environment = {**os.environ, "CCACHE_BASEDIR": str(copy)}
    configure = [
        "cmake", "-G", "Ninja", "-S", str(ROOT / "tests/recipes" / recipe),
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
    chosen = sys.argv[1]
    recipe = RECIPES[chosen]
    with tempfile.TemporaryDirectory(prefix="egret-recipe-") as temporary:
        folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else temporary)
        copy = folder / "egret"
        for needed in ["CMakeLists.txt", "cmake", *recipe.needed]:
            source = ROOT / needed
            copy.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, copy / needed)
            else:
                shutil.copy2(source, copy / needed)
        name, code = addition_of_page(chosen, recipe)
        add(copy, recipe, name, code)
        build_and_run(chosen, copy)
    print(f"one file and one row made {name}")


if __name__ == "__main__":
    main()
