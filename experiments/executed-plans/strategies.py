# SPDX-License-Identifier: Apache-2.0
"""The strategies, the models on which they should be the plan, and how a plan shows that it is one of them.

Each test reads a plan as `egret plan --json` gives it: where inputs, weights and state are, and what is sent.
"""
import dataclasses
import pathlib
from collections.abc import Callable

HERE = pathlib.Path(__file__).resolve().parent
SLOW_LINKS, TWO_TIERS = HERE / "slow-links.toml", HERE / "two-tiers.toml"


class Plan:
    def __init__(self, found):
        self.placements = found["placements"]
        self.program = found["program"]
        self.sends = {}
        for one in found["communication"]:
            self.sends[one["collective"]] = self.sends.get(one["collective"], 0) + one["count"]

    def at(self, name):
        return self.placements.get(name, "")

    def of(self, *ops):
        """The placements of the results of these operators."""
        return {node["placement"] for node in self.program if node.get("op") in ops}

    def all_at(self, names, placement):
        return all(self.at(name) == placement for name in names)

    def layers(self, ending=""):
        """The parameters of `deep`, or their state."""
        endings = (f".w{ending}", f".b{ending}")
        return [name for name in self.placements if name.startswith("layer") and name.endswith(endings)]

    def in_blocks(self, names):
        """Whether more than half of these are cut."""
        return 2 * sum("S(" in self.at(name) for name in names) > len(names)


def is_data(plan):
    return plan.at("x") == "x:S(0)" and plan.all_at(MLP, "x:R") and set(plan.sends) == {"all_reduce"}


def is_tensor(plan):
    return plan.at("up.w") == "x:S(1)" and plan.at("down.w") == "x:S(0)"


def is_tensor_and_sequence(plan):
    """Between the matrices rows of the sequence are cut: what comes in, and what normalizations read."""
    return is_tensor(plan) and plan.at("x") == "x:S(0)" and {"reduce_scatter", "all_gather"} <= set(plan.sends)


def zero(stage):
    """ZeRO-1 adds gradients up on every device; ZeRO-2 scatters them; ZeRO-3 also keeps parameters in blocks."""
    def is_zero(plan):
        parameters, state = plan.in_blocks(plan.layers()), plan.in_blocks(plan.layers(".momentum"))
        return state and parameters == (stage == 3) and (stage == 1) == ("reduce_scatter" not in plan.sends)
    return is_zero


def is_fsdp(plan):
    """Weights are in blocks, and gathered for each pass: the first layer's for the forward pass alone."""
    weights = [name for name in plan.layers() if name.endswith(".w")]
    return all("S(" in plan.at(name) for name in weights) and plan.sends.get("all_gather", 0) >= 2 * len(weights) - 1


def is_hybrid(plan):
    """Hosts compute different rows, and the cores of a host different columns of them."""
    return "hosts:S(0),cores:S(1)" in plan.of("relu")


def is_hybrid_sharded(plan):
    """Rows are cut by all, parameters and state among the cores of a host."""
    names = [*plan.layers(), *plan.layers(".momentum")]
    return sum(plan.at(name).startswith("hosts:R,cores:S") for name in names) * 2 > len(names) and \
        plan.at("x") == "hosts:S(0),cores:S(0)"


def is_expert(plan):
    """Devices have different experts and different rows of the batch, and exchange tokens."""
    return plan.at("up") == plan.at("down") == plan.at("labels") == "x:S(0)" and plan.sends.get("all_to_all", 0) > 1


def is_context(plan):
    """Each device has some of the queries, and gathers keys and values."""
    return plan.of("softmax", "exp") == {"x:S(2)"} and plan.at("q.w") == "x:R" and "ring" not in plan.sends


def is_ring(plan):
    """Keys and values pass the devices, which compute the weights of attention on the way."""
    return any(step["op"] == "exp" for node in plan.program for step in node.get("ring", []))


