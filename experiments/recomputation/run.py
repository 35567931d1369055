# SPDX-License-Identifier: Apache-2.0
"""Training steps within less memory: what recomputation costs, by method, and steps that run so."""
import pathlib
import sys
import tempfile

from lib import egret, results, settings, small_models

HERE = pathlib.Path(__file__).resolve().parent
# form: kernels (each kernel a task), coarse (few tasks), executed (a plan that ran).
COLUMNS = ["form", "model", "tasks", "share", "limit", "method", "found", "overhead", "bound", "proven", "impossible",
           "computations", "seconds", "arena", "keep_all_arena", "step_s", "keep_all_s", "same_bits",
           "outcome", "proven_bound", "stage_bound", "left_error", "copies"]
# Of kernels, Checkmate's program is too large for a time in minutes.
METHODS = {"kernels": ["search", "search with copies", "dtr", "segments"],
           "coarse": ["search", "checkmate", "checkmate-start", "checkmate-lp", "dtr", "segments"]}
COPIES = "search with copies"
UNSOLVED = (0, 5)
SMALL = ("image", "deep", "transformer")  # of lib/small_models.py; others are of the zoo


def written(folder, row, config):
    """The model as a file, and the flags of its training."""
    name = row["name"]
    path = folder / f"{name}.onnx"
    sizes = {k: v for k, v in row.items() if k in ("batch", "sequence", "layers")}
    if name in SMALL:
        small_models.WRITE[name](folder, **sizes)
    else:
        egret.run("zoo", name, "-o", path, *(word for k, v in sizes.items() for word in (f"--{k}", v)))
    return path, ["--loss", "mse", "--optimizer", config["optimizer"], *(("--lr", row["lr"]) if "lr" in row else ())]


def label(row):
    return row["name"] + (f"-{row['layers']}" if "layers" in row else "")


def priced(table, folder, form, row, config):
    shares = config["shares" if form == "kernels" else "coarse_shares"]
    if all(table.has(form=form, model=label(row), share=share, method=method)
           for share in shares for method in METHODS[form]):
        return
    model, flags = written(folder, row, config)
    lists = [word for share in shares for word in ("--recompute-shares", share)]
    lists += [word for method in METHODS[form] if method != COPIES for word in ("--recompute-methods", method)]
    if COPIES in METHODS[form]:
        lists += ["--offload-rate", config["offload_rate"]]
    seconds = config["seconds" if form == "kernels" else "checkmate_seconds"]
    # Estimated prices are the same in every run. Operators are kernels by themselves: fused ones need all of their
    # operands at once.
    lists += ["--recompute-prices", "roofline", "--without", "fusion"]
    answer = egret.call("recompute", model, *flags, *lists, "--recompute-tasks", row.get("tasks", 0),
                        "--recompute-time", f"{seconds}s", "--threads", 1)
    least = answer["least_s"]
    for found in answer["rows"]:
        table.add(form=form, model=label(row), tasks=answer["tasks"], share=round(100 * found["share"]),
                  limit=found["limit_bytes"], method=found["method"], found=found["found"],
                  overhead=f"{found['cost_s'] / least - 1:.6f}" if found["found"] else "",
                  bound=f"{found['bound_s'] / least - 1:.6f}", proven=found["proven"], impossible=found["impossible"],
                  computations=found.get("computations", ""), copies=found.get("copies_back", ""), seconds=f"{found['seconds']:.2f}",
                  outcome=found["outcome"], proven_bound=f"{found['proven_bound_s'] / least - 1:.6f}",
                  stage_bound=f"{found['stage_bound_s'] / least - 1:.6f}" if "stage_bound_s" in found else "")


def step(model, flags, config, *more):
    answer = egret.call("train-step", model, *flags, "--steps", 3, "--threads", 1, "--recompute-time",
                        f"{config['seconds']}s", *more, accept=UNSOLVED)
    return answer, min(answer["step_seconds"][1:])


def executed(table, folder, row, config):
    methods = ["search", COPIES] if row["name"] in config["offloaded"] else ["search"]
    todo = [(s, m) for s in config["executed_shares"] for m in methods
            if not table.has(form="executed", model=label(row), share=s, method=m)]
    if not todo:
        return
    model, flags = written(folder, row, config)
    free, free_s = step(model, flags, config)
    # A limit that nothing keeps to: the answer has the memory of the plan that keeps all values.
    all_bytes = step(model, flags, config, "--limit-arena", 1, "--recompute-prices", "roofline")[0]["recomputation"]
    for share, method in todo:
        limit = all_bytes["keep_all_arena_bytes"] * share // 100
        # Parameters and losses against steps without a limit.
        storage = ["--offload-to", folder / "values"] if method == COPIES else []
        answer, seconds = step(model, flags, config, "--limit-arena", limit, "--check", *storage)
        made = answer.get("recomputation", {})
        table.add(form="executed", model=label(row), tasks=made.get("tasks", ""), share=share, limit=limit,
                  method=method, found=made.get("found", ""), computations=made.get("computations", ""),
                  copies=made.get("copies_back", ""),
                  overhead=f"{made['scheduled_s'] / made['least_s'] - 1:.6f}" if made.get("found") else "",
                  arena=made.get("arena_bytes", ""), keep_all_arena=all_bytes["keep_all_arena_bytes"],
                  step_s=f"{seconds:.4f}", keep_all_s=f"{free_s:.4f}", same_bits=answer["left"] == free["left"], outcome=made.get("outcome", "within the limit"),
                  left_error=answer.get("left_error", ""))


