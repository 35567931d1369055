# SPDX-License-Identifier: Apache-2.0
"""Do predicted times order graphs as measured ones do? Alternatives of models, raced in Egret's CPU backend."""
import pathlib
import sqlite3
import statistics
import sys
import tempfile

from lib import egret, results, settings
from lib.races import agreement, measured, pairs_apart, share_in_order

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["model", "set", "name", "operators", "predicted_s", "kernels_s", "known_kernels_s", "measured_s", "by_original",
           "again_by_original"]


def optimize(model, folder, how, config, *options):
    return egret.call("optimize", model, "-o", folder / "optimized.onnx", "--cost", config["cost"], "--cost-db",
                      folder / "costs.db", "--alternatives", config["alternatives"], "--alternative-spread",
                      how["spread"], "--alternative-kept", how["kept"], "--extractor", config["extractor"],
                      "--limit-nodes", config["nodes"], "--profile-time", f"{config['profile_s']}s",
                      "--measure-time", f"{config['measure_s']}s", "--no-check", "--threads", config["threads"], *options)


def race(*arguments):
    """The graphs of one race by what tells them apart; the original is the first."""
    answer = optimize(*arguments)
    original = {"name": "original", "operators": answer["operators_before"],
                **{c: answer[c.replace("_s", "_before_s")]
                   for c in ("predicted_s", "kernels_s", "known_kernels_s", "measured_s")}}
    graphs = {}
    for graph in [original, *answer["candidates"]]:
        graph["by_original"] = graph["measured_s"] / original["measured_s"]
        graphs.setdefault((graph["operators"], f"{graph['kernels_s']:.9g}"), graph)
    return graphs


def forget_races(folder):
    with sqlite3.connect(folder / "costs.db") as database:
        database.execute("DELETE FROM profile WHERE key LIKE 'race %'")


def races_of_same_graphs(folder, *arguments):
    """Two races. A race may time operators that no graph had before, and their prices change the graphs of the next
    one; after several races those of the last two are what both have."""
    second = race(*arguments)
    for _ in range(4):
        first = second
        forget_races(folder)
        second = race(*arguments)
        if first.keys() == second.keys():
            break
    return first, second


def measure(table, folder, name, set_name, config):
    """Two races of the same graphs: what the second says of the first is what any prediction can."""
    if table.has(model=name, set=set_name):
        return
    model = folder / f"{name}.onnx"
    egret.run("zoo", name, "-o", model)
    how = config["sets"][set_name]
    optimize(model, folder, how, config, "--no-measure")  # its operators are known from here on
    first, second = races_of_same_graphs(folder, model, folder, how, config)
    rows = [{**first[key], "again_by_original": second[key]["by_original"]} for key in first if key in second]
    for row in rows:
        table.add(model=name, set=set_name, **{c: row[c] for c in COLUMNS if c in row})


def alternatives(rows):
    """Without the program, and what `optimize` races anyway."""
    return [row for row in rows if row["name"].startswith("alternative")]


def best_measured(rows, column, count):
    """Of the graphs with the best predictions, the time of the fastest, as measured in both races."""
    best = sorted(rows, key=lambda row: float(row[column]))[:count]
    return min(map(measured, best))


def print_race(found):
    """What the race adds to a prediction: the fastest of the graphs that are predicted best."""
    print(f"\n{'':28} {'fastest of the k best by':^41}")
    print(f"{'':24} {'operators':^21} {'kernels':^21}")
    print(f"{'model':14} {'set':8}" + 2 * f" {'k = 1':>6} {'k = 3':>6} {'k = 5':>6}" + f" {'of all':>7}")
    for (name, set_name), rows in found.items():
        times = [best_measured(rows, column, k) for column in ("predicted_s", "kernels_s") for k in (1, 3, 5)]
        print(f"{name:14} {set_name:8}" + "".join(f" {time:6.3f}" for time in times) +
              f" {best_measured(rows, 'kernels_s', len(rows)):7.3f}")


def print_summary(found):
    print(f"{'':28} {'rank correlation of':^30} {'pairs apart':^25}")
    print(f"{'model':14} {'set':8} {'graphs':>6} {'kernels':>9} {'operators':>9} {'a 2nd race':>10} {'pairs':>6} "
          f"{'kernels':>8} {'operators':>9} {'known':>6} {'fastest':>8} {'slowest':>8}")
    for (name, set_name), rows in found.items():
        times = [float(row["by_original"]) for row in rows]
        known = statistics.mean(float(row["known_kernels_s"]) / float(row["kernels_s"]) for row in rows)
        print(f"{name:14} {set_name:8} {len(rows):6} {agreement(rows, 'kernels_s'):9.3f} "
              f"{agreement(rows, 'predicted_s'):9.3f} {agreement(rows, 'again_by_original'):10.3f} "
              f"{len(pairs_apart(rows)):6} {share_in_order(rows, 'kernels_s'):8.1%} "
              f"{share_in_order(rows, 'predicted_s'):9.1%} {known:6.1%} "
              f"{min(times):8.3f} {max(times):8.3f}")


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = {**{k: v for k, v in forms.items() if k not in ("smoke", "full")}, **forms[mode]}
    table = results.Table("cost-model", mode, COLUMNS, ["model", "set", "name"],
                          {"egret": egret.version(), **{k: str(v) for k, v in config.items() if k != "models"}})
    for name in config["models"]:
        with tempfile.TemporaryDirectory() as folder:
            for set_name in config["sets"]:
                measure(table, pathlib.Path(folder), name, set_name, config)
    table.finish()
    found = {(name, of): [row for row in table.rows if (row["model"], row["set"]) == (name, of)]
             for of in config["sets"] for name in config["models"]}
    print_summary(found)
    print_race(found)
    judged = {}
    for of in config["sets"]:
        some = [rows for (_, set_name), rows in found.items() if set_name == of]
        judged[f"{of}.least_rank_correlation"] = min(agreement(rows, "kernels_s") for rows in some)
        judged[f"{of}.least_share_in_order"] = min(share_in_order(rows, "kernels_s") for rows in some)
        judged[f"{of}.fewest_alternatives"] = min(len(alternatives(rows)) for rows in some)
    return results.judge(HERE / "expected.json", mode, judged)


if __name__ == "__main__":
    sys.exit(main())
