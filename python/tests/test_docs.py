# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of docs/python.md, one after the other."""

import pathlib
import re

import onnx
import pytest

PAGE = next(
    path
    for path in (
        pathlib.Path(__file__).parents[2] / "docs" / "python.md",
        pathlib.Path(__file__).parents[2] / "python.md",
    )
    if path.is_file()
)
BLOCK = re.compile(r"^(<!-- needs torch -->\n)?^```python\n(.*?)^```$", re.M | re.S)


def blocks():
    text = PAGE.read_text()
    for match in BLOCK.finditer(text):
        line = text[: match.start(2)].count("\n")
        yield match.group(1) is not None, "\n" * line + match.group(2)


def test_examples_of_the_page(wasteful, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    onnx.save(wasteful, "model.onnx")
    names = {}
    ran = 0
    for needs_torch, code in blocks():
        if needs_torch:
            continue
        exec(compile(code, str(PAGE), "exec"), names)
        ran += 1
    assert ran >= 9
    assert "rewritten" in capsys.readouterr().out


@pytest.mark.filterwarnings("default")
def test_examples_with_torch():
    pytest.importorskip("torch")
    for needs_torch, code in blocks():
        if needs_torch:
            exec(compile(code, str(PAGE), "exec"), {})
