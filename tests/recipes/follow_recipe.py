#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows the recipes docs/adding_*.md in a copy of the sources.

A recipe changes the copy in one of two ways:

- registration: the page's first C++ block is a new file, and one row in a table registers it;
- marked blocks: a block below the comment "<!-- file: PATH -->" is a new file, and each diff block
  edits the file that its "+++ b/PATH" line names. Hunks begin with "@@" and carry no line numbers: the
  lines of a hunk that are context or removed must occur exactly once in the file. The lines of a hunk
  that only adds are appended.

Nothing else is changed. Then a program that uses the addition (RECIPE/check.cc) is built on top of the
copy and run.
Usage: follow_recipe.py RECIPE [FOLDER]   keeps the copy in FOLDER; otherwise it is removed
       follow_recipe.py --only-change RECIPE FOLDER   makes the changed copy and builds nothing
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
class Registration:
    returns: str       # the type that the page's function returns
    folder: str        # of the new file
    rows: str          # the table with the new row
    macro: str
    suffix: str = ""   # of the function's name, beyond the name in the row


@dataclasses.dataclass(frozen=True)
class Recipe:
    needed: list[str]  # folders that the program is built from
    libraries: list[str]  # that the program uses
    registration: Registration | None = None  # None: the page marks its blocks
    options: list[str] = dataclasses.field(default_factory=list)  # of CMake


PARALLEL = ["base", "ir", "egraph", "verifier", "cost", "rules", "extract", "parallel"]

RECIPES = {
    "adding_an_operator": Recipe(
        ["base", "ir", "frontends"], ["frontends", "ir"],
        Registration("Operator", "ir/ops/reductions", "ir/ops/operators.def", "EGRET_OPERATOR")),
    "adding_a_scheduler": Recipe(
        ["base", "egraph"], ["egraph"],
        Registration("SchedulerRow", "egraph/schedulers", "egraph/schedulers/schedulers.def",
                     "EGRET_SCHEDULER")),
    "adding_an_extractor": Recipe(
        ["base", "egraph", "extract"], ["extract"],
        Registration("ExtractorRow", "extract/extractors", "extract/extractors/extractors.def",
                     "EGRET_EXTRACTOR"),
        # Without a solver of integer programs, which Egret must do without as well.
        ["-DHIGHS_LIBRARY=", "-DCBC_LIBRARY="]),
    "adding_a_verb": Recipe(
        [*PARALLEL, "backends", "frontends", "runtime", "zoo", "driver", "tools", "LICENSE"],
        ["tools"],
        Registration("Verb", "tools/verbs", "tools/frame/verbs.def", "EGRET_VERB", "_verb")),
    "adding_a_kernel": Recipe(["base", "ir", "backends"], ["backends", "ir"]),
    "adding_a_fusion": Recipe(["base", "ir", "backends"], ["backends", "ir"]),
    "adding_a_backend": Recipe(["base", "ir", "backends"], ["backends", "ir"]),
    "adding_a_machine_preset": Recipe(PARALLEL, ["parallel"]),
    "adding_a_collective": Recipe([*PARALLEL, "backends", "frontends", "runtime"],
                                  ["runtime", "parallel"]),
}


def write_new(path: pathlib.Path, text: str) -> None:
    assert not path.exists(), f"{path} exists already"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def register(copy: pathlib.Path, registration: Registration, page: str) -> list[str]:
    code = re.search(r"```cpp\n(.*?)```", page, re.DOTALL).group(1)
    function = re.search(rf"^{registration.returns} (\w+)\(\)", code, re.MULTILINE).group(1)
    name = function.removesuffix(registration.suffix)
    new = f"{registration.folder}/{name}.cc"
    write_new(copy / new, code)
    rows = copy / registration.rows
    rows.write_text(rows.read_text() + f"{registration.macro}({name})\n")
    return [new, registration.rows]


