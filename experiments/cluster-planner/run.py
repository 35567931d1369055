# SPDX-License-Identifier: Apache-2.0
"""Plans of transformers' training on clusters, beside the plans of experts and of other planners' rules."""
import pathlib
import sys

import cases
from lib import egret, results, settings

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["case", "machine", "devices", "plan", "step_s", "mfu", "memory_gb", "gap", "planning_s", "simulations",
           "best_rule", "best_rule_s", "data_s", "equal_s", "expert", "expert_s", "expert_gb", "published_s", "source"]


def text(options):
    """Degrees in short: "tp 8 sp, pp 4 x 2, ...". """
    stages = options.get("stages", [])

    def degree(key):
        values = [str(stage[key]) for stage in stages] or str(options.get(f"stage_{key}", options.get(key, 1))).split(",")
        return values[0] if len(set(values)) == 1 else "+".join(values)

    words = [f"tp {degree('tp')}" + (" sp" if options.get("sequence_parallel") else "")]
    words.append(f"cp {degree('cp')}" if degree("cp") != "1" else "")
    words.append(f"pp {options['pp']}" + (f" x {options['vpp']}" if options.get("vpp", 1) > 1 else ""))
    words.append(options["schedule"] if options.get("schedule", "1f1b") != "1f1b" else "")
    words.append(f"dp {degree('dp')}")
    words.append(f"ep {options['ep']}" if options.get("ep", 1) > 1 else "")
    words.append(f"expert tp {options['expert_tp']}" if options.get("expert_tp", 1) > 1 else "")
    words.append(f"ZeRO-{options['zero']}" if options.get("zero", 0) else "")
    words.append(f"mb {options.get('micro_batch', 1)}")
    words.append(f"offload {options['offload']}" if options.get("offload", "none") != "none" else "")
    chunks = options.get("chunks")
    if chunks:
        full, selective = (sum(chunk[key] for chunk in chunks) for key in ("full", "selective"))
        words.append(f"{full} full" if full else "")
        words.append(f"{selective} selective" if selective else "")
    elif options.get("recompute", "none") != "none":
        words.append(options["recompute"])
    return ", ".join(word for word in words if word)


def expert_of(case):
    """The expert's plan, simulated; its step and the memory of its fullest device."""
    if case.expert is None:
        return {}
    plans = case.expert if isinstance(case.expert, list) else [case.expert]
    documents = [egret.call("simulate", "--system", case.machine, *egret.flags({**case.model, **plan})) for plan in plans]

    def peak_of(document):
        return max(device["peak_bytes"] for device in document["pipeline"])

    limit = MEMORY_GB.get(case.machine, 85.9) * 1e9
    expert, document = min(zip(plans, documents),
                           key=lambda one: (max(0, peak_of(one[1]) - limit), one[1]["seconds"]))
    peak = peak_of(document)
    # A negative figure is the MFU of all devices.
    published = case.published_s
    if published < 0:
        published = document["seconds"] * document["mfu"] / -published
    return {"expert": text({key.replace("-", "_"): value for key, value in expert.items()}),
            "expert_s": f"{document['seconds']:.5g}", "expert_gb": f"{peak / 1e9:.4g}",
            "published_s": f"{published:.4g}" if published else "", "source": case.source}


def measure(case):
    plan = egret.call("plan", "--machine", case.machine, "--devices", case.devices, "--threads", 2,
                      *egret.flags(case.model))
    rules = {name: rule["seconds"] for name, rule in plan["baselines"].items() if rule["fits"]}
    best = min(rules, key=rules.get) if rules else ""
    return {"case": case.name, "machine": pathlib.Path(case.machine).stem, "devices": case.devices, "plan": text(plan["plan"]),
            "step_s": f"{plan['seconds']:.5g}", "mfu": f"{plan['mfu']:.3f}",
            "memory_gb": f"{plan['plan']['peak_bytes'] / 1e9:.4g}", "gap": f"{plan['gap']:.4f}",
            "planning_s": f"{plan['planning_seconds']:.3g}", "simulations": plan["search"]["simulations"],
            "best_rule": best, "best_rule_s": f"{rules[best]:.5g}" if best else "",
            "data_s": f"{rules['data']:.5g}" if "data" in rules else "",
            "equal_s": f"{rules['equal']:.5g}" if "equal" in rules else "", **expert_of(case)}


MEMORY_GB = {"p3-16xlarge-8": 17.1, "gb200-nvl72": 186}  # of a device; others: 85.9


def fits(row):
    return float(row["expert_gb"]) < MEMORY_GB.get(row["machine"], 85.9)


def measured(rows):
    """The worst of all cases."""
    against_rules = [float(row["step_s"]) / float(row["best_rule_s"]) for row in rows if row["best_rule_s"]]
    against_experts = [float(row["step_s"]) / float(row["expert_s"]) for row in rows
                       if row["expert_s"] and fits(row)]
    values = {"cases": len(rows), "worst.gap": max(float(row["gap"]) for row in rows),
              "worst.against_rules": max(against_rules), "worst.against_experts": max(against_experts)}
    for row in rows:
        values[f"{row['case']}.planning_s"] = float(row["planning_s"])
    return values


def main():
    mode, config = settings.read(__doc__, HERE)
    table = results.Table("cluster-planner", mode, COLUMNS, ["case"], {"egret": egret.version()})
    known = [case for case in cases.all_cases() if not config[mode] or case.name in config[mode]]
    missing = settings.WithinTime([case for case in known if not table.has(case=case.name)])
    for case in missing:
        table.add(**measure(case))
    table.print()
    if missing.left:
        return 0
    table.finish()
    return results.judge(HERE / "expected.json", mode, measured(table.rows))


if __name__ == "__main__":
    sys.exit(main())
