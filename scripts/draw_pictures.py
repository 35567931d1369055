#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of README.md and docs/concepts.md into docs/images/.

    scripts/draw_pictures.py [--check]

The classes of the e-graphs are compared with those that the package egret of build/release finds (run it with
.venv/bin/python). --check writes nothing, and exits with 1 if a picture is not the one that would be drawn.
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


class EGraphDrawing(Drawing):
    """Classes as dashed boxes around their nodes, and edges from nodes to classes."""

    def classes(self, classes):
        """classes: name to (x, y, nodes). Keeps the places for edges."""
        self.places = {}
        for name, (x, y, nodes) in classes.items():
            width = 12 + 52 * len(nodes)
            self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="50" rx="8" fill="{PALE}" stroke="{GREY}" '
                              'stroke-dasharray="4 3"/>')
            self.places[name] = (x, y, width)
            for i, node in enumerate(nodes):
                left = x + 10 + 52 * i
                self.rectangle(left, y + 9, 44, 32, PALE_BLUE, BLUE)
                self.text(left + 22, y + 30, node, 14)
                self.places[name, node] = (left + 22, y + 41)

    def edge(self, start, goal, at=0.5, out=0, bend=None):
        """From a node to a class: to the part `at` of its upper side, or along the points of `bend`."""
        x, y = self.places[start]
        left, top, width = self.places[goal]
        x2, y2 = left + width * at, top - 3
        x += out
        path = bend or f"C{x},{y + 35} {x2},{y2 - 35} {x2},{y2}"
        self.parts.append(f'<path d="M{x},{y} {path}" fill="none" stroke="{GREY}" stroke-width="1.3" '
                          'marker-end="url(#head)"/>')


def start_egraph():
    drawing = EGraphDrawing(420, 250)
    drawing.classes({"quotient": (150, 12, ["/"]), "product": (90, 100, ["*"]), "2": (260, 188, ["2"]),
                     "a": (40, 188, ["a"])})
    drawing.edge(("quotient", "/"), "product", out=-8)
    drawing.edge(("quotient", "/"), "2", at=0.6, out=8)
    drawing.edge(("product", "*"), "a", out=-8)
    drawing.edge(("product", "*"), "2", at=0.3, out=8)
    return drawing.svg("The e-graph of a * 2 / 2: four classes with one node each")


def saturated_egraph():
    drawing = EGraphDrawing(560, 272)
    drawing.classes({"a": (150, 40, ["/", "a", "*"]), "product": (40, 176, ["*", "<<"]), "2": (235, 176, ["2"]),
                     "1": (400, 176, ["/", "1"])})
    drawing.edge(("a", "/"), "product", at=0.7, out=-8)
    drawing.edge(("a", "/"), "2", at=0.35, out=8)
    drawing.edge(("a", "*"), "1", at=0.4, out=8)
    drawing.edge(("a", "*"), "a", out=-8, bend="C280,128 380,128 380,70 C380,10 300,6 262,34")
    drawing.edge(("product", "*"), "a", out=-8, bend="C64,250 12,250 12,150 C12,60 80,60 145,62")
    drawing.edge(("product", "*"), "2", out=8, bend="C80,250 230,245 250,230")
    drawing.edge(("product", "<<"), "a", out=-6, bend="C118,236 28,240 28,150 C28,78 90,74 145,74")
    drawing.edge(("product", "<<"), "1", out=8, bend="C134,262 400,262 420,230")
    drawing.edge(("1", "/"), "2", out=-8, bend="C424,244 310,240 296,230")
    drawing.edge(("1", "/"), "2", out=2, bend="C434,256 290,256 282,230")
    return drawing.svg("The e-graph after saturation: a and a * 2 / 2 are one class")


def assert_classes(picture, rules=()):
    """The classes of the pictures are those that the engine finds."""
    sys.path.insert(0, str(ROOT / "build/release/python"))
    import egret
    g = egret.EGraph()
    root = g.add("(/ (* a 2) 2)")
    if rules:
        g.run(list(rules))
    found = sorted(sorted(node.split()[0] for node in line.partition(": ")[2].split(" | "))
                   for line in g.dump("text", roots=[root]).splitlines())
    assert found == sorted(map(sorted, picture)), found


def egraphs():
    """Yields (name, picture) of the e-graph of a * 2 / 2, before and after the rules of docs/concepts.md run."""
    assert_classes([["/"], ["*"], ["2"], ["a"]])
    yield "egraph-start.svg", start_egraph()
    assert_classes([["/", "a", "*"], ["*", "<<"], ["2"], ["/", "1"]],
                   rules=["(* ?x 2) => (<< ?x 1)", "(/ (* ?x ?y) ?z) => (* ?x (/ ?y ?z))", "(/ 2 2) => 1",
                          "(* ?x 1) => ?x"])
    yield "egraph-saturated.svg", saturated_egraph()


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
