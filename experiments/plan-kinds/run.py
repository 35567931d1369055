# SPDX-License-Identifier: Apache-2.0
"""When each kind of parallelism is the plan: sweeps over sizes and memory, and what the plan is at each step."""
import dataclasses
import pathlib
import sys
import tempfile
from collections.abc import Callable

from lib import egret, results, settings
from lib import small_models as models

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["sweep", "varied", "value", "kinds", "time_s", "single_s", "data_s", "tensor_s", "sent_bytes",
           "collectives", "memory_bytes", "limit_bytes"]


class Plan:
    """A plan's JSON: where inputs and weights are, and what is sent."""

    def __init__(self, found):
        self.placements = found["placements"]
        self.sends = {one["collective"] for one in found["communication"]}
        self.program = found["program"]

    def at(self, name):
        return self.placements.get(name, "")

    def placements_of(self, op):
        return {node["placement"] for node in self.program if node.get("op") == op}

    def softmax(self):
        """Where attention's weights are computed."""
        return next((node["placement"] for node in self.program if node.get("op") in ("softmax", "exp")), "")


def column_row(plan):
    return ["column-row"] if plan.at("up.w") == "x:S(1)" and plan.at("down.w") == "x:S(0)" else \
        ["data"] if plan.at("x") == "x:S(0)" else []


def sequence(plan):
    """Each device has some queries, and gathers keys and values; or some heads, with all keys of theirs."""
    return {"x:S(2)": ["sequence"], "x:S(1)": ["heads"]}.get(plan.softmax(), [])


def context(plan):
    """Each device has some of the keys; or some heads."""
    return {"x:S(2)": ["context"], "x:S(1)": ["heads"]}.get(plan.at("keys"), [])


def ring(plan):
    """All of attention goes on while keys and values pass round; or keys alone do, for the scores."""
    rings = [[step["op"] for step in node["ring"]] for node in plan.program if "ring" in node]
    return ["ring"] if any("exp" in ops for ops in rings) else ["ring-of-keys"] if rings else sequence(plan)


def spatial(plan):
    return ["spatial"] if "halo_exchange" in plan.sends else ["channels"] if plan.at("w1") != "x:R" else []


def vocabulary(plan):
    return ["vocabulary"] if plan.at("w") == "x:S(1)" and plan.at("e") == "x:S(0)" else []


def table_rows(plan):
    return ["table-rows"] if plan.at("table") == "x:S(0)" else []


def expert(plan):
    kinds = ["expert"] if plan.at("up") == "x:S(0)" and "all_to_all" in plan.sends else []
    return kinds + (["data"] if plan.at("up") == "x:R" and plan.at("x") == "x:S(0)" else [])


def norms(plan):
    """Weights by columns and rows, and the sequence cut between: a norm of blocks, between scattered and gathered."""
    cut = "x:S(0)" in plan.placements_of("layer_norm") and {"reduce_scatter", "all_gather"} <= plan.sends
    return ["norms"] if cut and plan.at("up.w") == "x:S(1)" and plan.at("down.w") == "x:S(0)" else column_row(plan)


def tables(plan):
    """Tables are cut, and what is looked up exchanged for rows of the batch, by which all layers are; or some."""
    cut = all(plan.at(f"table{i}").startswith("x:S") for i in range(4)) and "all_to_all" in plan.sends
    layers = plan.placements_of("relu")
    return (["tables"] if layers == {"x:S(0)"} else ["tables-mixed"]) if cut else column_row(plan)


def channels(plan):
    """Of AlexNet: images are cut for convolutions; of the layers behind the weights, by channels."""
    images = plan.placements_of("conv") - {"x:P(sum)"}  # those are filters' gradients
    weights = {node["placement"] for node in plan.program if node.get("type") in ("f32[9216,4096]", "f32[4096,4096]")}
    return ["+".join((["data"] if images == {"x:S(0)"} else []) + (["channels"] if "x:R" not in weights else []))]


def zero(plan):
    """What of most layers is in blocks. With state in blocks gradients are scattered, so ZeRO-1 is ZeRO-2 here."""
    def in_blocks(ending):
        return sum(plan.at(f"layer{i}.w{ending}") != "x:R" for i in range(6)) > 3
    return ["zero-3"] if in_blocks("") else ["zero-2"] if in_blocks(".momentum") else ["data"]


@dataclasses.dataclass
class Sweep:
    model: str
    varied: str  # a parameter of the model, or "memory" or "strategy" of the plan
    values: list
    kinds: Callable
    flags: tuple = ()
    sizes: dict = dataclasses.field(default_factory=dict)


