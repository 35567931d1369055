# SPDX-License-Identifier: Apache-2.0
"""The models and clusters of Unity, FlexFlow and OptCNN: the plan's step over data parallelism's, and what they publish."""
import itertools
import math
import pathlib
import sys
import tempfile

from lib import egret, results, settings, small_models

HERE = pathlib.Path(__file__).resolve().parent
KEY = ["paper", "model", "machine", "mesh"]
BASELINES = ["single", "data", "tensor", "zero-1", "zero-3"]
COLUMNS = [*KEY, "devices", "batch", "time_s", "bound_s", *[f"{name}_s" for name in BASELINES], "over_data", "published",
           "collectives", "placed_nodes", "memory_bytes", "limit_bytes", "seconds", "says"]
STOPPED = "stopped; the best plan so far"
DATA_TOO_LARGE = "data parallelism does not fit"


def devices_of(mesh):
    return math.prod(int(axis.split("=")[1]) for axis in mesh.split(","))


def write(folder, case, devices):
    """The batch of all devices."""
    path, batch = folder / f"{case['model']}.onnx", case["batch"] * devices
    if case["model"].startswith("layers"):
        small_models.layers(folder, int(case["model"].removeprefix("layers")), batch, **case["sizes"])
    elif case["model"] in small_models.WRITE:
        small_models.WRITE[case["model"]](folder, batch=batch, **case["sizes"])
    else:
        egret.run("zoo", case["model"], "--batch", batch, "-o", path)
    return path


def machine_of(name):
    return str(HERE / name) if name.endswith(".toml") else name


def solve(table, folder, config, case, machine, mesh):
    key = {"paper": case["paper"], "model": case["model"], "machine": machine.removesuffix(".toml"), "mesh": mesh}
    if table.has(**key):
        return
    devices = devices_of(mesh)
    row = {**key, "devices": devices, "batch": case["batch"] * devices, "published": case.get("published", "")}
    try:
        found = egret.call("plan", write(folder, case, devices), "--train", "--loss", "mse", "--optimizer",
                           config["optimizer"], "--machine", machine_of(machine), "--mesh", mesh, "--extract-time",
                           config["extract_time"], "--limit-check", 0, stop_after=config["row_seconds"])
    except egret.EgretError as error:
        table.add(**row, says=error.stderr.strip().splitlines()[-1])
        return
    says = [STOPPED] if found["interrupted"] else []
    if 0 < found["limit_bytes"] < found["memory_bytes"]:
        says.append("does not fit into a device")
    baselines = found["baselines"]
    if "data" in baselines and not found["baseline_facts"]["data"]["fits"]:
        says.append(DATA_TOO_LARGE)
    table.add(**row, time_s=found["time_s"], bound_s=found["bound_s"],
              **{f"{name}_s": baselines.get(name, "") for name in BASELINES},
              over_data=f"{baselines['data'] / found['time_s']:.3f}" if "data" in baselines else "",
              collectives=" ".join(f"{one['count']}x{one['collective']}:{one['axis']}" for one in found["communication"]),
              placed_nodes=found["placed_nodes"], memory_bytes=found["memory_bytes"], limit_bytes=found["limit_bytes"],
              seconds=f"{found['seconds']:.1f}", says=", ".join(says))


def tau(pairs):
    """Kendall's tau-b: how far two orders of the same things agree, where each has ties."""
    def sign(a, b):
        return (a > b) - (a < b)
    signs = [(sign(a[0], b[0]), sign(a[1], b[1])) for a, b in itertools.combinations(pairs, 2)]
    untied = [sum(s[i] != 0 for s in signs) for i in (0, 1)]
    return sum(x * y for x, y in signs) / math.sqrt(untied[0] * untied[1]) if all(untied) else 0


def main():
    mode, config = settings.read(__doc__, HERE)
    models = config[mode]["models"]
    table = results.Table("published-plans", mode, COLUMNS, KEY,
                          {"egret": egret.version(), "extract_time": config["extract_time"],
                           "row_seconds": config["row_seconds"]})
    cases = [(case, *machine.split(" ")) for case in config["case"] if not models or case["model"] in models
             for machine in config["machine"][case["paper"]]]
    cases = settings.WithinTime(sorted(cases, key=lambda case: devices_of(case[2]) > 4))  # the largest last
    with tempfile.TemporaryDirectory() as folder:
        for case, machine, mesh in cases:
            solve(table, pathlib.Path(folder), config, case, machine, mesh)
    if cases.left:
        return 0
    table.finish()
    table.print()
    planned = [row for row in table.rows if row["over_data"]]
    published = [(float(row["over_data"]), float(row["published"])) for row in planned if row["published"]]
    # A plan that fits may take longer than one that does not.
    fair = [float(row["over_data"]) for row in planned if DATA_TOO_LARGE not in row["says"]]
    measured = {"planned": len(planned), "least_over_data": min(fair)}
    if len(published) > 2:
        measured["tau"] = tau(published)
        print(f"order of {len(published)} models as published: Kendall's tau {measured['tau']:.2f}")
    return results.judge(HERE / "expected.json", mode, measured)


if __name__ == "__main__":
    sys.exit(main())
