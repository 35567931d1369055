# SPDX-License-Identifier: Apache-2.0
"""Pages of results in a browser: headless Chromium, where it is installed."""

import html.parser
import os
import re
import subprocess

import egret
import numpy as np
import onnx
import pytest
from browser import CHROMIUM, Browser
from egret.__main__ import program
from onnx import helper, numpy_helper

WIDTHS = (390, 1280)

HOSTILE = "</script><script>document.title='broken'</script><img src=x onerror=\"console.error('no')\">"

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


class Text(html.parser.HTMLParser):
    """The text of a page as it lies in the file, without scripts and styles."""

    def __init__(self, page):
        super().__init__()
        self.parts, self.hidden, self.tags = [], 0, set()
        self.feed(page)
        self.text = re.sub(r"\s+", " ", " ".join(self.parts))

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.hidden += tag in ("script", "style")

    def handle_endtag(self, tag):
        self.hidden -= tag in ("script", "style")

    def handle_data(self, data):
        if not self.hidden:
            self.parts.append(data)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("browser")) as one:
        yield one


def check_page(browser, path, expected, tmp_path):
    raw = Text(path.read_text())
    assert "img" not in raw.tags
    for text in expected:
        assert text in raw.text, f"the file lacks {text!r}"
    for width in WIDTHS:
        browser.open(path, width)
        assert browser.complaints() == []
        assert browser.asked() == [path.as_uri()]
        assert browser.evaluate("document.documentElement.className") == "ready", "page.js ran to its end"
        assert browser.evaluate("innerWidth") == width
        assert browser.evaluate("document.documentElement.scrollWidth") <= width, f"it scrolls sideways at {width}"
        shown = re.sub(r"\s+", " ", browser.evaluate("document.body.innerText"))
        for section in re.findall(r"<h2>([^<]*)</h2>", path.read_text()):
            assert html.unescape(section) in shown
        browser.screenshot(tmp_path / f"{width}.png")
        assert (tmp_path / f"{width}.png").stat().st_size > 10_000
        browser.open(path, width, scripts=False)
        assert browser.complaints() == []
    browser.print(tmp_path / "r.pdf")
    assert (tmp_path / "r.pdf").read_bytes().startswith(b"%PDF")


