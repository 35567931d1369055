# SPDX-License-Identifier: Apache-2.0
"""Plots of kept results, in one style, made from the CSV files.

    experiments/run_all --plots [NAME...]            writes them
    experiments/run_all --plots --check [NAME...]    names those that are not of the kept tables

An experiment has a file plot.py with a function figures(). It yields (name, figure) pairs, and
results/EXPERIMENT/NAME.svg is the picture (results/NAME.svg for a name with a folder). The same table gives
the same bytes.
"""
import csv
import importlib.util
import io
import pathlib
import re
import sys

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

from lib import results  # noqa: E402

EXPERIMENTS = results.RESULTS.parent
# Okabe and Ito's colours, which the colour-blind tell apart; black is for reference lines.
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#999999", "#F0E442", "#000000"]
MARKS = ["o", "s", "^", "D", "v", "P", "X", "*"]
STYLE = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.prop_cycle": matplotlib.cycler(color=COLOURS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9,
    "figure.constrained_layout.use": True,
    "font.family": "sans-serif",
    "font.size": 8,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "svg.fonttype": "none",    # texts stay texts: small files
    "svg.hashsalt": "egret",   # the same names of parts each time
}


def number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return text if text else None


def table(experiment, name="full"):
    """The rows of a kept table: dictionaries with numbers where the text is one, and None where it is empty."""
    with open(results.RESULTS / experiment / f"{name}.csv", newline="") as file:
        return [{column: number(text) for column, text in row.items()} for row in csv.DictReader(file)]


def figure(columns=1, rows=1, width=7.0, height=3.0, **options):
    with matplotlib.rc_context(STYLE):
        return pyplot.subplots(rows, columns, figsize=(width, height), **options)


def values_of(rows, column):
    return [row[column] for row in rows]


def short(model):
    """A model's name without folder and ending."""
    return pathlib.PurePath(str(model)).name.removesuffix(".onnx")


def predictions(series, what):
    """A figure of measured over predicted times, with a mark for each series and the line where both are equal.
    series: name to rows with predicted_s and measured_s."""
    drawn, axes = figure(width=4.5, height=3.8)
    for i, (name, rows) in enumerate(series.items()):
        axes.plot(values_of(rows, "predicted_s"), values_of(rows, "measured_s"), MARKS[i % len(MARKS)], label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    ends = [max(axes.get_xlim()[0], axes.get_ylim()[0]), min(axes.get_xlim()[1], axes.get_ylim()[1])]
    axes.plot(ends, ends, color="black", linewidth=0.8)
    axes.set_xlabel(what)
    axes.set_ylabel("measured")
    axes.legend()
    return drawn


def dots(axes, labels, series, reference=1.0, log=False):
    """A row for each label, and a mark for each series. series: name to values; None leaves a mark out."""
    for i, (name, values) in enumerate(series.items()):
        places = [(value, row) for row, value in enumerate(values) if value is not None]
        axes.plot([x for x, _ in places], [y for _, y in places], MARKS[i % len(MARKS)], label=name,
                  color=COLOURS[i % len(COLOURS)], markerfacecolor="none", markersize=5)  # equal values show
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    finish(axes, reference, log, len(series))


def beside_optimizers(rows):
    """Times of a table of lib/deployed.py: of Egret's files, and of those of onnxsim and OnnxSlim."""
    rows = [row for row in rows if row["verdict"] == "ok"]

    def known(column):
        return [row[column] if isinstance(row[column], float) else None for row in rows]

    drawn, axes = figure(height=0.8 + 0.2 * len(rows))
    dots(axes, [short(row["model"]) for row in rows],
         {"Egret": known("ratio"), "onnxsim": known("onnxsim_ratio"), "OnnxSlim": known("onnxslim_ratio")})
    axes.set_xlabel("time in ONNX Runtime relative to the original's")
    return drawn


def bars(axes, labels, series, reference=None, log=False):
    """Bars side by side, a group for each label."""
    thickness = 0.8 / len(series)
    for i, (name, values) in enumerate(series.items()):
        places = [row - 0.4 + thickness * (i + 0.5) for row in range(len(labels))]
        axes.barh(places, [value or 0 for value in values], thickness, label=name, color=COLOURS[i % len(COLOURS)])
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    finish(axes, reference, log, len(series))


def stacked(axes, labels, series):
    """One bar for each label, made of a part for each series."""
    left = [0.0] * len(labels)
    for i, (name, values) in enumerate(series.items()):
        axes.barh(range(len(labels)), values, 0.7, left=left, label=name, color=COLOURS[i % len(COLOURS)])
        left = [sum(pair) for pair in zip(left, values)]
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    finish(axes, None, False, len(series))


def finish(axes, reference, log, series):
    if log:
        axes.set_xscale("log")
    if reference is not None:
        axes.axvline(reference, color="black", linewidth=0.8)
    if series > 1:
        legend_above(axes)


def legend_above(axes):
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0.2, handletextpad=0.4)


