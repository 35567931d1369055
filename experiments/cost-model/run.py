# SPDX-License-Identifier: Apache-2.0
"""Do predicted times order graphs as measured ones do? Alternatives of models, raced in Egret's CPU backend."""
import pathlib
import statistics
import sys
import tempfile

from lib import egret, results, settings

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["model", "seed", "name", "operators", "predicted_s", "measured_s", "by_original"]


def race(model, folder, seed, config):
    return egret.call("optimize", model, "-o", folder / "optimized.onnx", "--cost", config["cost"], "--cost-db",
                      folder / "costs.db", "--seed", seed, "--alternatives", config["alternatives"],
                      "--alternative-spread", config["spread"], "--extractor", config["extractor"], "--limit-nodes",
                      config["nodes"], "--profile-time", f"{config['profile_s']}s", "--measure-time",
                      f"{config['measure_s']}s", "--no-check", "--threads", config["threads"])


def measure(table, folder, name, config):
    """Races until there are enough different graphs; a race's times are taken relative to its original."""
    model = folder / f"{name}.onnx"
    for seed in range(1, config["races"] + 1):
        if len(alternatives(table.rows, name)) >= config["graphs"]:
            return
        if table.has(model=name, seed=seed):
            continue
        if not model.exists():
            egret.run("zoo", name, "-o", model)
        answer = race(model, folder, seed, config)
        original = {"name": "original", "operators": answer["operators_before"],
                    "predicted_s": answer["predicted_before_s"], "measured_s": answer["measured_before_s"]}
        for graph in [original, *answer["candidates"]]:
            table.add(model=name, seed=seed, by_original=f"{graph['measured_s'] / original['measured_s']:.4f}",
                      **{c: graph[c] for c in ("name", "operators", "predicted_s", "measured_s")})


def alternatives(rows, name):
    """Different graphs of a model: those predicted alike are taken for one."""
    different = {}
    for row in rows:
        if row["model"] == name:
            different.setdefault((row["operators"], f"{float(row['predicted_s']):.6g}"), row)
    return list(different.values())


def ranks(values):
    """From 1; equal values share the mean of theirs."""
    below = [sum(other < value for other in values) for value in values]
    return [rank + (1 + values.count(value)) / 2 for rank, value in zip(below, values)]


def spearman(rows):
    return statistics.correlation(*(ranks([float(row[c]) for row in rows]) for c in ("predicted_s", "by_original")))


def print_summary(found):
    print(f"{'model':14} {'graphs':>6} {'rank correlation':>16} {'fastest':>8} {'slowest':>8}   by the original")
    for name, rows in found.items():
        times = [float(row["by_original"]) for row in rows]
        print(f"{name:14} {len(rows):6} {spearman(rows):16.3f} {min(times):8.3f} {max(times):8.3f}")


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = {**{k: v for k, v in forms.items() if k not in ("smoke", "full")}, **forms[mode]}
    table = results.Table("cost-model", mode, COLUMNS, ["model", "seed", "name"],
                          {"egret": egret.version(), **{k: str(v) for k, v in config.items() if k != "models"}})
    with tempfile.TemporaryDirectory() as folder:
        for name in config["models"]:
            measure(table, pathlib.Path(folder), name, config)
    table.finish()
    found = {name: alternatives(table.rows, name) for name in config["models"]}
    print_summary(found)
    return results.judge(HERE / "expected.json", mode, {
        "least_rank_correlation": min(spearman(rows) for rows in found.values()),
        "fewest_graphs": min(len(rows) for rows in found.values()),
    })


if __name__ == "__main__":
    sys.exit(main())
