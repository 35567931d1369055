#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of a Markdown page and compares what they print with what the page shows.

    scripts/run_examples.py [--show] PAGE.md [FOLDER]

The blocks run in their order in FOLDER, or in a temporary folder, which stands for the root of a clone:
it has a link to experiments/. `egret` and the package are those of build/release (EGRET_BUILD names another
build), or else those of the Python that runs this script.

    ```sh       run by bash; a failing command ends the page
    ```python   run in one session for all blocks of the page
    ```text     what the block before it prints

A comment directly before a block changes this:

    <!-- file: NAME -->        the block is a file, written into the folder
    <!-- not run: REASON -->   the block is not run
    <!-- exit: CODE -->        the commands of the block end with this code
    <!-- varies: REASON -->    only the first words of the shown lines must occur, in this order
    <!-- needs: PACKAGE ... -->   anywhere: Python packages without which the page is skipped (exit code 77)

--show prints what each block prints. Numbers and the units of times and sizes may differ from those shown, and so may the width of columns. The
text "..." stands for any text within a line, and alone on a line for any lines.
"""

import contextlib
import dataclasses
import importlib.util
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("EGRET_BUILD", ROOT / "build" / "release"))
SKIPPED = 77

BLOCK = re.compile(r"(?:^<!-- (?P<mark>file|not run|exit|varies)(?:: (?P<value>[^\n]*?))? -->\n)?"
                   r"^```(?P<language>[\w+-]*)[^\n]*\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS = re.compile(r"<!-- needs: ([^\n]*?) -->")
DIGITS = r"\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?"  # a comma after a number is no part of it
NUMBER = re.compile(rf"(?<![\w.])[-+]?{DIGITS}x?|{DIGITS}")
UNIT = re.compile(r"# (?:ns|us|ms|s|min|h|B|KB|MB|GB|KiB|MiB|GiB)\b")


class Fault(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Block:
    line: int      # of its first line in the page
    language: str
    body: str
    mark: str      # of the comment before it, or ""
    value: str


def blocks(text):
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("body")) + 1
        yield Block(line, match["language"], match["body"], match["mark"] or "", match["value"] or "")


def comparable(line):
    """A line without what may differ: numbers, units, and the width of columns and rules."""
    line = re.sub(r"-{3,}", "---", " ".join(line.split()))
    return UNIT.sub("# s", NUMBER.sub("#", line))


def pattern(line):
    return re.compile(".*".join(re.escape(part) for part in comparable(line).split("...")))


def matches_at(shown, printed, at):
    return at + len(shown) <= len(printed) and all(
        pattern(line).fullmatch(comparable(printed[at + i])) for i, line in enumerate(shown))


def compare(shown, printed):
    """Raises a Fault unless the printed lines are the shown ones, with any lines for each "..."."""
    parts = [[]]
    for line in shown:
        if line.strip() == "...":
            parts.append([])
        else:
            parts[-1].append(line)
    at = 0
    for i, part in enumerate(parts):
        first, last = i == 0, i == len(parts) - 1
        places = range(at, len(printed) - len(part) + 1)
        if last and not first:
            places = [max(at, len(printed) - len(part))]
        elif first:
            places = [0]
        at = next((place + len(part) for place in places if matches_at(part, printed, place)), None)
        if at is None or (last and at != len(printed)):
            raise Fault("these lines are shown:\n" + "\n".join(part) + "\nand printed was:\n" + "\n".join(printed))


def first_word(line):
    return (comparable(line).split() or [""])[0]


def compare_first_words(shown, printed):
    words = iter(map(first_word, printed))
    for line in shown:
        word = first_word(line)
        if word not in ("", "...") and word not in words:
            raise Fault(f"no line begins with {word!r} in its place:\n" + "\n".join(printed))


