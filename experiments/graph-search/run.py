# SPDX-License-Identifier: Apache-2.0
"""Equality saturation beside TASO's and MetaFlow's searches over whole graphs: the same rules and costs."""
import pathlib
import sys
import tempfile

from lib import egret, results, settings

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["model", "method", "operators_before", "operators_after", "original", "cost", "stop_reason",
           "graphs_rewritten", "graphs_seen", "e_nodes", "seconds"]
SEARCHING = ("saturate", "search", "extract")


def optimize(model, method, config, folder):
    return egret.call("optimize", model, "-o", folder / "optimized.onnx", "--extractor", method, "--rules",
                      config["rules"], "--cost", config["cost"], "--limit-time", f"{config['seconds']}s",
                      "--extract-time", f"{config['seconds']}s", "--search-alpha", config["alpha"],
                      "--search-budget", config["budget"], "--no-measure", "--threads", 1)


def solve(table, folder, name, config):
    for method in config["methods"]:
        if table.has(model=name, method=method):
            continue
        model = folder / f"{name}.onnx"
        if not model.exists():
            egret.run("zoo", name, "-o", model)
        answer = optimize(model, method, config, folder)
        seconds = sum(answer["seconds_by_phase"].get(phase, 0) for phase in SEARCHING)
        table.add(model=name, method=method, original=answer["predicted_before_s"], cost=answer["extraction"]["cost"],
                  seconds=f"{seconds:.3f}", graphs_rewritten=answer.get("graphs_rewritten", ""),
                  graphs_seen=answer.get("graphs_seen", ""),
                  **{c: answer[c] for c in ("operators_before", "operators_after", "stop_reason", "e_nodes")})


def share(row):
    return float(row["cost"]) / float(row["original"])


def print_summary(rows):
    print(f"{'model':14} {'method':20} {'of original':>11} {'seconds':>8} {'graphs':>9}  stopped")
    for row in rows:
        print(f"{row['model']:14} {row['method']:20} {share(row):11.4f} {float(row['seconds']):8.2f} "
              f"{row['graphs_seen']:>9}  {row['stop_reason']}")


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = {**{k: v for k, v in forms.items() if k not in ("smoke", "full")}, **forms[mode]}
    table = results.Table("graph-search", mode, COLUMNS, ["model", "method"],
                          {"egret": egret.version(), **{k: str(config[k]) for k in
                                                        ("rules", "cost", "seconds", "alpha", "budget")}})
    with tempfile.TemporaryDirectory() as folder:
        for name in config["models"]:
            solve(table, pathlib.Path(folder), name, config)
    table.finish()
    print_summary(table.rows)
    best = {row["model"]: share(row) for row in table.rows if row["method"] == "auto"}
    searched = [share(row) / best[row["model"]] for row in table.rows if row["method"].startswith("backtracking")]
    return results.judge(HERE / "expected.json", mode, {
        "least_search_by_auto": min(searched),
    })


if __name__ == "__main__":
    sys.exit(main())
