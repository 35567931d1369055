# SPDX-License-Identifier: Apache-2.0
"""Pipelines of models, planned: the best one beside the best without stages, and beside the best of single ranks."""
import json
import pathlib
import sys
import tempfile

from lib import egret, ranks, results, settings, small_models

HERE = pathlib.Path(__file__).resolve().parent
KEY = ["model", "machine", "mesh"]
COLUMNS = [*KEY, "stages", "stage_ranks", "stages_per_rank", "replicas", "micro_batches", "schedule", "step_s", "bound_s",
           "data_s", "tensor_s", "unstaged_s", "single_ranks_s", "placement_s", "pieces", "placements", "seconds",
           "loss_error", "left_error", "says"]


def write_model(folder, name, config):
    row = config["models"][name]
    own = row.get("name", name)
    if row["kind"] == "zoo":
        path = folder / f"{own}.onnx"
        egret.run("zoo", own, *row["flags"], "-o", path)
        return path
    before = set(folder.glob("*.onnx"))
    getattr(small_models, own)(folder, **row["sizes"])
    return (set(folder.glob("*.onnx")) - before).pop()


def fastest(ranking, test):
    """The step of the best pipeline of a kind; "" where there is none."""
    return min((one["seconds"] for one in ranking if test(one)), default="")


def columns_of(document):
    best, ranking = document["plan"], document["ranking"]
    sizes = [int(size) for size in best["stage_ranks"].split(",")]
    def one_stage(one):
        return one["pipeline_stages"] == 1
    def single(one):
        return set(one["stage_ranks"].split(",")) == {"1"}
    return {"stages": best["pipeline_stages"], "stage_ranks": " ".join(map(str, sizes)),
            "stages_per_rank": best["stages_per_rank"], "replicas": best["replicas"],
            "micro_batches": best["micro_batches"], "schedule": best["schedule"], "step_s": best["seconds"],
            "bound_s": document["bound_seconds"],
            "data_s": fastest(ranking, lambda one: one_stage(one) and single(one)),
            "tensor_s": fastest(ranking, lambda one: one_stage(one) and one["replicas"] == 1),
            "unstaged_s": fastest(ranking, one_stage), "single_ranks_s": fastest(ranking, single),
            "pieces": document["pieces"], "placements": document["placements"],
            "seconds": f"{document['planning_seconds']:.2f}"}


def trained(model, path, count, steps):
    done = ranks.run(count, "train-step", model, "--config", path, "--steps", steps, "--check", "--json",
                     "--progress=never")
    document = json.loads(done.stdout[done.stdout.index("{"):])
    return {"loss_error": document["loss_error"], "left_error": document["left_error"]}


def solve(table, folder, row, config, runs):
    name, machine, mesh = row
    if table.has(model=name, machine=machine, mesh=mesh):
        return
    key = dict(zip(KEY, row))
    file = config["machines"][machine][0]
    flags = ["--train", "--loss", "mse", "--machine", HERE / file if file.endswith(".toml") else file, "--mesh", mesh]
    try:
        model, path = write_model(folder, name, config), folder / "pipeline.toml"
        document = egret.call("plan", model, *flags, "--pipeline", "--piece-time", config["piece_time"], "-o", path)
        if "error" in document:  # no pipeline was found
            table.add(**key, says=document["error"]["message"])
            return
        done = trained(model, path, document["ranks"], config["steps"]) if runs else {}
        placed = egret.call("plan", model, *flags, "--limit-check", "0s", "--extract-time", config["placement_time"])
    except egret.EgretError as error:
        table.add(**key, says=(error.stderr.strip().splitlines() or [str(error)])[-1])
        return
    finally:
        for file in folder.glob("*.onnx"):
            file.unlink()
    table.add(**key, **columns_of(document), placement_s=placed["time_s"], **done)


def main():
    mode, config = settings.read(__doc__, HERE)
    form = config[mode]
    config["placement_time"] = form["placement_time"]
    table = results.Table("pipeline-plans", mode, COLUMNS, KEY, {"egret": egret.version()})
    rows = settings.WithinTime(form["rows"])
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            solve(table, pathlib.Path(folder), row, config, row in form["run"])
    if rows.left:
        return 0
    table.finish()
    table.print()
    planned = [row for row in table.rows if not row["says"]]
    run = [row for row in planned if row["left_error"]]
    return results.judge(HERE / "expected.json", mode, {
        "planned": len(planned), "not_planned": len(table.rows) - len(planned), "run": len(run),
        "least_over_bound": min(float(row["step_s"]) / float(row["bound_s"]) for row in planned),
        "loss_error": max((float(row["loss_error"]) for row in run), default=0),
        "left_error": max((float(row["left_error"]) for row in run), default=0)})


if __name__ == "__main__":
    sys.exit(main())