def cell(rows, **key):
    return next((r for r in rows if all(r[k] == str(v) for k, v in key.items())), None)


def print_summary(rows):
    for row in rows:
        if row["form"] == "executed":
            print(f"executed {row['model']:14} {row['method']:18} {row['share']:>4} %  arena {row['arena']:>12} of {row['keep_all_arena']:>12}"
                  f"  step {row['step_s']} s, {row['keep_all_s']} s with all memory  same bits: {row['same_bits']}, error {row['left_error']}")
    for form, methods in METHODS.items():
        keys = dict.fromkeys((r["model"], r["tasks"], r["share"]) for r in rows if r["form"] == form)
        for model, tasks, share in keys:
            texts = []
            for method in methods:
                row = cell(rows, form=form, model=model, share=share, method=method)
                texts.append(f"{method} " + (f"{float(row['overhead']):.2%}" if row["found"] == "True" else row["outcome"])
                             + ("*" if row["proven"] == "True" else ""))
            # Of all schedules: Checkmate's bound is one of schedules in stages.
            bound = float(cell(rows, form=form, model=model, share=share, method="search")["bound"])
            print(f"{form:8}{model:15}{tasks:>5} tasks {share:>4} %  at least {bound:.2%}  " + "  ".join(texts))


def worse_than(rows, other, proven=False):
    """The largest difference between the overheads of the search and of another method, and the number of rows that
    it is of; a schedule that the search lacks counts as infinitely worse."""
    largest, compared = 0.0, 0
    for row in rows:
        if row["method"] != other or row["found"] != "True" or (proven and row["proven"] != "True"):
            continue
        compared += 1
        ours = cell(rows, form=row["form"], model=row["model"], share=row["share"], method="search")
        largest = max(largest, float(ours["overhead"]) - float(row["overhead"]) if ours["found"] == "True" else 1e9)
    return largest, compared


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = {**{k: v for k, v in forms.items() if k not in ("smoke", "full")}, **forms[mode]}
    table = results.Table("recomputation", mode, COLUMNS, ["form", "model", "share", "method"],
                          {"egret": egret.version(), "threads": 1, "seconds": config["seconds"],
                           "checkmate_seconds": config["checkmate_seconds"]})
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for form in ("coarse", "kernels"):
            for row in config[form]:
                priced(table, folder, form, row, config)
        for row in config["executed"]:
            executed(table, folder, row, config)
    table.finish()
    print_summary(table.rows)
    ran = [row for row in table.rows if row["form"] == "executed" and row["found"] == "True"]
    with_copies = [r for r in table.rows if r["method"] == COPIES and r["form"] == "kernels" and r["found"] == "True"]
    others = {other: worse_than(table.rows, other, proven=other == "checkmate") for other in ("dtr", "segments", "checkmate")}
    errors = [float(row["left_error"]) for row in table.rows if row["left_error"]]
    return results.judge(HERE / "expected.json", mode, {
        **{f"worse_than_{other}": largest for other, (largest, _) in others.items()},
        **{f"compared_with_{other}": compared for other, (_, compared) in others.items()},
        "compared_steps": len(errors),
        # A search that looks at more may find less in its time.
        "copies_over_search": max((float(r["overhead"]) - float(other["overhead"]) for r in with_copies
                                   if (other := cell(table.rows, form="kernels", model=r["model"], share=r["share"],
                                                     method="search"))["found"] == "True"), default=0),
        "with_copies": len(with_copies),
        "steps_with_copies": sum(r["method"] == COPIES and int(r["copies"] or 0) > 0 for r in ran),
        "largest_left_error": max(errors, default=1),
        "largest_bound_by_cost": max((float(r["bound"]) - float(r["overhead"]) for r in table.rows
                                      if r["form"] != "executed" and r["found"] == "True"), default=1),
        "checkmate_solved": sum(r["method"] == "checkmate" and r["proven"] == "True" for r in table.rows),
        "executed": len(ran),
        "largest_arena_by_limit": max((int(r["arena"]) / int(r["limit"]) for r in ran), default=2),
        "same_bits": sum(r["same_bits"] == "True" for r in ran),
    })


if __name__ == "__main__":
    sys.exit(main())
