# SPDX-License-Identifier: Apache-2.0
"""Extraction from e-graphs of models, grown by Egret's rules: costs and proven gaps, greedy and exact."""
import pathlib
import sys
import tempfile

from lib import egret, results, settings

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["rules", "model", "limit_nodes", "nodes", "extractor", "original", "cost", "bound", "gap", "status", "seconds"]


def grow(model, path, nodes, rules, config):
    """The e-graph as a file, priced by the cost model."""
    rules = ",".join(str(egret.ROOT / item) if "/" in item else item for item in rules.split(","))
    egret.run("egraph", "dump", model, "--rules", rules, "--limit-nodes", max(nodes, 1), "--limit-iterations",
              config["iterations"] if nodes else 0, "--limit-time", "120s", "--threads", 1, "--form", "json",
              "--node-cost", config["cost"], "-o", path)


def gap(row):
    return 1 - float(row["bound"]) / float(row["cost"])


def solve(table, folder, rules, name, config):
    todo = [(nodes, extractor) for nodes in config["nodes"] for extractor in config["extractors"]
            if not table.has(rules=rules, model=name, limit_nodes=nodes, extractor=extractor)]
    if not todo:
        return
    model, egraph = folder / f"{name}.onnx", folder / "egraph.json"
    egret.run("zoo", name, "-o", model)
    grow(model, egraph, 0, rules, config)
    original = egret.call("extract", egraph, "--extractor", "tree-greedy")["dag_cost"]
    grown = None
    for nodes, extractor in todo:
        if grown != nodes:
            grow(model, egraph, nodes, rules, config)
            grown = nodes
            size = egret.call("egraph", "stats", egraph)["nodes"]
        answer = egret.call("extract", egraph, "--extractor", extractor, "--extract-time", f"{config['seconds']}s")
        table.add(rules=rules, model=name, limit_nodes=nodes, nodes=size, extractor=extractor, original=original,
                  cost=answer["dag_cost"], bound=answer["bound"], gap=f"{gap({**answer, 'cost': answer['dag_cost']}):.6f}",
                  status=answer["status"], seconds=f"{answer['seconds']:.3f}")


def print_summary(rows):
    print(f"{'rules':8} {'model':14} {'nodes':>7} {'extractor':12} {'of original':>11} {'gap':>8} {'status':9} {'seconds':>8}")
    for row in rows:
        print(f"{row['rules']:8} {row['model']:14} {row['nodes']:>7} {row['extractor']:12} "
              f"{float(row['cost']) / float(row['original']):11.4f} {float(row['gap']):8.2%} {row['status']:9} "
              f"{float(row['seconds']):8.2f}")


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = {"rules": forms["rules"], "cost": forms["cost"], "iterations": 100, **forms[mode]}
    table = results.Table("extraction-models", mode, COLUMNS, ["rules", "model", "limit_nodes", "extractor"],
                          {"egret": egret.version(), "rules": " ".join(config["rules"]), "cost": config["cost"],
                           "seconds": str(config["seconds"])})
    with tempfile.TemporaryDirectory() as folder:
        for rules in config["rules"]:
            for name in config["models"]:
                solve(table, pathlib.Path(folder), rules, name, config)
    table.finish()
    print_summary(table.rows)
    gaps = [gap(row) for row in table.rows if row["extractor"] == "auto"]
    return results.judge(HERE / "expected.json", mode, {
        "largest_gap": max(gaps),
    })


if __name__ == "__main__":
    sys.exit(main())
