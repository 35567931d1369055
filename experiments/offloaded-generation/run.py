# SPDX-License-Identifier: Apache-2.0
"""Plans of generation beyond the accelerator's memory, beside published policies and throughputs."""
import pathlib
import sys

import cases
from lib import egret, results, settings

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["case", "machine", "plan", "weights", "cache", "tokens_s", "gap", "bound_by", "planning_s", "simulations",
           "priced_over_simulated", "rule", "rule_tokens_s", "zero_tokens_s", "accelerate_tokens_s",
           "published_policy_tokens_s", "published_tokens_s", "published_zero", "published_accelerate"]


def places(parts):
    return " ".join(f"{100 * part:.0f}" for part in parts.values())


def fastest(rules):
    fitting = {name: rule["tokens_per_second"] for name, rule in rules.items() if rule.get("fits", True)}
    name = max(fitting, key=fitting.get) if fitting else ""
    return name, fitting


def speed(value):
    return f"{value:.4g}" if value else ""


def measure_dense(case):
    machine = "t4-flexgen"
    plan = egret.call("offload", "--machine", machine, *egret.flags({**case.flags(), "compress": case.compress}))
    name, rules = fastest(plan["baselines"])
    try:
        published = egret.call("offload", "--machine", machine, *egret.flags({**case.flags(), **case.policy.flags()}),
                               accept=(0,))["tokens_per_second"]
    except egret.EgretError:
        published = 0  # our estimate of its memory is larger than the machine
    best = plan["plan"]
    block = f"{best['gpu_batch']} x {best['gpu_batches']}" + (" cores" if best["cpu_attention"] else "")
    return {"case": case.name, "machine": machine, "plan": block, "weights": places(best["weights"]),
            "cache": places(best["cache"]), "tokens_s": speed(plan["tokens_per_second"]), "gap": f"{plan['gap']:.4f}",
            "bound_by": f"{best['prefill_bound_by']}; {best['decode_bound_by']}", "planning_s": f"{plan['planning_seconds']:.3g}",
            "simulations": plan["search"]["simulations"],
            "priced_over_simulated": f"{best['priced_seconds'] / best['seconds']:.3f}",
            "rule": name, "rule_tokens_s": speed(rules.get(name)), "zero_tokens_s": speed(rules.get("zero-inference")),
            "accelerate_tokens_s": speed(rules.get("accelerate")), "published_policy_tokens_s": speed(published),
            "published_tokens_s": speed(case.flexgen), "published_zero": speed(case.deepspeed),
            "published_accelerate": speed(case.accelerate)}


def measure_experts(case):
    plan = egret.call("offload", *egret.flags(case.flags()))
    name, rules = fastest(plan["baselines"])
    best = plan["plan"]
    return {"case": case.name, "machine": case.machine, "plan": f"{plan['experts_on_accelerator']} experts",
            "weights": f"copied {best['experts_copied']:.3g}, cores {best['experts_on_cores']:.3g}", "cache": "",
            "tokens_s": speed(plan["tokens_per_second"]), "gap": "", "bound_by": "",
            "planning_s": f"{plan['planning_seconds']:.3g}", "simulations": 0, "priced_over_simulated": "",
            "rule": name, "rule_tokens_s": speed(rules.get(name)), "zero_tokens_s": speed(rules.get("copy-all")),
            "accelerate_tokens_s": speed(rules.get("whole-layers")),
            "published_policy_tokens_s": speed(rules.get("fiddler")), "published_tokens_s": "",
            "published_zero": speed(case.copy_all), "published_accelerate": ""}


def ratio(row, ours, published):
    return float(row[ours]) / float(row[published]) if row[ours] and row[published] else None


def measured(rows):
    against_rules = [float(row["tokens_s"]) / float(row["rule_tokens_s"]) for row in rows if row["rule_tokens_s"]]
    values = {"cases": len(rows), "least.against_rules": min(against_rules)}
    gaps = [float(row["gap"]) for row in rows if row["gap"]]
    if gaps:
        values["worst.gap"] = max(gaps)
    policies = [ratio(row, "published_policy_tokens_s", "published_tokens_s") for row in rows]
    against = [ratio(row, "tokens_s", "published_policy_tokens_s") for row in rows]
    for name, ratios in (("policy_over_measured", policies), ("plan_over_policy", against)):
        known = [one for one in ratios if one]
        if known:
            values[f"least.{name}"], values[f"most.{name}"] = min(known), max(known)
    return values


def main():
    mode, config = settings.read(__doc__, HERE)
    table = results.Table("offloaded-generation", mode, COLUMNS, ["case"], {"egret": egret.version()})
    known = [case for case in [*cases.DENSE, *cases.EXPERTS] if not config[mode] or case.name in config[mode]]
    missing = settings.WithinTime([case for case in known if not table.has(case=case.name)])
    for case in missing:
        table.add(**(measure_dense(case) if isinstance(case, cases.Dense) else measure_experts(case)))
    table.print()
    if missing.left:
        return 0
    table.finish()
    return results.judge(HERE / "expected.json", mode, measured(table.rows))


if __name__ == "__main__":
    sys.exit(main())