def environment(folder):
    """The program and the package of the build, and costs of its own."""
    programs = [str(path) for path in (BUILD / "bin", ROOT / ".venv/bin") if path.is_dir()]
    programs.append(str(pathlib.Path(sys.executable).parent))
    packages = [str(BUILD / "python")] if (BUILD / "python").is_dir() else []
    return {**os.environ,
            "PATH": os.pathsep.join([*programs, os.environ["PATH"]]),
            "PYTHONPATH": os.pathsep.join(packages + [p for p in [os.environ.get("PYTHONPATH")] if p]),
            "MPLBACKEND": "Agg",
            "OMP_WAIT_POLICY": "passive",  # other tests use the processors, too
            "EGRET_COST_DB": str(folder / "costs.sqlite")}


class Session:
    """The state that the blocks of a page share."""

    def __init__(self, page, folder):
        self.page = page
        self.folder = folder
        self.environment = environment(folder)
        self.names = {"__name__": "__main__"}
        os.environ.update(self.environment)
        sys.path[:0] = self.environment["PYTHONPATH"].split(os.pathsep)

    def shell(self, block):
        """The lines that the commands print."""
        wanted = int(block.value) if block.mark == "exit" else 0
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", block.body], cwd=self.folder, text=True,
                              env=self.environment, capture_output=True, check=False)
        if done.returncode != wanted:
            raise Fault(f"exit code {done.returncode}, not {wanted}\n{done.stdout}{done.stderr}")
        return done.stdout.splitlines()

    def python(self, block):
        printed = io.StringIO()
        try:
            code = compile("\n" * (block.line - 1) + block.body, str(self.page), "exec")
            with contextlib.redirect_stdout(printed):
                exec(code, self.names)
        except Exception as error:
            raise Fault(f"{printed.getvalue()}{traceback.format_exc(limit=-2)}") from error
        return printed.getvalue().splitlines()

    def run(self, block):
        """The lines that a block prints; None if it is not run."""
        if block.mark == "not run":
            return None
        if block.mark == "file":
            path = self.folder / block.value
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.body)
            return None
        if block.language == "sh":
            return self.shell(block)
        return self.python(block) if block.language == "python" else None


def run_page(page, folder, report=lambda block, printed: None):
    """Runs the page; the number of blocks that ran and of outputs that were compared."""
    session = Session(page, folder)
    os.chdir(folder)
    if not (folder / "experiments").exists():
        (folder / "experiments").symlink_to(ROOT / "experiments")
    ran = compared = 0
    printed = None
    for block in blocks(page.read_text(encoding="utf-8")):
        try:
            if block.language == "text" and block.mark in ("", "varies"):
                if printed is not None:
                    shown = block.body.splitlines()
                    (compare_first_words if block.mark == "varies" else compare)(shown, printed)
                    compared += 1
                printed = None
                continue
            lines = session.run(block)
            if lines is not None:
                ran, printed = ran + 1, lines
                report(block, lines)
        except Fault as fault:
            raise Fault(f"{page}:{block.line}: {fault}") from fault
    return ran, compared


def missing_packages(page):
    names = " ".join(NEEDS.findall(page.read_text(encoding="utf-8"))).split()
    return [name for name in names if importlib.util.find_spec(name) is None]


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--show"]
    if not 1 <= len(arguments) <= 2 or arguments[0].startswith("-"):
        raise SystemExit(__doc__)
    page = pathlib.Path(arguments[0]).resolve()
    missing = missing_packages(page)
    if missing:
        print(f"{page}: skipped without {', '.join(missing)}")
        return SKIPPED

    def show(block, printed):
        print(f"--- line {block.line}", *printed, sep="\n", flush=True)

    with tempfile.TemporaryDirectory(prefix="egret-examples-") as temporary:
        folder = pathlib.Path(arguments[1] if len(arguments) > 1 else temporary).resolve()
        try:
            ran, compared = run_page(page, folder, show if "--show" in sys.argv else lambda block, printed: None)
        except Fault as fault:
            print(fault)
            return 1
    print(f"{page}: {ran} blocks ran, {compared} outputs compared")
    return 0


if __name__ == "__main__":
    sys.exit(main())
