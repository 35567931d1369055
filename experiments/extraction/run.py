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
COLUMNS = ["family", "instance", "extractor", "missing_roots", "cost", "bound", "status", "seconds", "best_known",
           "known_optimal"]
BAD_INPUT = 3


def known_costs():
    with open(GYM / "known_costs.csv", newline="") as file:
        return {(row["family"], row["instance"]): row for row in csv.DictReader(file)}


def extract(path, extractor, seconds):
    """The program's answer, and whether roots had to be left out."""
    arguments = ["extract", path, "--extractor", extractor, "--time", f"{seconds}s"]
    try:
        return egret.call(*arguments), False
    except egret.EgretError as error:
        if error.code != BAD_INPUT:
            raise
    return egret.call(*arguments, "--ignore-missing-roots"), True


def solve(table, known, family, packed, extractors, seconds):
    instance = packed.name.removesuffix(".json.xz")
    todo = [e for e in extractors if not table.has(family=family, instance=instance, extractor=e)]
    if not todo:
        return
    best = known.get((family, instance), {})
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "egraph.json"
        with lzma.open(packed) as source, open(path, "wb") as target:
            shutil.copyfileobj(source, target)
        for extractor in todo:
            answer, missing = extract(path, extractor, seconds)
            table.add(family=family, instance=instance, extractor=extractor, missing_roots="yes" if missing else "no",
                      cost=answer["dag_cost"], bound=answer["bound"], status=answer["status"],
                      seconds=f"{answer['seconds']:.4f}", best_known=best.get("best_known_dag_cost", ""),
                      known_optimal=best.get("proven_optimal", ""))


def above(cost, other):
    """By more than the known costs are rounded."""
    return cost > other + 1e-6 * max(1, abs(other))


def above_known(row):
    return bool(row["best_known"]) and above(float(row["cost"]), float(row["best_known"]))


def compare_with_program(rows, known):
    """Seconds of these rows and of the collection's own integer program, where that has a time and no better cost."""
    ours, theirs, files = 0.0, 0.0, 0
    for row in rows:
        peer = known.get((row["family"], row["instance"]), {})
        if peer.get("faster_ilp_10s_us") and not above(float(row["cost"]), float(peer["faster_ilp_10s"])):
            ours += float(row["seconds"])
            theirs += float(peer["faster_ilp_10s_us"]) / 1e6
            files += 1
    print(f"{files} files that the collection's integer program has a time for: {ours:.2f} s, and its {theirs:.2f} s")
    return theirs / ours


def print_summary(rows, extractors):
    print(f"{'family':12} {'extractor':12} {'files':>5} {'optimal':>7} {'above known':>11} {'below known':>11} "
          f"{'seconds':>8} {'longest':>7}")
    for family in sorted({row["family"] for row in rows}) + ["all"]:
        for extractor in extractors:
            some = [r for r in rows if r["extractor"] == extractor and family in (r["family"], "all")]
            seconds = [float(row["seconds"]) for row in some]
            below = [r for r in some if r["best_known"] and above(float(r["best_known"]), float(r["cost"]))]
            print(f"{family:12} {extractor:12} {len(some):5} {sum(r['status'] == 'optimal' for r in some):7} "
                  f"{sum(map(above_known, some)):11} {len(below):11} {sum(seconds):8.1f} {max(seconds):7.2f}")


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = forms[mode]
    if not GYM.is_dir():
        print(f"skipped: no e-graphs in {GYM}")
        return 0
    table = results.Table("extraction", mode, COLUMNS, ["family", "instance", "extractor"],
                          {"egret": egret.version(), "seconds": str(config["seconds"])})
    known = known_costs()
    for family in config["families"]:
        for packed in sorted((GYM / family).glob("*.json.xz")):
            solve(table, known, family, packed, config["extractors"], config["seconds"])
    table.finish()
    print_summary(table.rows, config["extractors"])
    exact = [row for row in table.rows if row["extractor"] == "auto"]
    optimal = [row for row in exact if row["status"] == "optimal"]
    return results.judge(HERE / "expected.json", mode, {
        "optimal_share": len(optimal) / len(exact),
        "optimal_share_in_10_s": sum(float(row["seconds"]) <= 10 for row in optimal) / len(exact),
        "above_known": sum(map(above_known, exact)),
        "speed_by_integer_program": compare_with_program(exact, known),
    })


if __name__ == "__main__":
    sys.exit(main())
