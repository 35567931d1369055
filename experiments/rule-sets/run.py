# SPDX-License-Identifier: Apache-2.0
"""What `egret optimize` makes of each model with one set of rules and with another, and which rules each model
uses."""
import csv
import pathlib
import statistics
import sys
import tempfile

import onnx

from lib import egret, models, results, settings

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["model", "rules", "operators_before", "operators", "predicted_before_ms", "predicted_ms", "e_nodes",
           "stop", "extraction", "rules_used", "same_graph", "measured_ms", "optimize_s"]


def optimize(path, rules, sizes, *flags):
    return egret.call("optimize", path, "--rules", rules, *models.bind_flags(sizes), *flags)


def predict(table, uses, model, path, rules, sizes, folder):
    name = model.split(":", 1)[1]
    report = optimize(path, rules, sizes, "-o", folder / "out.onnx", "--cost", "roofline", "--no-measure",
                      "--no-check", "--extract-time", "60s")
    table.add(model=name, rules=rules, operators_before=report["operators_before"],
              operators=report["operators_after"], predicted_before_ms=f"{1e3 * report['predicted_before_s']:.5f}",
              predicted_ms=f"{1e3 * report['predicted_after_s']:.5f}", e_nodes=report["e_nodes"],
              stop=report["stop_reason"], extraction=report["extraction"]["status"],
              rules_used=sum(rule["count"] for rule in report["rules_used"]), optimize_s=f"{report['seconds']:.1f}")
    applied = egret.call("egraph", "stats", path, "--rules", rules, *models.bind_flags(sizes))["rules"]
    for rule in applied:
        if rule["applied"]:
            uses[rules, rule["name"], name] = [0, rule["applied"]]
    for rule in report["rules_used"]:
        uses.setdefault((rules, rule["name"], name), [0, 0])[0] += rule["count"]


def graph_of(file):
    """What a file holds but its manifest, which names the rules."""
    model = onnx.load(file)
    del model.metadata_props[:]
    return model.SerializeToString(deterministic=True)


def measure(table, model, path, sets, sizes, size, folder):
    """The results of all sets take turns within one process, round by round. Where they are one graph,
    there is nothing to compare, and one round says how fast it is."""
    files = []
    for rules in sets:
        files.append(folder / f"{rules}.onnx")
        optimize(path, rules, sizes, "-o", files[-1])
    same = len({graph_of(file) for file in files}) == 1
    timed = files[:1] if same else files
    rounds = [[m["median_s"] for m in egret.call("bench", *timed, "--time", f"{size['seconds']}s",
                                                 *models.bind_flags(sizes))["models"]]
              for _ in range(1 if same else size["rounds"])]
    name = model.split(":", 1)[1]
    for i, rules in enumerate(sets):
        median = statistics.median(r[0 if same else i] for r in rounds)
        table.set({"model": name, "rules": rules}, same_graph="yes" if same else "no", measured_ms=f"{1e3 * median:.3f}")


def say(table, name, column):
    print("  ", name, {row["rules"]: row[column] for row in table.rows if row["model"] == name}, flush=True)


def ratios(table, sets, column):
    """By model, the second set's value over the first one's."""
    value = {(row["model"], row["rules"]): float(row[column]) for row in table.rows if row[column]}
    return {model: value[model, sets[1]] / value[model, sets[0]]
            for model, rules in value if rules == sets[1] and (model, sets[0]) in value}


def main():
    mode, config = settings.read(__doc__, HERE)
    size, sets = config[mode], config["sets"]
    table = results.Table("rule-sets", mode, COLUMNS, ["model", "rules"], {"egret": egret.version(), "sets": sets})
    uses_path = table.folder / f"{mode}.uses.csv"
    uses = {}
    if table.rows and uses_path.exists():
        with open(uses_path, newline="") as file:
            uses = {(r["set"], r["rule"], r["model"]): [int(r["count"]), int(r["applied"])]
                    for r in csv.DictReader(file)}
    skipped = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        # All that can be had on a busy machine comes first.
        for model in size["predicted"]:
            name = model.split(":", 1)[1]
            wanted = [rules for rules in sets if not table.has(model=name, rules=rules)]
            if not wanted:
                continue
            with models.located(model, folder) as path:
                if path is None:
                    skipped.append(name)
                    continue
                for rules in wanted:
                    predict(table, uses, model, path, rules, config["bind"].get(model, {}), folder)
            with open(uses_path, "w", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(["set", "rule", "model", "count", "applied"])
                writer.writerows([*key, *uses[key]] for key in sorted(uses))
            say(table, name, "predicted_ms")
        for model in size["measured"]:
            name = model.split(":", 1)[1]
            if all(row["measured_ms"] for row in table.rows if row["model"] == name):
                continue
            with models.located(model, folder) as path:
                measure(table, model, path, sets, config["bind"].get(model, {}), size, folder)
            say(table, name, "measured_ms")
    table.finish()
    table.print()
    counts = {(rule, model): n for (rules, rule, model), (n, _) in uses.items() if rules == sets[-1] and n}
    with open(table.folder / f"{mode}.heatmap.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["rule", "model", "count"])
        writer.writerows([*key, counts[key]] for key in sorted(counts))
    if skipped:
        print("left out, the shared models are not there:", ", ".join(skipped))
    predicted = ratios(table, sets, "predicted_ms")
    measured = ratios(table, sets, "measured_ms")
    for model, ratio in predicted.items():
        if ratio > 1:
            print(f"predicted worse with {sets[1]}: {model}, {ratio:.5f}")
    values = {"largest_predicted_ratio": max(predicted.values())}
    if measured:
        values["largest_measured_ratio"] = max(measured.values())
    return results.judge(HERE / "expected.json", mode, values)


if __name__ == "__main__":
    sys.exit(main())
