# SPDX-License-Identifier: Apache-2.0
"""The kept table by kinds of contractions.

    python3 experiments/contractions/kinds.py           prints it
    python3 experiments/contractions/kinds.py --write   writes it into README.md, between <!-- kinds --> and <!-- /kinds -->
"""
import csv
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
KEPT = HERE.parent / "results" / "contractions" / "full.csv"
PAGE = HERE / "README.md"
BEGIN, END = "<!-- kinds -->\n", "<!-- /kinds -->\n"
VERSIONS = ("2.6", "3.2", "3.13")  # those of onednn.py, which needs more than Python


def shapes_of(row):
    return [[int(size) for size in text.split("x")] for text in row["shapes"].split()[:2]]


def is_of_rows(row):
    """The own kernel's convolutions have one window, and are products of so many rows as there are images."""
    left, _ = shapes_of(row)
    return row["implementation"].startswith("own:row") or (row["kernel"] != "Conv" and left[-2] <= 2)


def is_depthwise(row):
    left, right = shapes_of(row)
    return " group " in row["shapes"] and right[1] == 1 and left[1] > 1


# Each row is of the first kind that has it.
KINDS = {
    "products of one or two rows": is_of_rows,
    "other products": lambda row: row["kernel"] != "Conv",
    "depthwise convolutions": is_depthwise,
    "other convolutions in groups": lambda row: " group " in row["shapes"],
    "3x3 convolutions, the library's kernel by Winograd": lambda row: "wino" in row["implementation"],
    "1x1 convolutions": lambda row: set(shapes_of(row)[1][2:]) == {1},
    "other convolutions, the library's kernel direct": lambda row: True,
}


def divided(rows):
    kinds = {name: [] for name in KINDS}
    for row in rows:
        kinds[next(name for name, holds in KINDS.items() if holds(row))].append(row)
    return {name: having for name, having in kinds.items() if having}


def ratio(row):
    return float(row["generated_ms"]) / float(row["library_ms"])


def ratio_with_reorders(row):
    return ratio(row) * (1 - float(row["reorders"]))


def against(row, version, name="generated_ms"):
    """A time over that version's; None where it was not measured."""
    text = row.get(f"onednn_{version}_ms")
    return float(row[name]) / float(text) if text else None


def median(values):
    return f"{statistics.median(values):.2f}" if values else "–"


def wins(ratios):
    return sum(each < 1 for each in ratios)


def line(*cells):
    return "| " + " | ".join(map(str, cells)) + " |\n"


def table(rows):
    """Two tables in Markdown: beside the CPU backend, and beside each version of oneDNN."""
    text = line("kernels", "number", "ratio, median", "quartiles", "generated is faster",
                "ratio with the library's reorders, median", "generated is faster",
                "generated_share, median", "library_share, median")
    text += line(*["---"] * 9)
    for name, having in [*divided(rows).items(), ("all", rows)]:
        ratios, whole = [ratio(row) for row in having], [ratio_with_reorders(row) for row in having]
        low, _, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
        text += line(name, len(having), median(ratios), f"{low:.2f}–{high:.2f}", wins(ratios), median(whole), wins(whole),
                     *[median([float(row[f"{of}_share"]) for row in having]) for of in ("generated", "library")])
    text += "\n" + line("kernels", *[cell for version in VERSIONS
                                     for cell in (f"generated over {version}, median", "generated is faster")],
                        *[f"{version} over 2.6, median" for version in VERSIONS[1:]])
    text += line(*["---"] * 9)
    for name, having in [*divided(rows).items(), ("all", rows)]:
        cells = []
        for version in VERSIONS:
            ratios = [value for row in having if (value := against(row, version)) is not None]
            cells += [median(ratios), wins(ratios)]
        for version in VERSIONS[1:]:
            ratios = [1 / value for row in having if row.get("onednn_2.6_ms")
                      and (value := against(row, version, "onednn_2.6_ms")) is not None]
            cells.append(median(ratios))
        text += line(name, *cells)
    return text


def kept_rows():
    with open(KEPT, newline="") as file:
        return list(csv.DictReader(file))


def page(text, summary):
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    return text[:begin] + summary + text[end:]


def main():
    summary = table(kept_rows())
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page(PAGE.read_text(), summary))
    else:
        print(summary, end="")


if __name__ == "__main__":
    main()
