# SPDX-License-Identifier: Apache-2.0
"""Proofs, for all sizes, of the rules that come with Egret and of those that others published.

Published rules are translated into Egret's language by the import_*.py beside this file; without the
data they are left out, with a message.
"""
import csv
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import dropped
from lib import egret, results, settings

HERE = pathlib.Path(__file__).resolve().parent
HARD = HERE.parent.parent / "tests" / "verifier" / "data" / "hard.rules"
MISTAKES = HARD.with_name("mistakes.rules")
# Rules in tests/verifier/data, one or several files a set.
OWN = {
    "hard": ["hard.rules"],
    "large-conditions": ["large_conditions.rules"],
    "xla": ["xla_elementwise.rules", "xla_movement.rules", "xla_contractions.rules"],
}
DROPPED = HARD.with_name("dropped_conditions.rules")  # verified without their last conditions
XLA = HARD.with_name("xla.csv")  # what XLA simplifies, and whether the rule language can say it
DATA = egret.SHARED / "rules-data"
COLUMNS = ["set", "rule", "seed", "status", "condition", "under_condition", "weakest", "recovered", "method", "families", "axes",
           "kinds", "kinds_covered", "any_rank", "limit", "queries", "query_seconds", "query_work", "seconds", "reason"]
INFER = "--infer-conditions"
SEEDED = ("mistakes", "thresholds")  # sets with seeds instead of names; their times are not counted
VERDICTS = (0, 20, 30)  # exit codes: all proven, one refuted, one undecided

# set: script, file, further arguments
IMPORTED = {
    "taso": ("import_taso.py", "taso_graph_subst.pb"),
    "taso-as-written": ("import_taso.py", "taso_graph_subst.pb", "--as-written"),
    "tensat": ("import_tensat.py", "taso_rules.txt"),
    "tensat-rules": ("import_tensat.py", "converted.txt"),
    "tensat-pairs": ("import_tensat.py", "converted_multi.txt", "--pairs"),
    "flexflow": ("import_flexflow.py", "flexflow_graph_subst_3_v2.json.xz"),
}


def kept(text, names):
    """The rules of a file with these names; all if none are given."""
    rules = re.split(r"^(?=rule )", text, flags=re.MULTILINE)[1:]
    return "".join(rule for rule in rules if not names or rule.split()[1] in names)


def imported(name, folder, names):
    """A file with the rules of a set, and the names of those that are no rules; None without the data."""
    script, data, *arguments = IMPORTED[name]
    if not (DATA / data).exists():
        print(f"{name}: left out, there is no {DATA / data}")
        return None
    done = subprocess.run([sys.executable, HERE / script, DATA / data, *arguments], capture_output=True, text=True,
                          check=True)
    path = pathlib.Path(folder) / f"{name}.rules"
    path.write_text(kept(done.stdout, names))
    return path, [] if names else [line.split(": ", 1) for line in done.stderr.splitlines() if ": " in line]


def verify(table, name, selection, *arguments, seed=1):
    """Adds the verdicts; returns the seconds that they took, conditions included."""
    done = egret.call("rules", "verify", selection, "--seed", str(seed), *arguments, accept=VERDICTS)
    for rule in done["rules"]:
        table.add(set=name, rule=rule["name"], seed=seed, seconds=f"{rule['seconds']:.4f}",
                  query_seconds=f"{rule['solver']['longest_query_s']:.4f}", query_work=rule["solver"]["most_work"],
                  under_condition=rule["status_under_condition"],
                  weakest=rule["weakest"],
                  **{c: rule[c] for c in ("status", "condition", "method", "families", "axes", "kinds", "kinds_covered",
                                       "any_rank", "limit", "queries", "reason")})
    return done["seconds"]


def verify_dropped(table, name, folder, names):
    """Rules without their last conditions, and how the conditions that are found instead compare with these."""
    whole = {rule: text for rule, text in dropped.rules_of(DROPPED.read_text()).items() if not names or rule in names}
    path = pathlib.Path(folder) / f"{name}.rules"
    path.write_text("".join(dropped.without_last(text)[0] for text in whole.values()))
    seconds = verify(table, name, path, INFER)

    def verdicts(file):
        return {rule["name"]: rule for rule in egret.call("rules", "verify", file, accept=VERDICTS)["rules"]}

    for rule, text in whole.items():
        found = next(row for row in table.rows if row["set"] == name and row["rule"] == rule)["condition"]
        table.set({"set": name, "rule": rule}, recovered=dropped.recovered(rule, text, found, folder, verdicts))
    return seconds