TRAIN = ("--train", "--loss", "mse", "--optimizer", "momentum")
BLOCKS = ("--sharded-inputs",)
SWEEPS = {
    "column-row": Sweep("mlp", "batch", [8, 64, 512, 4096], column_row, BLOCKS),
    "sequence": Sweep("attention", "heads", [8, 4, 2, 1], sequence, BLOCKS, {"sequence": 256}),
    "context": Sweep("cache", "heads", [8, 4, 2, 1], context, BLOCKS),
    "ring": Sweep("self_attention", "memory", ["0", "2600KB", "2400KB", "2000KB", "1200KB"], ring, BLOCKS,
                  {"length": 1024, "size": 64}),
    "ring-length": Sweep("self_attention", "length", [128, 256, 512, 1024, 2048], ring,
                         BLOCKS + ("--device-memory", "2MB")),
    "spatial": Sweep("image", "size", [8, 16, 32, 64, 128], spatial, BLOCKS),
    "vocabulary": Sweep("vocabulary", "words", [64, 512, 4096, 32768], vocabulary),
    "table-rows": Sweep("embedding", "memory", ["0", "8MB", "6MB", "4500KB"], table_rows),
    "expert": Sweep("experts", "memory", ["0", "5MB", "3MB", "2200KB"], expert, BLOCKS),
    "norms": Sweep("transformer", "sequence", [4, 16, 64, 256], norms, BLOCKS),
    "tables": Sweep("dlrm", "batch", [64, 256, 1024], tables, ("--train", "--loss", "mse", *BLOCKS)),
    "channels": Sweep("alexnet", "batch", [4, 32], channels, ("--train", "--loss", "mse", *BLOCKS)),
    "zero": Sweep("deep", "strategy", ["data", "zero-1", "zero-3", "any"], zero, TRAIN),
    "zero-memory": Sweep("deep", "memory", ["0", "7MB", "6MB", "5400KB", "5130KB"], zero, TRAIN),
}


def write(folder, sweep, varied):
    if sweep.model in models.WRITE:
        models.WRITE[sweep.model](folder, **sweep.sizes, **varied)
    else:
        sizes = [word for name, value in varied.items() for word in (f"--{name}", value)]
        egret.run("zoo", sweep.model, *sizes, "-o", folder / f"{sweep.model}.onnx")


def solve(table, name, value, config):
    sweep = SWEEPS[name]
    if table.has(sweep=name, value=value):
        return
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        flag = {"memory": "--device-memory", "strategy": "--strategy"}.get(sweep.varied)
        write(path, sweep, {} if flag else {sweep.varied: value})
        limit = [flag, value] if flag else []
        found = egret.call("plan", path / f"{sweep.model}.onnx", "--machine", config["machine"], "--mesh",
                           config["mesh"], *sweep.flags, *limit)
    sent = found["communication"]
    table.add(sweep=name, varied=f"{sweep.model} {sweep.varied}", value=value, kinds=" ".join(sweep.kinds(Plan(found))),
              **{key: found[key] for key in ("time_s", "memory_bytes", "limit_bytes")},
              **{f"{kind}_s": found["baselines"].get(kind, "") for kind in ("single", "data", "tensor")},
              sent_bytes=sum(one["bytes"] for one in sent),
              collectives=" ".join(f"{one['count']}x{one['collective']}" for one in sent))


def main():
    mode, config = settings.read(__doc__, HERE)
    table = results.Table("plan-kinds", mode, COLUMNS, ["sweep", "value"],
                          {"egret": egret.version(), "machine": config["machine"], "mesh": config["mesh"]})
    for name in config[mode]["sweeps"]:
        for value in SWEEPS[name].values:
            solve(table, name, value, config)
    table.finish()
    table.print()
    wanted = {name: name for name in config[mode]["sweeps"]}
    wanted |= {"ring-length": "ring", "channels": "data+channels", "zero": "zero-2", "zero-memory": "zero-3"}
    seen = {name: [wanted[name] in row["kinds"].split() for row in table.rows if row["sweep"] == name]
            for name in config[mode]["sweeps"]}
    return results.judge(HERE / "expected.json", mode, {f"{kind}_appears": sum(rows) for kind, rows in seen.items()}
                         | {f"{kind}_only_where_best": len(rows) - sum(rows) for kind, rows in seen.items()})


if __name__ == "__main__":
    sys.exit(main())