def edited(text: str, hunk: list[str], path: str) -> str:
    before = "".join(line[1:] + "\n" for line in hunk if not line.startswith("+"))
    after = "".join(line[1:] + "\n" for line in hunk if not line.startswith("-"))
    if not before:
        return text + after
    lines = "\n" + text
    count = lines.count("\n" + before)
    if count != 1:
        sys.exit(f"{path} has these lines {count} times, not once:\n{before}")
    return lines.replace("\n" + before, "\n" + after)[1:]


def apply_diff(copy: pathlib.Path, diff: str) -> str:
    path, hunks = "", []
    for line in diff.splitlines():
        if line.startswith("+++ b/"):
            path = line.removeprefix("+++ b/")
        elif line.startswith("@@"):
            hunks.append([])
        elif hunks:
            hunks[-1].append(line or " ")
    text = (copy / path).read_text()
    for hunk in hunks:
        text = edited(text, hunk, path)
    (copy / path).write_text(text)
    return path


def apply_marked(copy: pathlib.Path, page: str) -> list[str]:
    changed = []
    for path, text in re.findall(r"^<!-- file: (\S+) -->\n```\w*\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        write_new(copy / path, text)
        changed.append(path)
    for diff in re.findall(r"^```diff\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        changed.append(apply_diff(copy, diff))
    assert changed, "the page marks no block"
    return changed


def copy_sources(recipe: Recipe, folder: pathlib.Path) -> pathlib.Path:
    copy = folder / "egret"
    copy.mkdir(parents=True, exist_ok=True)
    for needed in ["CMakeLists.txt", "cmake", *recipe.needed]:
        source = ROOT / needed
        if source.is_dir():
            shutil.copytree(source, copy / needed)
        else:
            shutil.copy2(source, copy / needed)
    return copy


def make_copy(chosen: str, folder: pathlib.Path) -> tuple[pathlib.Path, list[str]]:
    """A copy of the sources with the changes of the page, and the files that it changed."""
    recipe = RECIPES[chosen]
    copy = copy_sources(recipe, folder)
    page = (ROOT / f"docs/{chosen}.md").read_text()
    if recipe.registration is not None:
        return copy, register(copy, recipe.registration, page)
    return copy, apply_marked(copy, page)


def run_all(commands: list[list[str]], environment: dict[str, str]) -> None:
    for command in commands:
        done = subprocess.run(command, env=environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stdout[-4000:]}\nfailed ({done.returncode})")


def environment_of(copy: pathlib.Path) -> dict[str, str]:
    # The folder, the flags and CCACHE_BASEDIR let ccache find what the usual build has compiled, if
    # that was given its root as CCACHE_BASEDIR.
    return {**os.environ, "CCACHE_BASEDIR": str(copy)}


def build_and_run(recipe: str, copy: pathlib.Path) -> None:
    build = copy / "build/release"
    configure = [
        "cmake", "-G", "Ninja", "-S", str(ROOT / "tests/recipes/check"),
        "-B", str(build), f"-DEGRET_COPY={copy}", f"-DEGRET_RECIPE={recipe}",
        f"-DEGRET_LIBRARIES={';'.join(f'egret::{name}' for name in RECIPES[recipe].libraries)}",
        "-DCMAKE_BUILD_TYPE=Release", "-DEGRET_WERROR=ON", *RECIPES[recipe].options,
    ]
    if shutil.which("ccache"):
        configure.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
    jobs = str(min(2, os.cpu_count() or 1))
    run_all([configure, ["cmake", "--build", str(build), "--target", "check", "-j", jobs], [str(build / "check")]],
            environment_of(copy))


def main() -> None:
    arguments = sys.argv[1:]
    builds = arguments[0] != "--only-change"
    chosen, *folders = arguments if builds else arguments[1:]
    with tempfile.TemporaryDirectory(prefix="egret-recipe-") as temporary:
        copy, changed = make_copy(chosen, pathlib.Path(folders[0] if folders else temporary))
        if builds:
            build_and_run(chosen, copy)
    print(f"{chosen}: {', '.join(changed)}")


if __name__ == "__main__":
    main()
