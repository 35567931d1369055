# SPDX-License-Identifier: Apache-2.0
"""Pipelines, replicas and plans that train on several hosts, beside the simulator's prediction.

The hosts are network namespaces with links of a known rate and delay (scripts/virtual_hosts.sh). Each plan trains for
some steps; the program times its passes and messages first and predicts the step from them. Plans of `egret plan` are
made for links measured by `egret costs profile --collectives`, and predicted by `egret simulate`. Errors, the order of
plans, and the cost of the plan that the predictions choose are what counts.
"""
import pathlib
import statistics
import sys
import tempfile

from lib import egret, results, settings, small_models, virtual_hosts

HERE = pathlib.Path(__file__).resolve().parent
KEY = ["model", "plan", "hosts", "rate", "delay"]
COLUMNS = [*KEY, "predicted_s", "measured_s", "loss_error", "left_error"]


def measured_machine(folder, hosts):
    """A machine file of the hosts that are up, by `egret costs profile --collectives`."""
    machine = folder / "machine.toml"
    virtual_hosts.script("run", hosts, egret.PROGRAM, "costs", "profile", "--collectives", "--ranks-per-host", 1,
                         "--largest", "4MiB", "-o", machine, "--cost-db", folder / "costs.sqlite",
                         "--progress=never", timeout=300)
    return machine


def solve_planned(table, folder, config, key, machine):
    """A plan of `egret plan` for the measured links; its exchanges run one after another."""
    form = config["model"][key["model"]]
    plan = folder / "plan.json"
    egret.run("plan", folder / f"{key['model']}.onnx", "--train", "--loss", "mse", "--optimizer", form["optimizer"],
              "--lr", "0.001", "--machine", machine, *config["plan"][key["plan"]]["planned"], "-o", plan)
    said = virtual_hosts.script("run", key["hosts"], egret.PROGRAM, "train-step", plan, "--steps",
                                config["steps"], "--predict", "--check", "--json", "--progress=never", timeout=300)
    run = virtual_hosts.document(said)
    table.add(**key, predicted_s=run["predicted_s"], measured_s=run["median_s"], loss_error=run["loss_error"],
              left_error=run["left_error"])


def solve(table, folder, config, key):
    """A pipeline, on hosts that are up."""
    form = config["model"][key["model"]]
    said = virtual_hosts.script(
        "run", key["hosts"], egret.PROGRAM, "train-step", folder / f"{key['model']}.onnx", "--loss", "mse",
        "--optimizer", form["optimizer"], "--lr", "0.001", "--steps", config["steps"],
        *config["plan"][key["plan"]]["options"], "--predict", "--check", "--json", "--progress=never", timeout=300)
    run = virtual_hosts.document(said)
    table.add(**key, predicted_s=run["predicted_s"], measured_s=run["median_s"], loss_error=run["loss_error"],
              left_error=run["left_error"])


def cases(config, form):
    return [[{"model": model, "plan": plan, "hosts": config["plan"][plan]["hosts"], "rate": rate, "delay": delay}
             for model in form["models"] for plan in form["plans"] if config["plan"][plan]["hosts"] == count]
            for count in sorted({config["plan"][plan]["hosts"] for plan in form["plans"]})
            for rate in form["rates"] for delay in form["delays"]]


def solve_all(table, config, form):
    """Whether all is solved: time may end before."""
    cases_left = settings.WithinTime(cases(config, form))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for model in form["models"]:
            small_models.WRITE[model](folder, **config["model"][model]["sizes"])
        for keys in cases_left:
            left = [key for key in keys if not table.has(**key)]
            if left:
                with virtual_hosts.hosts(left[0]["hosts"], left[0]["rate"], left[0]["delay"]):
                    planned = [key for key in left if "planned" in config["plan"][key["plan"]]]
                    machine = measured_machine(folder, left[0]["hosts"]) if planned else None
                    for key in left:
                        if key in planned:
                            solve_planned(table, folder, config, key, machine)
                        else:
                            solve(table, folder, config, key)
    return not cases_left.left


def measure(rows):
    """Errors of predictions; pairs of plans of one model and link that differ by a tenth, in the right order; the
    loss of time where the plan is taken that the predictions prefer."""
    rows = [dict(row, predicted=float(row["predicted_s"]), measured=float(row["measured_s"])) for row in rows]
    errors = [abs(row["predicted"] - row["measured"]) / row["measured"] for row in rows]
    groups = {}
    for row in rows:
        groups.setdefault((row["model"], row["hosts"], row["rate"], row["delay"]), []).append(row)
    pairs = [(a, b) for group in groups.values() for a in group for b in group if a["measured"] > 1.1 * b["measured"]]
    regrets = [min(group, key=lambda row: row["predicted"])["measured"] / min(row["measured"] for row in group) - 1
               for group in groups.values() if len(group) > 1]
    return {"compared": len(rows), "mean_error": statistics.mean(errors), "median_error": statistics.median(errors),
            "median_over_predicted": statistics.median(row["measured"] / row["predicted"] for row in rows),
            "pairs_in_order": sum(a["predicted"] > b["predicted"] for a, b in pairs) / len(pairs) if pairs else 1,
            "mean_regret": statistics.mean(regrets) if regrets else 0,
            **{name: max(float(row[name]) for row in rows) for name in ("loss_error", "left_error")}}


def main():
    mode, config = settings.read(__doc__, HERE)
    table = results.Table("executed-pipelines", mode, COLUMNS, KEY, {"egret": egret.version(), "steps": config["steps"]})
    try:
        with virtual_hosts.exclusively():
            if not solve_all(table, config, config[mode]):
                return 0
    except virtual_hosts.NoHosts as reason:
        print("skipped:", reason)
        return 0
    table.finish()
    table.print()
    measured = measure(table.rows)
    print(", ".join(f"{name} {value:.3g}" for name, value in measured.items()))
    return results.judge(HERE / "expected.json", mode, measured)


if __name__ == "__main__":
    sys.exit(main())
