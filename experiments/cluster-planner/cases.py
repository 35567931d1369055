# SPDX-License-Identifier: Apache-2.0
"""Transformers, clusters, and the plans of experts for them, as their papers give them."""
import csv
import dataclasses
import itertools
import pathlib

from lib import egret

OTHERS = egret.SHARED / "cluster-data"


@dataclasses.dataclass
class Case:
    name: str
    machine: str
    devices: int
    model: dict  # options of `egret simulate` that describe the model and what the program can do
    expert: dict | list | None = None  # the options of the expert's plan; of several, the fastest that fits counts
    source: str = ""
    published_s: float = 0  # its step, as measured


def gpt(layers, hidden, heads, sequence, batch, **more):
    return {"model-layers": layers, "hidden": hidden, "heads": heads, "sequence-length": sequence,
            "vocabulary": 51200, "global-batch": batch, **more}


# Zheng et al., "Alpa" (2022), table 5: GPT on p3.16xlarge, a batch of 1,024 sequences of 1,024 tokens.
ALPA = {"350M": (24, 1024, 16, 1), "1.3B": (24, 2048, 32, 4), "2.6B": (32, 2560, 32, 8), "6.7B": (32, 4096, 32, 16),
        "15B": (48, 5120, 40, 32), "39B": (48, 8192, 64, 64)}

# Narayanan et al. (2021), table 1: DGX A100, sequences of 2,048 tokens, all activations recomputed. Columns: layers,
# hidden, heads, tensor, pipeline, GPUs, batch, achieved TFLOP/s of a GPU. The micro-batches are not given; 1 here.
MEGATRON = {"1.7B": (24, 2304, 24, 1, 1, 32, 512, 137), "7.5B": (36, 4096, 32, 4, 1, 128, 512, 142),
            "18B": (40, 6144, 48, 8, 1, 256, 1024, 135), "39B": (48, 8192, 64, 8, 2, 512, 1536, 138),
            "76B": (60, 10240, 80, 8, 4, 1024, 1792, 140), "145B": (80, 12288, 96, 8, 8, 1536, 2304, 148),
            "310B": (96, 16384, 128, 8, 16, 1920, 2160, 155), "530B": (105, 20480, 128, 8, 35, 2520, 2520, 163),
            "1T": (128, 25600, 160, 8, 64, 3072, 3072, 163)}

LLAMA = {"8B": {"model-layers": 32, "hidden": 4096, "heads": 32, "ffn": 14336},
         "70B": {"model-layers": 80, "hidden": 8192, "heads": 64, "ffn": 28672},
         "405B": {"model-layers": 126, "hidden": 16384, "heads": 128, "ffn": 53248}}
LLAMA_PROGRAM = {"kv-heads": 8, "gated": True, "vocabulary": 128256, "untied": True, "no-dropout": True,
                 "flash-attention": True, "overlap-gradients": True, "overlap-transfers": True,
                 "train-precision": "bf16", "sequence-length": 8192}


def llama(size, batch, **more):
    return {**LLAMA[size], **LLAMA_PROGRAM, "global-batch": batch, **more}


def seconds_of(layers, hidden, sequence, batch, gpus, tflops):
    """Of a step, by the operations that Narayanan et al. count, which include recomputation (section 5.1)."""
    operations = 96 * batch * sequence * layers * hidden**2 * (
        1 + sequence / (6 * hidden) + 51200 / (16 * layers * hidden))
    return operations / (gpus * tflops * 1e12)


def alpa():
    for size, (layers, hidden, heads, devices) in ALPA.items():
        yield Case(f"alpa {size}", "p3-16xlarge-8", devices, gpt(layers, hidden, heads, 1024, 1024))


