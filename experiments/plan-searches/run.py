# SPDX-License-Identifier: Apache-2.0
"""Plans that exhaustive search, OptCNN's, FlexFlow's and Unity's searches find, beside Egret's, at the same costs."""
import pathlib
import sys
import tempfile

from lib import egret, results, settings
from lib import small_models as models

HERE = pathlib.Path(__file__).resolve().parent
SEARCHES = ["egret", "exhaustive", "chain", "mcmc", "best-first"]
COLUMNS = ["model", "mesh", "search", "time_s", "plans", "seconds", "finished", "data_s", "tensor_s"]


def solve(table, model, name, mesh, machine):
    if table.has(model=name, mesh=mesh, search=SEARCHES[-1]):
        return
    found = egret.call("plan", model, "--machine", machine, "--mesh", mesh, "--searches")
    for one in found["searches"]:
        table.add(model=name, mesh=mesh, **{key: one[key] for key in ("search", "time_s", "plans")},
                  seconds=f"{one['seconds']:.5f}", finished=int(one["finished"]),
                  **{f"{kind}_s": found["baselines"].get(kind, "") for kind in ("data", "tensor")})


def main():
    mode, forms = settings.read(__doc__, HERE)
    table = results.Table("plan-searches", mode, COLUMNS, ["model", "mesh", "search"],
                          {"egret": egret.version(), "machine": forms["machine"]})
    with tempfile.TemporaryDirectory() as folder:
        for name in forms[mode]["models"]:
            models.WRITE[name](pathlib.Path(folder))
            for mesh in forms[mode]["meshes"]:
                solve(table, pathlib.Path(folder) / f"{name}.onnx", name, mesh, forms["machine"])
    table.finish()
    table.print()
    best = {(row["model"], row["mesh"]): float(row["time_s"]) for row in table.rows if row["search"] == "egret"}
    over = [float(row["time_s"]) / best[row["model"], row["mesh"]] for row in table.rows]
    exhausted = [float(row["time_s"]) / best[row["model"], row["mesh"]] for row in table.rows
                 if row["search"] == "exhaustive" and int(row["finished"])]
    return results.judge(HERE / "expected.json", mode, {
        "least_over_egret": min(over), "exhaustive_over_egret": max(exhausted), "exhausted": len(exhausted)})


if __name__ == "__main__":
    sys.exit(main())
