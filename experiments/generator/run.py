# SPDX-License-Identifier: Apache-2.0
"""Rules discovered from definitions: counts by number of operators beside TASO's, and which published rules
they derive."""
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
COLUMNS = ["run", "operators", *COUNTS, "enumeration_s", "enumeration_cpu_s", "decision_s", "decision_cpu_s", "enumeration_bytes", "rules",
           "from_log", "false_positive_rate", "collision_bound", "limit", "missing"]
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


def generate(table, mode, run):
    # Kept until the run is done: a run that was cut short goes on from its proofs there.
    out = table.folder / "unfinished" / run["name"]
    report = egret.call("rules", "generate", *run["arguments"], "-o", out, accept=(0, 5))
    for level in report["levels"]:
        table.add(run=run["name"], operators=level["operators"], **{c: level[c] for c in COUNTS},
                  enumeration_s=f"{level['enumeration_s']:.2f}", enumeration_cpu_s=f"{level['enumeration_cpu_s']:.2f}",
                  decision_s=f"{level['decision_s']:.1f}", decision_cpu_s=f"{level['decision_cpu_s']:.1f}",
                  enumeration_bytes=level["enumeration_bytes"],
                  collision_bound=f"{level['collision_bound']:.1e}")
    table.add(run=run["name"], operators="all", **{c: report.get(c, "") for c in COUNTS},
              enumeration_s=f"{sum(level['enumeration_s'] for level in report['levels']):.2f}",
              enumeration_cpu_s=f"{sum(level['enumeration_cpu_s'] for level in report['levels']):.2f}",
              decision_s=f"{sum(level['decision_s'] for level in report['levels']):.1f}",
              decision_cpu_s=f"{sum(level['decision_cpu_s'] for level in report['levels']):.1f}",
              false_positive_rate=f"{report['false_positive_rate']:.5f}",
              collision_bound=f"{report['collision_bound']:.1e}", limit=report["limit"],
              enumeration_bytes=max(level["enumeration_bytes"] for level in report["levels"]),
              rules=report["rules"], from_log=report["from_log"])
    kept = table.folder / f"{'smoke.' if mode == 'smoke' else ''}{run['name']}.rules"
    if report["rules"]:
        kept.write_text((out / "generated.rules").read_text())
    shutil.rmtree(out)


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = forms[mode]
    table = results.Table("generator", mode, COLUMNS, ["run", "operators"], {"egret": egret.version(), **config})
    values = {}
    with tempfile.TemporaryDirectory() as folder:
        for run in config["runs"]:
            if not table.has(run=run["name"], operators="all"):
                generate(table, mode, run)
            rows = [row for row in table.rows if row["run"] == run["name"]]
            every = next(row for row in rows if row["operators"] == "all")
            values[f"{run['name']}.rules"] = int(every["rules"])
            values[f"{run['name']}.cpu_seconds"] = float(every["enumeration_cpu_s"])
            values[f"{run['name']}.bytes"] = int(every["enumeration_bytes"])
        for goal in config["goals"]:
            key = f"taso derives {goal}"
            if not table.has(run=key):
                path = imported(goal, folder)
                if path is None:
                    continue
                selection = f"{table.folder / 'taso.rules'},{config['helpers']}"
                found = egret.call("rules", "derive", selection, path, accept=(0, 30))
                table.add(run=key, operators="", candidates=found["total"], derived=found["derived"],
                          rules=found["rules"], decision_s=f"{found['seconds']:.1f}",
                          missing=" ".join(m["name"] for m in found["missing"]))
            row = next(r for r in table.rows if r["run"] == key)
            values[f"{goal}.derived"] = int(row["derived"])
    table.finish()
    for row in table.rows:
        print(json.dumps({c: v for c, v in row.items() if v and c != "missing"}))
    return results.judge(HERE / "expected.json", mode, values)


if __name__ == "__main__":
    sys.exit(main())