def cumulative(axes, series):
    """For each series the share of its values up to x. Values of None are never reached."""
    for i, (name, values) in enumerate(series.items()):
        known = sorted(value for value in values if value is not None)
        axes.step(known, [(k + 1) / len(values) for k in range(len(known))], where="post", label=name,
                  color=COLOURS[i % len(COLOURS)])
    axes.set_ylim(0, 1.02)
    axes.legend()


def thinned(svg):
    """The picture without the version of the program that made it, and with two decimals. Its names of parts are
    numbers: matplotlib's are hashes of all decimals, and the last one differs between processors."""
    svg = "\n".join(line.rstrip() for line in svg.splitlines() if "<dc:title>" not in line) + "\n"
    names = dict.fromkeys(re.findall(r'id="([a-zA-Z][0-9a-f]{10})"', svg))
    numbers = {name: f"part{i}" for i, name in enumerate(names)}
    svg = re.sub(r"\b[a-zA-Z][0-9a-f]{10}\b", lambda found: numbers.get(found[0], found[0]), svg)
    return re.sub(r"(\d\.\d\d)\d+", r"\1", svg)


def module_of(experiment):
    """plot.py of an experiment, or None."""
    path = EXPERIMENTS / experiment / "plot.py"
    if not path.exists():
        return None
    spec = importlib.util.spec_from_file_location(f"plot_{experiment}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pictures(experiment):
    """Yields (path, text) of the pictures of an experiment."""
    with matplotlib.rc_context(STYLE):
        for name, drawn in module_of(experiment).figures():
            file = io.StringIO()
            drawn.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
            pyplot.close(drawn)
            folder = results.RESULTS if "/" in name else results.RESULTS / experiment
            yield folder / f"{name}.svg", thinned(file.getvalue())


def with_plots():
    return sorted(path.parent.name for path in EXPERIMENTS.glob("*/plot.py"))


def is_current(path, text):
    return path.exists() and path.read_text() == text


def tables_without_picture():
    folders = {path.parent for path in results.RESULTS.rglob("*.csv") if not path.name.startswith("smoke.")}
    return sorted(folder for folder in folders if "unfinished" not in folder.parts and not list(folder.glob("*.svg")))


def main():
    arguments = sys.argv[1:]
    checks = "--check" in arguments
    outdated = 0
    for experiment in [name for name in arguments if name != "--check"] or with_plots():
        for path, text in pictures(experiment):
            if is_current(path, text):
                continue
            outdated += 1
            print("outdated:" if checks else "written:", path.relative_to(EXPERIMENTS.parent), flush=True)
            if not checks:
                path.write_text(text)
    missing = tables_without_picture()
    for folder in missing:
        print("without a picture:", folder.relative_to(EXPERIMENTS.parent))
    return 1 if missing or (checks and outdated) else 0


if __name__ == "__main__":
    sys.exit(main())