def megatron():
    for size, (layers, hidden, heads, tp, pp, devices, batch, tflops) in MEGATRON.items():
        expert = {"tp": tp, "pp": pp, "dp": devices // (tp * pp), "recompute": "full"}
        yield Case(f"megatron {size}", "dgx-a100", devices, gpt(layers, hidden, heads, 2048, batch), expert,
                   "Narayanan et al. 2021", seconds_of(layers, hidden, 2048, batch, devices, tflops))


def korthikanti():
    """Sequence parallelism and selective recomputation (Korthikanti et al., 2022), as the shared table has them."""
    path = OTHERS / "megatron_recompute.csv"
    if not path.exists():
        return
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            number = {key: int(row[key]) for key in ("heads", "hidden", "layers", "tp", "pp", "interleave", "gpus",
                                                     "global_batch", "micro_batch")}
            expert = {"tp": number["tp"], "pp": number["pp"], "vpp": number["interleave"], "recompute": "selective",
                      "micro-batch": number["micro_batch"], "sequence-parallel": True}
            model = gpt(number["layers"], number["hidden"], number["heads"], 2048, number["global_batch"])
            yield Case(f"recompute {row['model']}", "dgx-a100", number["gpus"], model, expert,
                       "Korthikanti et al. 2022", float(row["step_s_sequence_and_selective"]))


def herd():
    """The Llama 3 Herd of Models (2024), table 4: bf16 on H100; its MFU gives the step."""
    for devices, dp, cp, sequence, batch, mfu in ((8192, 64, 1, 8192, 2048, 0.43), (16384, 128, 1, 8192, 2048, 0.41),
                                                  (16384, 8, 16, 131072, 128, 0.38)):
        expert = {"tp": 8, "pp": 16, "vpp": 4, "dp": dp, "cp": cp, "zero": 2, "sequence-parallel": True}
        model = llama("405B", batch, **{"sequence-length": sequence})
        yield Case(f"herd 405B {devices} x {sequence}", "rail-100k", devices, model, expert, "Llama 3 Herd 2024", -mfu)


def mlperf():
    """Measured steps of Llama-3.1-405B in 8 bits (MLPerf Training 5.0), whose configurations' names state the degrees."""
    path = OTHERS / "mlperf_large.csv"
    if not path.exists():
        return
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            if row["benchmark"] != "llama31_405b" or "DGXH100" not in row["config"]:
                continue
            devices = int(row["nodes"]) * int(row["gpus_per_node"])
            tp, pp, cp = (int(row[key]) for key in ("tp", "pp", "cp"))
            expert = {"tp": tp, "pp": pp, "cp": cp, "dp": devices // (tp * pp * cp), "vpp": 8,
                      "sequence-parallel": True, "zero": 1}
            model = llama("405B", int(row["global_batch"]),
                          **{"train-precision": "fp8", "overlap-tensor": True})
            yield Case(f"mlperf 405B {devices}", "dgx-h100", devices, model, expert, "MLPerf 5.0",
                       float(row["median_step_s"]))


def h100():
    for size, devices, batch in (("8B", 4, 128), ("8B", 64, 512), ("8B", 1024, 1024), ("70B", 64, 512),
                                 ("70B", 512, 1024), ("70B", 4096, 2048), ("405B", 512, 1024), ("405B", 4096, 2048),
                                 ("405B", 16384, 2048)):
        yield Case(f"h100 {size} {devices}", "dgx-h100", devices, llama(size, batch))
    yield Case("rail 405B 100000", "rail-100k", 100_000, llama("405B", 12288))


# Zheng et al. (2022), table 5: mixtures of experts on p3.16xlarge, as Alpa's program has them: every second layer has
# experts, feed-forward layers are 8 times as wide as the model, two experts a token with a place for each. Columns:
# layers, hidden, experts, GPUs; then the plan that Alpa found (benchmark/alpa/suite_auto_moe.py): stages, ranks of a
# stage, and micro-batches.
ALPA_MOE = {"380M": (8, 768, 8, 1, 1, 1, 512), "1.3B": (16, 768, 16, 4, 2, 2, 32), "2.4B": (16, 1024, 16, 8, 2, 4, 32),
            "10B": (16, 1536, 32, 16, 2, 8, 16), "27B": (16, 2048, 48, 32, 8, 4, 128), "70B": (32, 2048, 64, 64, 8, 8, 64)}


def alpa_moe():
    for size, (layers, hidden, experts, devices, pp, dp, micro_batches) in ALPA_MOE.items():
        model = gpt(layers, hidden, 16, 1024, 1024, **{"vocabulary": 32000, "ffn": 8 * hidden, "experts": experts,
                                                       "expert-interval": 2, "capacity-factor": 1})
        expert = {"tp": 1, "pp": pp, "dp": dp, "ep": dp, "micro-batch": 1024 // micro_batches // dp, "recompute": "full",
                  "zero": 1 if dp > 1 else 0}
        yield Case(f"alpa moe {size}", "p3-16xlarge-8", devices, model, expert, "Alpa's found plan")


MIXTRAL = {"8x7B": ({"model-layers": 32, "hidden": 4096, "heads": 32, "ffn": 14336}, 64, {"tp": 1, "pp": 4, "ep": 8}),
           "8x22B": ({"model-layers": 56, "hidden": 6144, "heads": 48, "ffn": 16384}, 256,
                     {"tp": 4, "pp": 4, "ep": 8, "sequence-parallel": True})}


def mixtral():
    """Mixtral with the degrees that Megatron-Core's guide recommends for it on H100. Micro-batches of one sequence, a
    distributed optimizer and as much recomputation as memory needs are assumed."""
    for size, (sizes, devices, degrees) in MIXTRAL.items():
        model = {**sizes, **LLAMA_PROGRAM, "vocabulary": 32000, "sequence-length": 4096, "global-batch": 1024,
                 "experts": 8, "top-k": 2, "expert-exchange": "fastest"}
        expert = {**degrees, "dp": devices // (degrees["tp"] * degrees["pp"]), "expert-tp": 1, "zero": 1,
                  "recompute": "full"}
        yield Case(f"mixtral {size}", "dgx-h100", devices, model, expert, "Megatron-Core's guide")


# Qwen3-235B-A22B as experiments/cluster-validation has it: the plans and steps that NVIDIA publishes.
QWEN3 = {"model-layers": 94, "hidden": 4096, "heads": 64, "kv-heads": 4, "head-size": 128, "sequence-length": 4096,
         "vocabulary": 151936, "gated": True, "untied": True, "no-dropout": True, "flash-attention": True,
         "experts": 128, "top-k": 8, "expert-ffn": 1536, "expert-exchange": "once", "train-precision": "bf16",
         "overlap-gradients": True}


def qwen3():
    path = pathlib.Path(__file__).resolve().parent.parent / "cluster-validation" / "experts_published.csv"
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            model = {**QWEN3, "global-batch": int(row["global_batch"]), "overlap-experts": row["overlap"] == "1"}
            expert = {key.replace("_", "-"): int(row[key])
                      for key in ("tp", "ep", "pp", "vpp", "dp", "micro_batch", "zero")}
            expert.update({"expert-tp": 1, "sequence-parallel": row["tp"] != "1"})
            if row["recompute"] != "none":
                expert["recompute"] = row["recompute"]
            if row["stage_layers"]:
                expert["stage-layers"] = row["stage_layers"]
            yield Case(f"qwen3 235B, {row['row']}", row["system"], 256, model, expert, "Megatron-MoE-ModelZoo",
                       float(row["step_s"]))


def deepseek():
    """DeepSeek-V3 (DeepSeek-AI, 2024, section 3.2): 16 stages, experts among 64 ranks, ZeRO-1, DualPipe. Here all layers
    have experts, none is shared, and attention is the usual one. Its H800 have slower NVLink than H100. The step follows
    from 180 thousand GPU hours for 10^12 tokens (table 1)."""
    model = {"model-layers": 61, "hidden": 7168, "heads": 128, "head-size": 128, "vocabulary": 129280, "untied": True,
             "gated": True, "no-dropout": True, "flash-attention": True, "experts": 256, "top-k": 8, "expert-ffn": 2048,
             "expert-exchange": "once", "overlap-experts": True, "overlap-gradients": True, "overlap-transfers": True,
             "train-precision": "fp8", "optimizer-bytes": 8, "sequence-length": 4096, "global-batch": 15360}
    expert = {"tp": 1, "pp": 16, "dp": 128, "ep": 64, "expert-tp": 1, "zero": 1, "schedule": "dualpipe"}
    yield Case("deepseek-v3 like", "dgx-h100", 2048, model, expert, "DeepSeek-AI 2024",
               180e3 * 3600 / 2048 * 15360 * 4096 / 1e12)


# Zheng et al. (2022), table 5: Wide-ResNet in 32 bits on p3.16xlarge. Columns: depth, channels, width factor, GPUs, images
# of a step; then the plan that Alpa found (benchmark/alpa/suite_wresnet.py): micro-batches, blocks of each stage, its GPUs,
# and how they divide it: "d" is data and "t" tensor parallelism, "?" what Alpa leaves to its integer program.
ALPA_WIDE_RESNET = {
    "250M": (50, 160, 2, 1, 1536, 24, (16,), (1,), "d"),
    "500M": (50, 224, 2, 2, 1536, 24, (16,), (2,), "?"),
    "1B": (50, 320, 2, 4, 1536, 24, (16,), (4,), "?"),
    "2B": (50, 448, 2, 8, 1536, 24, (8, 8), (4, 4), "?t"),
    "4B": (50, 640, 2, 16, 1536, 32, (5, 4, 7), (4, 4, 8), "dd?"),
    "6.8B": (50, 320, 16, 32, 1536, 32, (5, 4, 4, 3), (8, 8, 8, 8), "d???"),
    "13B": (101, 320, 16, 64, 1520, 38, (4, 4, 4, 4, 4, 4, 5, 4), (8,) * 8, "?t?t??t?")}


def numbers(values):
    return ",".join(map(str, values))


def first_devices(sizes, node=8):
    """Of stages of these sizes, from the largest, so that none lies on two nodes."""
    firsts, following = [0] * len(sizes), 0
    for stage in sorted(range(len(sizes)), key=lambda each: -sizes[each]):
        aligned = min(sizes[stage], node)
        following = -(-following // aligned) * aligned
        firsts[stage], following = following, following + sizes[stage]
    return firsts


def alpa_wide_resnet():
    """The "?" stages divide images or channels: all combinations are plans."""
    for size, (depth, channels, width, devices, images, micro_batches, blocks, sizes, ways) in ALPA_WIDE_RESNET.items():
        model = {"wide-resnet": depth, "channels": channels, "width-factor": width, "model-layers": sum(blocks),
                 "global-batch": images, "train-precision": "f32", "gradient-bytes": 4, "optimizer-bytes": 4}
        micro_batch = images // micro_batches
        experts = []
        for choice in itertools.product(*("dt" if way == "?" else way for way in ways)):
            if any(micro_batch % count for count, way in zip(sizes, choice) if way == "d"):
                continue
            experts.append({
                "pp": len(blocks), "micro-batch": micro_batch, "recompute": "full", "stage-layers": numbers(blocks),
                "stage-tp": numbers(count if way == "t" else 1 for count, way in zip(sizes, choice)),
                "stage-dp": numbers(count if way == "d" else 1 for count, way in zip(sizes, choice)),
                "stage-first": numbers(first_devices(sizes))})
        yield Case(f"alpa wide-resnet {size}", "p3-16xlarge-8", devices, model, experts, "Alpa's found plan")


MACHINES = pathlib.Path(__file__).resolve().parent / "machines"


def unlike_devices():
    """Devices of two kinds; the rule "equal" has as many layers in each stage."""
    for machine, size in (("a100-v100", "2.6B"), ("a100-v100", "6.7B"), ("h100-a100", "6.7B"), ("h100-a100", "15B")):
        layers, hidden, heads, _ = ALPA[size]
        yield Case(f"{machine} {size}", str(MACHINES / f"{machine}.toml"), 32, gpt(layers, hidden, heads, 1024, 1024))


def all_cases():
    groups = (alpa, megatron, korthikanti, herd, mlperf, h100, alpa_moe, mixtral, qwen3, deepseek, alpa_wide_resnet,
              unlike_devices)
    return [case for group in groups for case in group()]
