# SPDX-License-Identifier: Apache-2.0
"""Training steps planned for 2, 4 and 8 ranks, run by them and compared with one process; and under limits of memory,
with and without recomputation."""
import json
import pathlib
import sys
import tempfile

from lib import egret, ranks, results, settings, small_models

HERE = pathlib.Path(__file__).resolve().parent
BASELINES = ["data", "single", "tensor", "zero-1", "zero-3"]
COLUMNS = ["model", "optimizer", "ranks", "limit", "time_s", "bound_s", *BASELINES, "memory_bytes", "limit_bytes",
           "collectives", "sent_bytes", "loss_error", "left_error", "equal_runs", "placed_nodes", "seconds",
           "computations", "recompute_s", "recompute_bound_s", "without_s", "without_bytes"]


def train(plan, count, steps, *flags):
    done = ranks.run(count, "train-step", plan, "--steps", steps, "--json", "--progress=never", *flags)
    return json.loads(done.stdout[done.stdout.index("{"):])


def solve(table, folder, config, key):
    if table.has(**key):
        return
    model, plan = folder / f"{key['model']}.onnx", folder / "plan.json"
    flags = small_models.training(key["model"], key["ranks"])[0]
    words = ["plan", model, "--train", "--loss", "mse", "--optimizer", key["optimizer"], "--machine",
             config["machine"], "--mesh", f"x={key['ranks']}", *flags]
    limit, without = [], {}
    if key["limit"].endswith("%"):  # of the memory of the plan without a limit
        share = int(key["limit"][:-1])
        limit = ["--device-memory", int(egret.call(*words)["memory_bytes"] * share / 100)]
        without = egret.call(*words, *limit, "--recompute-by", "none")
    elif key["limit"]:
        limit = ["--device-memory", key["limit"]]
    found = egret.call(*words, *limit, "-o", plan)
    again = found.get("recomputation", {})
    recomputed = {"computations": again.get("computations", ""), "recompute_s": again.get("time_s", ""),
                  "recompute_bound_s": again.get("bound_s", ""), "without_bytes": without.get("memory_bytes", "")}
    if without:
        fits = without["memory_bytes"] <= without["limit_bytes"]
        recomputed["without_s"] = without["time_s"] if fits else "none fits"
    first = train(plan, key["ranks"], config["steps"], "--check")
    again = train(plan, key["ranks"], config["steps"])
    sent = found["communication"]
    table.add(**key, **{name: found["baselines"].get(name, "") for name in BASELINES},
              **{name: found[name] for name in ("time_s", "bound_s", "memory_bytes", "limit_bytes", "placed_nodes")},
              collectives=" ".join(f"{one['count']}x{one['collective']}" for one in sent),
              sent_bytes=sum(one["bytes"] for one in sent), loss_error=first["loss_error"],
              left_error=first["left_error"], equal_runs=int(first["left"] == again["left"]),
              seconds=f"{found['seconds']:.3f}", **recomputed)


def main():
    mode, config = settings.read(__doc__, HERE)
    forms = config[mode]
    table = results.Table("training-plans", mode, COLUMNS, ["model", "optimizer", "ranks", "limit"],
                          {"egret": egret.version(), "machine": config["machine"], "steps": config["steps"]})
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for model, optimizer in forms["training"]:
            small_models.WRITE[model](folder)
            for count in forms["ranks"]:
                solve(table, folder, config, {"model": model, "optimizer": optimizer, "ranks": count,
                                              "limit": small_models.training(model, count)[1]})
        for limit in forms["memory"]:
            model, optimizer = forms["training"][-1]
            solve(table, folder, config, {"model": model, "optimizer": optimizer, "ranks": 4, "limit": limit})
        for model, optimizer, count, shares in forms["recomputed"]:
            small_models.WRITE[model](folder)
            for share in shares:
                solve(table, folder, config, {"model": model, "optimizer": optimizer, "ranks": count,
                                              "limit": f"{share}%"})
    table.finish()
    table.print()
    recomputed = [row for row in table.rows if row["limit"].endswith("%")]
    free = [row for row in table.rows if not row["limit"]]
    measured = {
        "loss_error": max(float(row["loss_error"]) for row in table.rows),
        "left_error": max(float(row["left_error"]) for row in table.rows),
        "equal_runs": min(int(row["equal_runs"]) for row in table.rows),
        "time_over_best_baseline": max(float(row["time_s"]) / min(float(row[b]) for b in BASELINES if row[b])
                                       for row in free),
    }
    measured["fits_by_recomputation_alone"] = sum(row["without_s"] == "none fits" for row in recomputed)
    measured["time_over_no_recomputation"] = max((float(row["time_s"]) / float(row["without_s"]) for row in recomputed
                                                  if row["without_s"] != "none fits"), default=0)
    if forms["memory"] or recomputed:
        measured["memory_over_limit"] = max(float(row["memory_bytes"]) / float(row["limit_bytes"])
                                            for row in table.rows if row["limit"])
    return results.judge(HERE / "expected.json", mode, measured)


if __name__ == "__main__":
    sys.exit(main())
