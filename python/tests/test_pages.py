# SPDX-License-Identifier: Apache-2.0
"""Runs the commands and the Python of README, getting started, concepts and the tutorials, and compares what
they print with the pages. scripts/run_examples.py says how."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
RUNNER = ROOT / "scripts" / "run_examples.py"
NAMES = ["README.md", "docs/getting_started.md", "docs/concepts.md"]
NAMES += sorted(
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "docs" / "tutorials").glob("*.md")
    if path.name not in ("index.md", "operator.md")  # operator: tests/recipes builds it
)

pytestmark = pytest.mark.skipif(not RUNNER.is_file(), reason="the pages are those of a clone")


@pytest.mark.parametrize("name", NAMES)
def test_a_page_prints_what_it_shows(name, tmp_path):
    done = subprocess.run(
        [sys.executable, str(RUNNER), str(ROOT / name), str(tmp_path)],
        capture_output=True,
        text=True,
    )
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr


def test_pages_are_found():
    assert len(NAMES) >= 8


def test_commands_of_all_pages_exist():
    checker = ROOT / "scripts" / "check_commands.py"
    program = ROOT / "build" / "release" / "bin" / "egret"
    if not program.is_file():
        pytest.skip("needs the program of build/release")
    done = subprocess.run([sys.executable, str(checker)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_pictures_of_concepts_are_those_of_the_engine():
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "draw_pictures.py"), "--check"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
