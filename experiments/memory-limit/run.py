# SPDX-License-Identifier: Apache-2.0
"""The cheapest graph that was found under a limit of memory: shares of what the cheapest of all takes."""
import pathlib
import re
import sys
import tempfile

from lib import egret, results, settings

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["model", "share", "limit", "original_arena", "arena", "cost", "bound", "original_cost", "seconds", "message"]
UNSUPPORTED = 4
PROOF = "by itself"  # of the message that no equal graph fits, and why


def optimize(model, folder, limit, config):
    return egret.call("optimize", model, "-o", folder / "optimized.onnx", "--extractor", config["extractor"], "--cost",
                      config["cost"], "--limit-arena", limit, "--limit-time", f"{config['seconds']}s",
                      "--no-measure", "--no-check", "--threads", 1)


def row_of(answer):
    return {"original_arena": answer["arena_bytes_before"], "arena": answer["arena_bytes_after"],
            "cost": answer["extraction"]["cost"], "bound": answer["extraction"]["bound"],
            "original_cost": answer["predicted_before_s"], "seconds": f"{answer['seconds']:.2f}"}


def solve(table, folder, name, config):
    todo = [share for share in (1, *config["shares"]) if not table.has(model=name, share=share)]
    if not todo:
        return
    model = folder / f"{name}.onnx"
    egret.run("zoo", name, "-o", model)
    free = optimize(model, folder, 0, config)
    for share in todo:
        limit = int(share * free["arena_bytes_after"])
        try:
            found = row_of(free if share == 1 else optimize(model, folder, limit, config))
        except egret.EgretError as error:
            if error.code != UNSUPPORTED:
                raise
            found = {"message": re.sub(r"\s+", " ", str(error).split("error:")[-1]).strip()}
        table.add(model=name, share=share, limit=limit, **found)


def gap(row):
    return 1 - float(row["bound"]) / float(row["cost"])


def print_summary(rows):
    print(f"{'model':14} {'share':>5} {'limit':>11} {'arena':>11} {'of original cost':>16} {'gap':>7}")
    for row in rows:
        answer = (row["message"] if row["message"] else
                  f"{int(row['arena']):11,} {float(row['cost']) / float(row['original_cost']):16.4f} {gap(row):7.2%}")
        print(f"{row['model']:14} {row['share']:>5} {int(row['limit']):11,} {answer}")


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = {**{k: v for k, v in forms.items() if k not in ("smoke", "full")}, **forms[mode]}
    table = results.Table("memory-limit", mode, COLUMNS, ["model", "share"],
                          {"egret": egret.version(), **{k: str(config[k]) for k in ("cost", "extractor", "seconds")}})
    with tempfile.TemporaryDirectory() as folder:
        for name in config["models"]:
            solve(table, pathlib.Path(folder), name, config)
    table.finish()
    print_summary(table.rows)
    kept = [row for row in table.rows if row["arena"]]
    return results.judge(HERE / "expected.json", mode, {
        "largest_arena_by_limit": max(int(row["arena"]) / int(row["limit"]) for row in kept),
        "found": len(kept),
        "decided": len(kept) + sum(PROOF in row["message"] for row in table.rows),
    })


if __name__ == "__main__":
    sys.exit(main())