def is_ulysses(plan):
    """Rows of the sequence become heads and rows again, by all-to-alls, for values and for gradients."""
    return plan.of("softmax") == {"x:S(1)"} and plan.of("relu") == {"x:S(0)"} and \
        plan.sends.get("all_to_all", 0) >= 8


def is_vocabulary_loss(plan):
    """Logits stay where their words are; only sums and maxima of rows are sent."""
    return plan.at("words") == "x:S(1)" and "x:S(1)" in plan.of("exp") and "all_to_all" not in plan.sends


def is_row_wise(plan):
    return plan.at("table") == "x:S(0)"


def is_column_wise(plan):
    return all(plan.at(f"table{i}") == "x:S(1)" for i in range(4)) and "all_to_all" in plan.sends


def is_table_wise(plan):
    """Each device has whole tables; what they look up is exchanged for rows of the batch, or layers have columns."""
    return plan.at("table") == "x:S(0)"


def is_spatial(plan):
    axes = [set(one.split(",")) for one in plan.of("conv")]
    return any(any(p.endswith("S(0)") for p in at) and any("S(2)" in p for p in at) for at in axes) and \
        "halo_exchange" in plan.sends


def is_towers(plan):
    return plan.all_at(["tower0", "tower1"], "x:S(0)")


MLP = ["up.w", "up.b", "down.w", "down.b"]


@dataclasses.dataclass(frozen=True)
class Strategy:
    """How a strategy's plan is asked for. Ranks that the mesh cannot have are left out."""
    model: str
    is_found: Callable
    sizes: dict = dataclasses.field(default_factory=dict)
    options: tuple = ("--loss", "mse")
    machine: str = "local"
    mesh: str = "x={ranks}"
    ranks: tuple = (2, 4, 8)
    memory: Callable | None = None  # the bytes of a device, of their number
    flag: tuple = ()  # that asks for the strategy, where there is one
    trains: bool = True  # otherwise the model alone is planned and run


def two_tiers(*arguments, **named):
    return Strategy(*arguments, **named, machine=str(TWO_TIERS), mesh="hosts=2,cores={cores}", ranks=(4, 8))