def network(layers=6):
    """Blocks of convolution, batch normalization and relu, which rules fuse."""
    rng = np.random.default_rng(1)
    nodes, weights, x = [], [], "x"
    for i in range(layers):
        for name, shape in (("w", (16, 16, 3, 3)), ("s", (16,)), ("b", (16,)), ("m", (16,)), ("v", (16,))):
            value = rng.random(shape, dtype=np.float32) + 0.5
            weights.append(numpy_helper.from_array(value, f"{name}{i}"))
        nodes += [
            helper.make_node("Conv", [x, f"w{i}"], [f"c{i}"], pads=[1, 1, 1, 1]),
            helper.make_node("BatchNormalization", [f"c{i}", f"s{i}", f"b{i}", f"m{i}", f"v{i}"], [f"n{i}"]),
            helper.make_node("Relu", [f"n{i}"], [f"r{i}"]),
        ]
        x = f"r{i}"
    nodes.append(helper.make_node("Relu", [x], [HOSTILE]))
    graph = helper.make_graph(
        nodes, "net",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 16, 16, 16])],
        [helper.make_tensor_value_info(HOSTILE, onnx.TensorProto.FLOAT, [1, 16, 16, 16])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def run_egret(*words):
    subprocess.run([program(), *map(str, words)], check=True, capture_output=True)


@needs_chromium
def test_errors_of_a_page_are_noticed(browser, tmp_path):
    path = tmp_path / "bad.html"
    path.write_text("<body style='width: 900px'><script>console.error('it broke')</script>"
                    "<img src='https://example.org/x.png'>")
    browser.open(path, 390)
    assert any("it broke" in one for one in browser.complaints())
    assert "https://example.org/x.png" in browser.asked()
    assert browser.evaluate("document.documentElement.scrollWidth") > 390


@needs_chromium
def test_tables_are_sorted_by_a_click(browser, tmp_path):
    egret.optimize(network(3), quick=True).report(tmp_path / "r.html")
    browser.open(tmp_path / "r.html", 1280)
    column = "Array.from(document.querySelectorAll('#operators tbody tr')).map(r => r.cells[1].textContent)"
    browser.evaluate("document.querySelectorAll('#operators thead button')[1].click()")
    counts = [int(text) for text in browser.evaluate(column)]
    assert counts[:-1] == sorted(counts[:-1]) and counts[-1] == sum(counts[:-1]), "the sum stays last"


@needs_chromium
def test_a_page_of_a_measured_optimization(browser, tmp_path):
    onnx.save(network(), tmp_path / "net.onnx")
    for _ in range(3):
        run_egret("optimize", tmp_path / "net.onnx", "-o", tmp_path / "out.onnx", "--cost-db", tmp_path / "costs",
                  "--measure-time", "0.1", "--profile-time", "2", "--report", tmp_path / "r.html")
        # On a busy machine the original may be measured as the fastest.
        if "The original is the fastest" not in (tmp_path / "r.html").read_text():
            break
    check_page(browser, tmp_path / "r.html",
               ["net.onnx", "Gain by kernel", "Measured: each kernel of both plans", "before", "after",
                "The graph before and after", "stayed as they were", "Rules and their proofs", "families of instances",
                "The race of candidates", "e-nodes", "Output check", "passed", "oneDNN", HOSTILE], tmp_path)


@needs_chromium
def test_a_page_without_measurements(browser, tmp_path):
    result = egret.optimize(network(2), quick=True)
    result.report(tmp_path / "r.html")
    check_page(browser, tmp_path / "r.html",
               ["Nothing was measured", "Predicted, not measured", "Growth of the e-graph", HOSTILE], tmp_path)


@needs_chromium
def test_a_page_of_a_large_model_is_bounded(browser, tmp_path):
    result = egret.optimize(network(1000), quick=True)
    result.report(tmp_path / "r.html")
    assert (tmp_path / "r.html").stat().st_size < 3_000_000
    check_page(browser, tmp_path / "r.html", ["before, 3,001 operators", "The graph before and after"], tmp_path)


@needs_chromium
def test_a_page_of_a_plan(browser, tmp_path):
    rng = np.random.default_rng(1)
    weights = [numpy_helper.from_array(rng.random((128, 128), dtype=np.float32), f"layer.{i}.weight") for i in range(4)]
    nodes, x = [], "x"
    for i in range(4):
        nodes += [helper.make_node("MatMul", [x, f"layer.{i}.weight"], [f"layer.{i}.product"]),
                  helper.make_node("Relu", [f"layer.{i}.product"], [f"layer.{i}.out"])]
        x = f"layer.{i}.out"
    graph = helper.make_graph(nodes, "mlp", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [64, 128])],
                              [helper.make_tensor_value_info(x, onnx.TensorProto.FLOAT, [64, 128])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "mlp.onnx")
    run_egret("plan", tmp_path / "mlp.onnx", "--mesh", "x=4", "--report", tmp_path / "r.html")
    expected = ["mlp.onnx", "Beside other plans", "Placements by layer", "layer.*.weight", "Collectives",
                "Memory over the program", "Memory of a device"]
    check_page(browser, tmp_path / "r.html", expected, tmp_path)
    egret.plan(tmp_path / "mlp.onnx", mesh={"x": 4}).report(tmp_path / "p.html")
    for text in expected:
        assert text in Text((tmp_path / "p.html").read_text()).text


@needs_chromium
def test_a_page_of_an_extraction(browser, tmp_path):
    onnx.save(network(1), tmp_path / "net.onnx")
    run_egret("egraph", "dump", tmp_path / "net.onnx", "--form", "json", "-o", tmp_path / "e.json")
    run_egret("extract", tmp_path / "e.json", "--report", tmp_path / "r.html")
    check_page(browser, tmp_path / "r.html",
               ["e.json", "Cost by operator", "The most costly choices", "a chosen e-node", "Lower bound"], tmp_path)


@needs_chromium
def test_a_page_of_generated_rules(browser, tmp_path):
    run_egret("rules", "generate", "--ops", "relu,neg,max", "--max-ops", "2", "-o", tmp_path / "rules",
              "--report", tmp_path / "r.html")
    check_page(browser, tmp_path / "r.html",
               ["Rules of the space", "Rules and their proofs", "proven", "relu(relu(", "Candidates", "Terms by number"], tmp_path)


def test_the_option_writes_the_page_with_kernels(tmp_path):
    result = egret.optimize(network(1), report=tmp_path / "r.html", measure_time=0.02, profile_time=0.5,
                            cost_db=str(tmp_path / "costs"))
    assert result.kernels_source == "measured"
    assert "Measured: each kernel" in (tmp_path / "r.html").read_text()
    result.report(tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == (tmp_path / "r.html").read_bytes()


def test_a_result_outlives_its_page(tmp_path):
    with pytest.raises(egret.Unavailable, match="no-folder"):
        egret.optimize(network(1), quick=True, report=tmp_path / "no-folder" / "r.html")
    if os.path.exists("/dev/full"):
        result = egret.optimize(network(1), quick=True, report="/dev/full")
        assert any("the page was not written" in note for note in result.notes)
        assert result.status == "rewritten"
