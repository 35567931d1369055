# SPDX-License-Identifier: Apache-2.0
"""Extraction from public e-graphs: every extractor on every instance, beside the best costs known."""
import csv
import lzma
import pathlib
import shutil
import sys
import tempfile

from lib import egret, results, settings

HERE = pathlib.Path(__file__).resolve().parent
GYM = egret.SHARED / "gym"
COLUMNS = ["family", "instance", "extractor", "refused", "cost", "bound", "status", "seconds", "best_known",
           "known_optimal"]
BAD_INPUT = 3
MISSING_ROOT = "is a class without nodes"


def known_costs():
    with open(GYM / "known_costs.csv", newline="") as file:
        return {(row["family"], row["instance"]): row for row in csv.DictReader(file)}


def extract(path, extractor, seconds):
    """The program's answer, and what it said where it refused the file for a root that names no class."""
    arguments = ["extract", path, "--extractor", extractor, "--extract-time", f"{seconds}s"]
    try:
        return egret.call(*arguments), ""
    except egret.EgretError as error:
        if error.code != BAD_INPUT or MISSING_ROOT not in error.stderr:
            raise
        refused = " ".join(error.stderr.replace(str(path), path.name).split())
    return egret.call(*arguments, "--ignore-missing-roots"), refused


def solve(table, known, family, packed, seconds):
    instance = packed.name.removesuffix(".json.xz")
    todo = [e for e in seconds if not table.has(family=family, instance=instance, extractor=e)]
    if not todo:
        return
    best = known.get((family, instance), {})
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"{instance}.json"
        with lzma.open(packed) as source, open(path, "wb") as target:
            shutil.copyfileobj(source, target)
        for extractor in todo:
            answer, refused = extract(path, extractor, seconds[extractor])
            table.add(family=family, instance=instance, extractor=extractor, refused=refused, cost=answer["dag_cost"],
                      bound=answer["bound"], status=answer["status"], seconds=f"{answer['seconds']:.4f}",
                      best_known=best.get("best_known_dag_cost", ""), known_optimal=best.get("proven_optimal", ""))


def above(cost, other):
    """By more than the known costs are rounded."""
    return cost > other + 1e-6 * max(1, abs(other))


def above_known(row):
    return bool(row["best_known"]) and above(float(row["cost"]), float(row["best_known"]))


def below_known(row):
    return bool(row["best_known"]) and above(float(row["best_known"]), float(row["cost"]))


def proven(rows, seconds=float("inf")):
    return sum(row["status"] == "optimal" and float(row["seconds"]) <= seconds for row in rows)


def compare_with_program(rows, known):
    """Seconds of these rows and of the collection's own integer program, where that has a time and no better cost."""
    ours, theirs, files = 0.0, 0.0, 0
    for row in rows:
        peer = known.get((row["family"], row["instance"]), {})
        if peer.get("faster_ilp_10s_us") and not above(float(row["cost"]), float(peer["faster_ilp_10s"])):
            ours += float(row["seconds"])
            theirs += float(peer["faster_ilp_10s_us"]) / 1e6
            files += 1
    print(f"\n{files} files that the collection's integer program has a time for: {ours:.2f} s, and its {theirs:.2f} s")
    return theirs / ours


def group_of(row):
    """The family; of those files that are refused without --ignore-missing-roots a group of its own."""
    return row["family"] + (", roots missing" if row["refused"] else "")


def groups(rows):
    """Rows by group in the order of names, then all."""
    named = {name: [r for r in rows if group_of(r) == name] for name in sorted({group_of(r) for r in rows})}
    return {**named, "all": rows}


def print_table(titles, rows):
    """In Markdown, as the README has it."""
    print()
    for cells in [titles, ["---"] * len(titles), *rows]:
        print("| " + " | ".join(map(str, cells)) + " |")


def total(rows):
    return f"{sum(float(row['seconds']) for row in rows):.1f}"


def print_summary(rows, extractors):
    exact = [row for row in rows if row["extractor"] == "auto"]
    print_table(["family", "files", "proven", "in 10 s", "proven before", "below the best known", "seconds"],
                [[name, len(some), proven(some), proven(some, 10), sum(r["known_optimal"] == "yes" for r in some),
                  sum(map(below_known, some)), total(some)] for name, some in groups(exact).items()])
    by_extractor = {extractor: [row for row in rows if row["extractor"] == extractor] for extractor in extractors}
    print_table(["extractor", "files", "proven", "above the best known", "below", "most seconds", "seconds"],
                [[extractor, len(some), proven(some), sum(map(above_known, some)), sum(map(below_known, some)),
                  f"{max(float(row['seconds']) for row in some):.1f}", total(some)]
                 for extractor, some in by_extractor.items()])
    print_table(["family", *extractors],
                [[name, *(total([row for row in some if row["extractor"] == e]) for e in extractors)]
                 for name, some in groups(rows).items()])
    messages = sorted({row["refused"] for row in rows if row["refused"]})
    if messages:
        print(f"\n{sum(bool(row['refused']) for row in exact)} files refused, the first with: {messages[0]}")


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = forms[mode]
    if not GYM.is_dir():
        print(f"skipped: no e-graphs in {GYM}")
        return 0
    seconds = config["seconds"]
    table = results.Table("extraction", mode, COLUMNS, ["family", "instance", "extractor"],
                          {"egret": egret.version(), "seconds": str(seconds)})
    known = known_costs()
    for family in config["families"]:
        for packed in sorted((GYM / family).glob("*.json.xz")):
            solve(table, known, family, packed, seconds)
    table.finish()
    print_summary(table.rows, list(seconds))
    exact = [row for row in table.rows if row["extractor"] == "auto"]
    return results.judge(HERE / "expected.json", mode, {
        "optimal_share": proven(exact) / len(exact),
        "optimal_share_in_10_s": proven(exact, 10) / len(exact),
        "above_known": sum(map(above_known, exact)),
        "speed_by_integer_program": compare_with_program(exact, known),
        "refused": sum(bool(row["refused"]) for row in exact),
        "answers": len(table.rows),
    })


if __name__ == "__main__":
    sys.exit(main())
