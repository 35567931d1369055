# SPDX-License-Identifier: Apache-2.0
"""How long planning takes, and how large its e-graph is, by mesh axes and layers, with equal layers tied and without."""
import pathlib
import sys
import tempfile

from lib import egret, results, settings
from lib import small_models as models

HERE = pathlib.Path(__file__).resolve().parent
FEW = 2  # layers that are planned where more are equal
COLUMNS = ["mesh", "layers", "tied", "planned_layers", "placed_nodes", "planning_s", "checking_s", "time_s", "bound_s"]


def solve(table, model, mesh, layers, tied, config):
    if table.has(mesh=mesh, layers=layers, tied=int(tied)):
        return
    found = egret.call("plan", model, "--machine", config["machine"], "--mesh", mesh, "--extract-time",
                       config["limit_time"], "--layers", FEW if tied else 0)
    table.add(mesh=mesh, layers=layers, tied=int(tied), planned_layers=FEW if found["layers"] else layers,
              placed_nodes=found["placed_nodes"], planning_s=f"{found['seconds'] - found['checking']:.3f}",
              checking_s=f"{found['checking']:.3f}", time_s=found["time_s"], bound_s=found["bound_s"])


def measured(rows):
    """How planning grows with layers, and how far tied plans are from those of all layers."""
    values = {"ties": sum(row["tied"] == "1" and int(row["planned_layers"]) < int(row["layers"]) for row in rows)}
    tied = {(row["mesh"], int(row["layers"])): row for row in rows if row["tied"] == "1"}
    whole = {(row["mesh"], int(row["layers"])): row for row in rows if row["tied"] == "0"}
    values["over_whole"] = max(float(tied[key]["time_s"]) / float(whole[key]["time_s"]) for key in whole)
    values["under_whole_bound"] = min(float(tied[key]["time_s"]) / float(whole[key]["bound_s"]) for key in whole)
    for axes in {mesh.count("=") for mesh, _ in tied}:
        of = {layers: float(row["planning_s"]) for (mesh, layers), row in tied.items() if mesh.count("=") == axes}
        least = min(n for n in of if n > FEW)
        values[f"growth_{axes}"] = of[max(of)] / of[least]
        values[f"layer_s_{axes}"] = (of[max(of)] - of[least]) / (max(of) - least)
        values[f"gap_{axes}"] = max(1 - float(row["bound_s"]) / float(row["time_s"])
                                    for (mesh, _), row in tied.items() if mesh.count("=") == axes)
    return values


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = forms[mode]
    table = results.Table("planning-time", mode, COLUMNS, ["mesh", "layers", "tied"],
                          {"egret": egret.version(), "machine": forms["machine"], "limit_time": forms["limit_time"]})
    with tempfile.TemporaryDirectory() as folder:
        for layers in config["layers"]:
            models.layers(pathlib.Path(folder), layers)
        for mesh, most in config["meshes"].items():
            for layers in config["layers"]:
                model = pathlib.Path(folder) / f"layers{layers}.onnx"
                solve(table, model, mesh, layers, True, forms)
                if layers <= most:
                    solve(table, model, mesh, layers, False, forms)
    table.finish()
    table.print()
    return results.judge(HERE / "expected.json", mode, measured(table.rows))


if __name__ == "__main__":
    sys.exit(main())