MOMENTUM = ("--loss", "mse", "--optimizer", "momentum")
WIDE_ROWS = {"batch": 4096, "width": 16, "hidden": 16}
PLANNED = {
    "data": Strategy("mlp", is_data, WIDE_ROWS, flag=("--strategy", "data")),
    "tensor": Strategy("mlp", is_tensor, flag=("--strategy", "tensor")),
    "tensor + sequence": Strategy("transformer", is_tensor_and_sequence, options=MOMENTUM,
                                  flag=("--strategy", "tensor")),
    "ZeRO-1": Strategy("deep", zero(1), options=MOMENTUM, flag=("--strategy", "zero-1")),
    "ZeRO-2": Strategy("deep", zero(2), options=MOMENTUM, flag=("--strategy", "zero-1")),
    "ZeRO-3": Strategy("deep", zero(3), options=MOMENTUM, flag=("--strategy", "zero-3")),
    "FSDP": Strategy("deep", is_fsdp, options=MOMENTUM, ranks=(4,), memory=lambda ranks: 5_400 * 1024),
    "data x tensor": two_tiers("mlp", is_hybrid, {"batch": 2048}, flag=("--strategy", "data-tensor")),
    "hybrid-sharded": two_tiers("deep", is_hybrid_sharded, {"layers": 2, "batch": 256}, options=MOMENTUM,
                                flag=("--strategy", "hybrid-zero")),
    "expert + data": Strategy("experts", is_expert, options=(*MOMENTUM, "--lr", "1e-4"), flag=("--strategy", "expert")),
    "context": Strategy("late_attention", is_context, {"heads": 1, "sequence": 1024}),
    "ring attention": Strategy("self_attention", is_ring, options=(), trains=False,
                               memory=lambda ranks: 3_400_000 // ranks**2 + 150_000),
    "vocabulary-parallel loss": Strategy("language", is_vocabulary_loss, options=("--loss", "cross_entropy")),
    "embedding, rows": Strategy("embedding", is_row_wise, memory=lambda ranks: 8_000_000 + 20_000_000 // ranks, ranks=(4,)),
    "embedding, columns": Strategy("dlrm", is_column_wise, {"batch": 1024}, ranks=(4,)),
    "embedding, tables": Strategy("stacked_tables", is_table_wise, {"batch": 16, "rows": 1023}, ranks=(4,)),
    "spatial + batch": Strategy("image", is_spatial, {"batch": 2}, options=MOMENTUM, mesh="rows=2,images={cores}",
                                ranks=(4,)),
    "towers on devices": Strategy("stacked_towers", is_towers),
    "Ulysses": Strategy("late_attention", is_ulysses, {"heads": 8, "sequence": 2048}, ranks=(4, 8)),
}


@dataclasses.dataclass(frozen=True)
class Pipeline:
    """A plan of `egret plan` without a model, for a small transformer, and what it is told."""
    is_found: Callable
    told: tuple = ()
    ranks: tuple = (2, 4, 8)
    options: tuple = ("--tp", 1, "--zero", 0)  # also where it should be the plan untold


def schedule_is(name):
    return lambda plan: plan["pp"] > 1 and plan["vpp"] == 1 and plan["schedule"] == name


def is_interleaved(plan):
    return plan["pp"] > 1 and plan["vpp"] > 1


def is_pipeline_of(tp, dp):
    return lambda plan: plan["pp"] > 1 and plan["tp"] == tp and plan["dp"] == dp


# Layers of the transformer, sequences of a step, and their sizes.
LAYERS = {"count": 8, "batch": 16, "sequence": 16, "width": 64, "heads": 8}
TRANSFORMER = ("--model-layers", LAYERS["count"], "--hidden", LAYERS["width"], "--heads", LAYERS["heads"],
               "--sequence-length", LAYERS["sequence"], "--global-batch", LAYERS["batch"], "--vocabulary", LAYERS["width"],
               "--no-dropout", "--train-precision", "f32", "--recompute", "none", "--offload", "none", "--cp", 1)
SHARED = ("--tp", 2, "--pp", 2, "--equal-degrees")  # two devices for each of two stages
PIPELINES = {
    "1F1B": Pipeline(schedule_is("1f1b"), ("--schedule", "1f1b", "--vpp", 1)),
    "interleaved": Pipeline(is_interleaved, ("--vpp", 2), ranks=(2, 4)),
    "zero-bubble": Pipeline(schedule_is("zb-h1"), ("--schedule", "zb-h1")),
    "1F1B x data": Pipeline(lambda plan: plan["pp"] > 1 and plan["dp"] > 1, ("--pp", 2, "--dp", 2, "--schedule", "1f1b", "--vpp", 1),
                            ranks=(4,)),
    "pipeline x tensor": Pipeline(is_pipeline_of(tp=2, dp=1), (*SHARED, "--dp", 1, "--vpp", 1), ranks=(4,), options=("--zero", 0)),
    "pipeline x tensor x data": Pipeline(is_pipeline_of(tp=2, dp=2), (*SHARED, "--dp", 2, "--vpp", 1), ranks=(8,), options=("--zero", 0)),
    "pipeline x tensor x ZeRO-1": Pipeline(is_pipeline_of(tp=2, dp=2), (*SHARED, "--dp", 2, "--vpp", 1), ranks=(8,),
                                           options=("--zero", 1)),
    "interleaved x tensor": Pipeline(lambda plan: is_interleaved(plan) and plan["tp"] == 2,
                                     (*SHARED, "--dp", 1, "--vpp", 2), ranks=(4,), options=("--zero", 0)),
}
