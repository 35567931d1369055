#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of README.md and docs/concepts.md into docs/images/.

    scripts/draw_pictures.py [--check]

The e-graphs come from the package egret of build/release (run it with .venv/bin/python); the others are
drawn here. --check writes nothing, and exits with 1 if a picture is not the one that would be drawn.
"""

import pathlib
import sys
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"

BLUE, ORANGE, GREY = "#0072B2", "#E69F00", "#555555"
PALE_BLUE, PALE_ORANGE, PALE = "#d6e8f5", "#fbeacb", "#f4f4f4"


class Drawing:
    """An SVG picture on white, so that it can be read on any page."""

    def __init__(self, width, height):
        self.size = width, height
        self.parts = []

    def rectangle(self, x, y, width, height, fill, stroke=GREY, round_by=5):
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="{round_by}" '
                          f'fill="{fill}" stroke="{stroke}"/>')

    def polygon(self, points, fill):
        self.parts.append(f'<polygon points="{" ".join(f"{x},{y}" for x, y in points)}" fill="{fill}"/>')

    def text(self, x, y, text, size=13, anchor="middle", style=""):
        self.parts.append(f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}"{style}>{escape(text)}</text>')

    def box(self, x, y, width, height, lines, fill=PALE):
        self.rectangle(x, y, width, height, fill)
        top = y + height / 2 - 8 * (len(lines) - 1) + 4.5
        for i, line in enumerate(lines):
            self.text(x + width / 2, top + 16 * i, line)

    def arrow(self, x1, y1, x2, y2):
        self.parts.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{GREY}" stroke-width="1.5" '
                          'marker-end="url(#head)"/>')

    def svg(self, description):
        width, height = self.size
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'font-family="sans-serif" fill="#222222">',
            f"<title>{escape(description)}</title>",
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            f'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{GREY}"/></marker></defs>',
            f'<rect width="{width}" height="{height}" rx="8" fill="white"/>', *self.parts, "</svg>", ""])


def pipeline():
    drawing = Drawing(860, 150)
    steps = [("model.onnx", PALE_BLUE), ("e-graph of all|equal graphs", PALE), ("cheapest|graphs", PALE),
             ("race against|the original", PALE), ("check of|the outputs", PALE), ("faster.onnx", PALE_BLUE)]
    width, gap, left, top = 116, 28, 12, 84
    for i, (text, fill) in enumerate(steps):
        x = left + i * (width + gap)
        drawing.box(x, top, width, 52, text.split("|"), fill)
        if i > 0:
            drawing.arrow(x - gap + 2, top + 26, x - 2, top + 26)
    for i, text in ((1, "proven rules"), (2, "measured costs")):
        x = left + i * (width + gap)
        drawing.box(x, 12, width, 36, [text], PALE_ORANGE)
        drawing.arrow(x + width / 2, 50, x + width / 2, top - 2)
    return drawing.svg("Rules put all equal graphs into an e-graph; costs choose the cheapest; a race and a check decide")


def definition():
    drawing = Drawing(760, 220)
    drawing.box(230, 84, 300, 52, ["matmul", "out[i, j] = sum k. x[i, k] * w[k, j]"], PALE_ORANGE)
    places = [(20, 12, "interpreter:|reference results"), (290, 12, "roofline:|operations and bytes"),
              (560, 12, "verifier:|proofs of rules"), (20, 156, "autodiff:|gradients"),
              (290, 156, "code generator:|kernels"), (560, 156, "planner:|placement laws")]
    for x, y, text in places:
        drawing.box(x, y, 180, 52, text.split("|"))
        above = y < 84
        start = min(max(x + 90, 250), 510)
        drawing.arrow(start, 82 if above else 138, x + 90 + (45 if x < 230 else -45 if x > 400 else 0),
                      y + 54 if above else y - 2)
    return drawing.svg("Results, costs, proofs, gradients, kernels and placement laws follow from one definition")


def placement():
    drawing = Drawing(760, 222)

    def matrix(x, y, how, name):
        side = 56
        if how == "R":
            drawing.polygon([(x, y), (x + side, y), (x, y + side)], PALE_BLUE)
            drawing.polygon([(x + side, y), (x + side, y + side), (x, y + side)], PALE_ORANGE)
        elif how == "S(0)":
            drawing.rectangle(x, y, side, side / 2, PALE_BLUE, "none", 0)
            drawing.rectangle(x, y + side / 2, side, side / 2, PALE_ORANGE, "none", 0)
        elif how == "S(1)":
            drawing.rectangle(x, y, side / 2, side, PALE_BLUE, "none", 0)
            drawing.rectangle(x + side / 2, y, side / 2, side, PALE_ORANGE, "none", 0)
        else:
            drawing.rectangle(x, y, side, side, PALE_BLUE, "none", 0)
            drawing.rectangle(x + 7, y + 7, side, side, PALE_ORANGE, GREY, 0)
            drawing.text(x + 35, y + 40, "+", 20)
        drawing.rectangle(x, y, side, side, "none", GREY, 0)
        drawing.text(x + side / 2, y + side + 20, how, 13)
        drawing.text(x + side / 2, y - 7, name, 12)

    laws = [("cut the rows of x", "S(0)", "R", "S(0)"), ("cut the columns of w", "R", "S(1)", "S(1)"),
            ("cut the sum", "S(1)", "S(0)", "P(sum)")]
    for i, (title, left, right, result) in enumerate(laws):
        x = 16 + 250 * i
        drawing.text(x + 112, 30, title, 13, style=' font-weight="bold"')
        for k, (how, name) in enumerate(((left, "x"), (right, "w"), (result, "x w"))):
            matrix(x + 84 * k, 70, how, name)
        drawing.text(x + 70, 103, "·", 18)
        drawing.text(x + 154, 103, "=", 16)
    drawing.rectangle(150, 184, 18, 18, PALE_BLUE)
    drawing.text(176, 198, "on device 0", anchor="start")
    drawing.rectangle(300, 184, 18, 18, PALE_ORANGE)
    drawing.text(326, 198, "on device 1", anchor="start")
    drawing.polygon([(450, 184), (468, 184), (450, 202)], PALE_BLUE)
    drawing.polygon([(468, 184), (468, 202), (450, 202)], PALE_ORANGE)
    drawing.rectangle(450, 184, 18, 18, "none")
    drawing.text(476, 198, "on both, as a copy", anchor="start")
    return drawing.svg("Three ways to distribute a matrix product over two devices")


def egraphs():
    """Yields (name, picture) of the e-graph of a * 2 / 2, before and after the rules run."""
    sys.path.insert(0, str(ROOT / "build/release/python"))
    import egret
    g = egret.EGraph()
    root = g.add("(/ (* a 2) 2)")
    yield "egraph-start.svg", g.dump("svg", roots=[root])
    g.run(["(* ?x 2) => (<< ?x 1)", "(/ (* ?x ?y) ?z) => (* ?x (/ ?y ?z))", "(/ 2 2) => 1", "(* ?x 1) => ?x"])
    assert str(g.extract(root)) == "a"
    yield "egraph-saturated.svg", g.dump("svg", roots=[root])


def pictures():
    yield "pipeline.svg", pipeline()
    yield "definition.svg", definition()
    yield "placement.svg", placement()
    yield from egraphs()


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        raise SystemExit(__doc__)
    outdated = 0
    for name, text in pictures():
        path = IMAGES / name
        if path.exists() and path.read_text() == text:
            continue
        outdated += 1
        if not sys.argv[1:]:
            IMAGES.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        print(("outdated: " if sys.argv[1:] else "written: ") + path.relative_to(ROOT).as_posix())
    return 1 if outdated and sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
