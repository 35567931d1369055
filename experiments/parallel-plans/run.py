# SPDX-License-Identifier: Apache-2.0
"""Plans of small models on meshes of 2 to 8 devices: what they send and cost, and what ranks compute with them."""
import pathlib
import sys
import tempfile

import numpy
from lib import egret, ranks, results, settings
from lib import small_models as models

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["model", "mesh", "time_s", "bound_s", "single_s", "data_s", "tensor_s", "sent_bytes", "closed_form_bytes",
           "least_bytes", "least_bytes_s", "collectives", "memory_bytes", "placed_values", "placed_nodes",
           "relative_difference", "seconds"]


def closed_form(name, mesh):
    """Of one axis and the models of small_models.py; plans on more axes have several forms."""
    if "," in mesh or name not in models.SENT:
        return ""
    return models.SENT[name](int(mesh.split("=")[1]))


def machine_file(folder, machine, size, times_slower):
    """One axis of so many devices, whose links send so much less in a second."""
    path = folder / "slower.toml"
    link = dict(machine["link"], bytes_per_second=machine["link"]["bytes_per_second"] / times_slower)
    path.write_text("\n".join(['name = "slower"', "[device]", *(f"{k} = {v}" for k, v in machine["device"].items()),
                               "[[axis]]", 'name = "x"', f"size = {size}", *(f"{k} = {v}" for k, v in link.items())]))
    return path


def sends_least(folder, name, devices, forms):
    """A plan that is best where links are slow: what it sends, and what it would take over the links as they are."""
    slower, machine = forms["times_slower"], forms["as_local"]
    found = egret.call("plan", folder / f"{name}.onnx", "--machine", machine_file(folder, machine, devices, slower),
                       *models.flags(name, devices))
    sent = sum(one["bytes"] for one in found["communication"])
    return {"least_bytes": sent, "least_bytes_s":
            found["time_s"] - sent * (slower - 1) / machine["link"]["bytes_per_second"]}


def solve(table, folder, name, mesh, forms):
    if table.has(model=name, mesh=mesh):
        return
    model, plan = folder / f"{name}.onnx", folder / "plan.json"
    devices = int(numpy.prod([int(axis.split("=")[1]) for axis in mesh.split(",")]))
    found = egret.call("plan", model, "--machine", forms["machine"], "--mesh", mesh, "-o", plan,
                       *models.flags(name, devices))
    sent = found["communication"]
    closed = closed_form(name, mesh)
    differs = closed != "" and closed != sum(one["bytes"] for one in sent)
    table.add(model=name, mesh=mesh, time_s=found["time_s"], bound_s=found["bound_s"],
              **{f"{kind}_s": found["baselines"].get(kind, "") for kind in ("single", "data", "tensor")},
              sent_bytes=sum(one["bytes"] for one in sent), closed_form_bytes=closed,
              **(sends_least(folder, name, devices, forms) if differs else {}),
              collectives=" ".join(f"{one['count']}x{one['collective']}:{one['axis']}" for one in sent),
              memory_bytes=found["memory_bytes"], placed_values=found["placed_values"],
              placed_nodes=found["placed_nodes"], relative_difference=ranks.outputs_differ(folder, model, plan, devices),
              seconds=f"{found['seconds']:.3f}")


def print_summary(rows):
    print(f"{'model':12} {'mesh':12} {'time':>9} {'single':>9} {'data':>9} {'tensor':>9} {'sent':>8} {'nodes':>8} "
          f"{'plan s':>7}  collectives")
    for row in rows:
        times = " ".join(f"{float(row[c]) * 1e6:8.1f}u" if row[c] else f"{'-':>9}"
                         for c in ("time_s", "single_s", "data_s", "tensor_s"))
        print(f"{row['model']:12} {row['mesh']:12} {times} {float(row['sent_bytes']):8.0f} {row['placed_nodes']:>8} "
              f"{row['seconds']:>7}  {row['collectives']}")


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = forms[mode]
    table = results.Table("parallel-plans", mode, COLUMNS, ["model", "mesh"],
                          {"egret": egret.version(), "machine": forms["machine"]})
    with tempfile.TemporaryDirectory() as folder:
        for name in config["models"] + config["one_axis"]:
            models.WRITE[name](pathlib.Path(folder))
            for mesh in config["meshes"]:
                if name in config["one_axis"] and "," in mesh:
                    continue
                solve(table, pathlib.Path(folder), name, mesh, forms)
        for name in config["zoo"]:
            egret.run("zoo", name, "--sequence", config["sequence"], "-o", pathlib.Path(folder) / f"{name}.onnx")
            for mesh in config["zoo_meshes"]:
                solve(table, pathlib.Path(folder), name, mesh, forms)
    table.finish()
    print_summary(table.rows)
    with_form = [row for row in table.rows if row["closed_form_bytes"]]
    others = [row for row in with_form if row["least_bytes"]]
    free = [row for row in table.rows if "--device-memory" not in models.flags(row["model"], 2)]
    measured = {
        "at_closed_form": len(with_form) - len(others),
        # Of the others: a plan that sends no more than the closed form is there, and dearer.
        "least_over_closed_form": max((float(r["least_bytes"]) / float(r["closed_form_bytes"]) for r in others),
                                      default=0),
        "time_over_least_bytes": max((float(r["time_s"]) / float(r["least_bytes_s"]) for r in others), default=0),
        "time_over_best_baseline": max(float(r["time_s"]) / min(float(r[c]) for c in ("single_s", "data_s", "tensor_s")
                                                               if r[c]) for r in free),
        "gap": max(1 - float(r["bound_s"]) / float(r["time_s"]) for r in free),
        "relative_difference": max((float(r["relative_difference"]) for r in table.rows if r["relative_difference"]),
                                   default=0),
    }
    return results.judge(HERE / "expected.json", mode, measured)


if __name__ == "__main__":
    sys.exit(main())
