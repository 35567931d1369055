# SPDX-License-Identifier: Apache-2.0
"""Algebra and placement jointly, one after the other, and placement alone: what the plans take."""
import pathlib
import sys
import tempfile

from lib import egret, results, settings
from lib import small_models as models

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["model", "mesh", "placement_s", "sequential_s", "joint_s", "joint_bound_s", "sequential_over_joint",
           "sequential_nodes", "joint_nodes", "sequential_seconds", "joint_seconds"]


def solve(table, model, name, mesh, config):
    if table.has(model=name, mesh=mesh):
        return
    def plan(*flags):
        return egret.call("plan", model, "--machine", config["machine"], "--mesh", mesh, "--layers", 0,
                           "--limit-check", config["limit_check"], *flags)
    alone = plan()
    rules = ["--rules", config["rules"], "--limit-nodes", config["limit_nodes"]]
    sequential, joint = plan(*rules, "--sequential"), plan(*rules)
    table.add(model=name, mesh=mesh, placement_s=alone["time_s"], sequential_s=sequential["time_s"],
              joint_s=joint["time_s"], joint_bound_s=joint["bound_s"],
              sequential_over_joint=f"{sequential['time_s'] / joint['time_s']:.4f}",
              sequential_nodes=sequential["placed_nodes"], joint_nodes=joint["placed_nodes"],
              sequential_seconds=f"{sequential['seconds']:.2f}", joint_seconds=f"{joint['seconds']:.2f}")


def main():
    mode, config = settings.read(__doc__, HERE)
    forms = config[mode]
    table = results.Table("joint-search", mode, COLUMNS, ["model", "mesh"],
                          {"egret": egret.version(), "machine": config["machine"], "rules": config["rules"]})
    with tempfile.TemporaryDirectory() as folder:
        for name in forms["models"] + forms["zoo"]:
            model = pathlib.Path(folder) / f"{name}.onnx"
            if name in forms["models"]:
                models.WRITE[name](pathlib.Path(folder))
            else:
                egret.run("zoo", name, "--sequence", forms["sequence"], "-o", model)
            for mesh in forms["meshes"]:
                solve(table, model, name, mesh, config)
    table.finish()
    table.print()
    ratios = [float(row["sequential_over_joint"]) for row in table.rows]
    return results.judge(HERE / "expected.json", mode, {
        "least_ratio": min(ratios), "joint_wins": sum(ratio > 1.0005 for ratio in ratios), "largest_ratio": max(ratios)})


if __name__ == "__main__":
    sys.exit(main())
