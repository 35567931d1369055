# SPDX-License-Identifier: Apache-2.0
"""Rules discovered from definitions: counts by number of operators beside TASO's, and which published rules
they derive."""
import itertools
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from lib import egret, results, settings

HERE = pathlib.Path(__file__).resolve().parent
COUNTS = ["terms", "classes", "equal", "accidents", "collisions", "candidates", "derived", "proven", "conditional",
          "refuted", "undecided", "kept"]
COLUMNS = ["run", "operators", *COUNTS, "enumeration_s", "enumeration_cpu_s", "decision_s", "decision_cpu_s", "seconds", "enumeration_bytes",
           "rules", "from_log", "false_positive_rate", "collision_bound", "limit", "missing"]
GOALS = {"tensat": ("import_tensat.py", "taso_rules.txt"), "taso": ("import_taso.py", "taso_graph_subst.pb")}


def imported(name, folder):
    """A file with published rules, by the importers of the verifier's experiment; None without the data."""
    script, data = GOALS[name]
    path = egret.SHARED / "rules-data" / data
    if not path.exists():
        print(f"{name}: left out, there is no {path}")
        return None
    text = subprocess.run([sys.executable, HERE.parent / "verifier" / script, path], capture_output=True, text=True,
                          check=True).stdout
    made = pathlib.Path(folder) / f"{name}.rules"
    made.write_text(text)
    return made


def add_rows(table, run, report):
    levels = report["levels"]
    for level in levels:
        table.add(run=run, operators=level["operators"], **{c: level[c] for c in COUNTS},
                  enumeration_s=f"{level['enumeration_s']:.2f}", enumeration_cpu_s=f"{level['enumeration_cpu_s']:.2f}",
                  decision_s=f"{level['decision_s']:.1f}", decision_cpu_s=f"{level['decision_cpu_s']:.1f}",
                  enumeration_bytes=level["enumeration_bytes"],
                  collision_bound=f"{level['collision_bound']:.1e}")
    table.add(run=run, operators="all", **{c: report.get(c, "") for c in COUNTS},
              enumeration_s=f"{sum(level['enumeration_s'] for level in levels):.2f}",
              enumeration_cpu_s=f"{sum(level['enumeration_cpu_s'] for level in levels):.2f}",
              decision_s=f"{sum(level['decision_s'] for level in levels):.1f}",
              decision_cpu_s=f"{sum(level['decision_cpu_s'] for level in levels):.1f}",
              seconds=f"{report['seconds']:.1f}", false_positive_rate=f"{report['false_positive_rate']:.5f}",
              collision_bound=f"{report['collision_bound']:.1e}", limit=report["limit"],
              enumeration_bytes=max(level["enumeration_bytes"] for level in levels),
              rules=report["rules"], from_log=report["from_log"])


def generate(table, run, folder):
    """A run of one space, or of several, whose rows have their names."""
    # Kept until the run is done: a run that was cut short goes on from its proofs there.
    out = table.folder / "unfinished" / run["name"]
    report = egret.call("rules", "generate", *run["arguments"], "-o", out, accept=(0, 5), timeout=10 * 3600)
    for space in report.get("spaces", [report]):
        add_rows(table, space["space"] if "spaces" in report else run["name"], space)
    kept = egret.ROOT / run["into"] if "into" in run else folder / run["name"]
    kept.mkdir(exist_ok=True)
    for rules in out.glob("*.rules"):
        shutil.copy(rules, kept)
    shutil.rmtree(out)


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = forms[mode]
    table = results.Table("generator", mode, COLUMNS, ["run", "operators"], {"egret": egret.version(), **config})
    values = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for run in config["runs"]:
            if not table.has(run=run.get("last_space", run["name"]), operators="all"):
                generate(table, run, folder)
        for every in table.rows:
            if every["operators"] == "all":
                values[f"{every['run']}.rules"] = int(every["rules"])
                values[f"{every['run']}.cpu_seconds"] = float(every["enumeration_cpu_s"])
                values[f"{every['run']}.seconds"] = float(every["seconds"])  # minimization too
                values[f"{every['run']}.bytes"] = int(every["enumeration_bytes"])
        for rules, goal in itertools.product(config["derive_from"], config["goals"]):
            name = pathlib.Path(rules).stem
            key = f"{name} derives {goal}"
            if not table.has(run=key):
                path = imported(goal, folder)
                if path is None:
                    continue
                found = egret.call("rules", "derive", f"{egret.ROOT / rules},{config['helpers']}", path, accept=(0, 30))
                table.add(run=key, operators="", candidates=found["total"], derived=found["derived"],
                          rules=found["rules"], decision_s=f"{found['seconds']:.1f}",
                          missing=" ".join(m["name"] for m in found["missing"]))
            row = next(r for r in table.rows if r["run"] == key)
            values[f"{name}.{goal}.derived"] = int(row["derived"])
    table.finish()
    for row in table.rows:
        print(json.dumps({c: v for c, v in row.items() if v and c != "missing"}))
    return results.judge(HERE / "expected.json", mode, values)


if __name__ == "__main__":
    sys.exit(main())