def summary(rows):
    seconds = [float(row["seconds"]) for row in rows if row["seconds"]] or [0.0]
    status = [row["status"] for row in rows]
    conditional = sum(row["under_condition"] == "proven" for row in rows)
    counts = ", ".join(f"{status.count(s)} {s}" for s in dict.fromkeys(status))
    longest = max(float(row["query_seconds"] or 0) for row in rows)
    return (f"{len(rows)} rules: {counts}; {conditional} of the refuted proven under a condition; "
            f"median {statistics.median(seconds):.3f} s, longest {max(seconds):.2f} s, all {sum(seconds):.0f} s, longest query {longest:.2f} s")


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = forms[mode]
    table = results.Table("verifier", mode, COLUMNS, ["set", "rule", "seed"], {"egret": egret.version(), **config})
    elapsed = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, names in config["sets"].items():
            if name not in SEEDED and table.has(set=name):
                continue
            if name == "egret":
                elapsed[name] = verify(table, name, names[0], INFER)
            elif name == "taso-axioms":
                path = pathlib.Path(folder) / "axioms.rules"
                path.write_text(kept((HERE / "taso_axioms.rules").read_text(), names))
                elapsed[name] = verify(table, name, path, INFER)
            elif name == "dropped-conditions":
                elapsed[name] = verify_dropped(table, name, folder, names)
            elif name in OWN:
                path = pathlib.Path(folder) / f"{name}.rules"
                path.write_text("".join(kept(HARD.with_name(file).read_text(), names) for file in OWN[name]))
                elapsed[name] = verify(table, name, path, INFER)
            elif name == "mistakes":
                for seed in names:
                    if not table.has(set=name, seed=seed):
                        verify(table, name, MISTAKES, seed=seed)
            elif name == "thresholds":
                for seed in names:
                    if not table.has(set=name, seed=seed):
                        path = pathlib.Path(folder) / f"thresholds-{seed}.rules"
                        drawn = [sys.executable, HERE / "thresholds.py", "--seed", seed]
                        path.write_text(subprocess.run(drawn, capture_output=True, text=True, check=True).stdout)
                        verify(table, name, path, seed=seed)
            elif (made := imported(name, folder, names)) is not None:
                elapsed[name] = verify(table, name, made[0], INFER)
                for rule, problem in made[1]:
                    table.add(set=name, rule=rule, status="ill-formed", reason=problem)
    table.finish()
    by_set = {name: [row for row in table.rows if row["set"] == name] for name in config["sets"]}
    values = {}
    for name, rows in by_set.items():
        if rows:
            print(f"{name}: {summary(rows)}")
            for status in ("proven", "bounded", "refuted", "undecided", "ill-formed"):
                values[f"{name}.{status}"] = sum(row["status"] == status for row in rows)
            limited = [row for row in rows if row["status"] == "proven" and row["limit"]]
            values[f"{name}.proven_with_limit"] = len(limited)
            if limited:
                print(f"  {len(limited)} of the proven ones have a limit, {limited[0]['rule']}: {limited[0]['limit']}")
            values[f"{name}.any_rank"] = sum(str(row["any_rank"]) == "True" for row in rows)
            values[f"{name}.vacuous"] = sum(row["status"] == "vacuous" for row in rows)
            values[f"{name}.proven_share"] = values[f"{name}.proven"] / len(rows)
            values[f"{name}.longest_query_s"] = max(float(row["query_seconds"] or 0) for row in rows)
            values[f"{name}.conditional"] = sum(row["under_condition"] == "proven" for row in rows)
    seconds = [float(row["seconds"]) for row in table.rows if row["seconds"] and row["set"] not in SEEDED]
    if by_set.get("thresholds"):
        wrong = [row for row in by_set["thresholds"] if row["rule"].startswith("wrong")]
        right = [row for row in by_set["thresholds"] if row["rule"].startswith("right")]
        values["thresholds.wrong_proven"] = sum(row["status"] == "proven" for row in wrong)
        values["thresholds.wrong_refuted_share"] = sum(row["status"] == "refuted" for row in wrong) / len(wrong)
        values["thresholds.right_proven_share"] = sum(row["status"] == "proven" for row in right) / len(right)
        print(f"  {len(wrong)} wrong rules, {values['thresholds.wrong_proven']} called proven; {len(right)} right ones")
    if rows := by_set.get("dropped-conditions"):
        found = [row["recovered"] for row in rows]
        print("  dropped conditions found: " + ", ".join(f"{found.count(f)} {f}" for f in dict.fromkeys(found)))
        values["dropped-conditions.found_share"] = sum(f in ("exactly", "equivalent") for f in found) / len(found)
        values["dropped-conditions.weakest_proven"] = sum(row["weakest"] == "proven" for row in rows)
    if by_set.get("xla"):
        with XLA.open() as file:
            stated = list(csv.DictReader(file))
        can_say = sum(row["expressible"] == "yes" for row in stated)
        print(f"  of {len(stated)} rewrites of XLA, {can_say} can be stated, {values['xla.proven']} are proven, "
              f"{values['xla.any_rank']} of them at any rank")
        values["xla.expressible_share"] = can_say / len(stated)
    values["median_s"] = statistics.median(seconds)
    print(f"all: median {values['median_s']:.4f} s, {sum(seconds):.0f} s of processor time for verdicts")
    if set(elapsed) == {name for name, rows in by_set.items() if rows} - set(SEEDED):  # nothing resumed
        values["elapsed_s"] = sum(elapsed.values())
        print(f"elapsed, conditions included: {values['elapsed_s']:.0f} s")
    return results.judge(HERE / "expected.json", mode, values)


if __name__ == "__main__":
    sys.exit(main())
