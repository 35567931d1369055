# SPDX-License-Identifier: Apache-2.0
"""The measured clusters of ../shared, as machines, training setups and measured values."""
import csv
import dataclasses
import lzma
import pathlib

from lib import egret

VTRAIN = egret.SHARED / "vtrain"
OTHERS = egret.SHARED / "cluster-data"


@dataclasses.dataclass
class Case:
    machine: str     # a preset
    line: dict       # for step_estimates
    measured: float  # seconds, bytes or percent
    group: str       # plans of one group do the same work on the same devices


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def vtrain(row, **more):
    setup = {"model-layers": row["# layers"], "hidden": row["hidden size"], "heads": row["attention heads"],
             "sequence-length": row["sequence length"], "tp": row["tensor parallelism"], "dp": row["data parallelism"],
             "pp": row["pipeline parallelism"], "micro-batch": row["micro batch"], "global-batch": row["global batch"]}
    setup = {key: int(value) for key, value in setup.items()}
    # Megatron-DeepSpeed exchanges gradients of 16 bits.
    setup.update({"gradient-bytes": 2}, **more)
    group = "-".join(row[key] for key in ("# GPUs", "hidden size", "# layers", "global batch"))
    return Case("a100-4hdr", setup, float(row["iteration time (ms)"]) / 1e3, group)


def vtrain_one_node():
    cases = [vtrain(row) for row in read(VTRAIN / "single_node.csv")]
    for case in cases:
        # The output layer's time shows that only tensor parallelism pads the vocabulary of GPT-2.
        if case.line["tp"] == 1:
            case.line["vocabulary"] = 50257
    return cases


def vtrain_nodes():
    # Micro-batches of 64 sequences leave no memory for more than inputs of layers.
    return [vtrain(row, recompute="full") for row in read(VTRAIN / "multi_node.csv")]


def megatron_setup(row, sequence_parallel, recompute):
    return {"model-layers": int(row["layers"]), "hidden": int(row["hidden"]), "heads": int(row["heads"]),
            "sequence-length": 2048, "vocabulary": 51200, "tp": int(row["tp"]), "pp": int(row["pp"]),
            "vpp": int(row["interleave"]), "micro-batch": int(row["micro_batch"]),
            "global-batch": int(row["global_batch"]), "sequence-parallel": sequence_parallel, "recompute": recompute,
            "overlap-transfers": int(row["interleave"]) > 1,
            # Megatron-LM exchanges gradients of inputs beside the products of weights' gradients.
            "overlap-weights": True}


def megatron_times():
    cases = []
    for row in read(OTHERS / "megatron_recompute.csv"):
        for column, setup in (("step_s_full_recompute", megatron_setup(row, False, "full")),
                              ("step_s_sequence_and_selective", megatron_setup(row, True, "selective"))):
            cases.append(Case("dgx-a100", setup, float(row[column]), row["model"]))
    return cases


def megatron_memory():
    """Activations of a layer in percent of those without recomputation and without sequence parallelism."""
    cases = []
    for row in read(OTHERS / "megatron_recompute.csv"):
        for column, choice in (("sequence", (True, "none")), ("selective", (False, "selective")),
                               ("both", (True, "selective")), ("full", (False, "full"))):
            cases.append(Case("dgx-a100", megatron_setup(row, *choice), float(row[f"activations_pct_{column}"]),
                              row["model"]))
    return [dataclasses.replace(case, group=str(i)) for i, case in enumerate(cases)]


def sailor(column):
    opt = {"model-layers": 24, "hidden": 1024, "heads": 16, "sequence-length": 2048, "vocabulary": 50272, "no-dropout": True,
           "recompute": "selective", "gradient-bytes": 2, "optimizer-bytes": 0, "logit-bytes": 18}
    cases = []
    for row in read(OTHERS / "sailor_validation.csv"):
        setup = dict(opt, dp=int(row["data_parallel"]), pp=int(row["stages"]))
        setup.update({"micro-batch": int(row["micro_batch"]), "global-batch": int(row["global_batch"])})
        cases.append(Case("gh200-sailor", setup, float(row[column]),
                          f"{row['nodes_or_gpus']}-{row['global_batch']}"))
    return cases


LLAMA = {
    "llama31_405b": {"model-layers": 126, "hidden": 16384, "heads": 128, "kv-heads": 8, "ffn": 53248, "vocabulary": 128256,
                     "untied": True, "distributed-optimizer": True, "overlap-gradients": True},
    "llama2_70b_lora": {"model-layers": 80, "hidden": 8192, "heads": 64, "kv-heads": 8, "ffn": 28672, "vocabulary": 32000,
                        "untied": True, "frozen": True},
}
CHIPS = {"DGXH100": "dgx-h100", "H100": "dgx-h100", "DGXB200": "dgx-b200", "GB200": "gb200-nvl72"}


def mlperf():
    cases = []
    for row in read(OTHERS / "mlperf_large.csv"):
        tp, pp, cp = (int(row[key]) for key in ("tp", "pp", "cp"))
        devices = int(row["nodes"]) * int(row["gpus_per_node"])
        batch = int(row["global_batch"])
        setup = dict(LLAMA[row["benchmark"]], tp=tp, pp=pp, cp=cp, dp=devices // (tp * pp * cp),
                     **{"sequence-length": 8192})
        setup.update({"gated": True, "no-dropout": True, "flash-attention": True, "micro-batch": 1,
                      "global-batch": batch, "sequence-parallel": tp > 1, "overlap-transfers": True,
                      "train-precision": "fp8", "overlap-tensor": pp > 1, "vpp": 8 if pp > 1 else 1})
        chip = row["config"].split("_")[1]
        cases.append(Case(CHIPS[chip], setup, float(row["median_step_s"]), str(len(cases))))
    return cases


# Qwen3-235B-A22B as NVIDIA runs it in Megatron-Core (Megatron-MoE-ModelZoo, best_practice/qwen3/readme.md and
# model_configs/benchmarking, January 2026): bf16, 256 GPUs, DeepEP or HybridEP. The step of the last row follows from
# its 750 TFLOPS a GPU.
QWEN3 = {"model-layers": 94, "hidden": 4096, "heads": 64, "kv-heads": 4, "head-size": 128, "sequence-length": 4096,
         "vocabulary": 151936, "gated": True, "untied": True, "no-dropout": True, "flash-attention": True,
         "experts": 128, "top-k": 8, "expert-ffn": 1536, "expert-tp": 1, "expert-exchange": "once",
         "train-precision": "bf16", "overlap-gradients": True}


def experts():
    cases = []
    for row in read(pathlib.Path(__file__).with_name("experts_published.csv")):
        setup = dict(QWEN3)
        for column in ("tp", "ep", "pp", "vpp", "dp", "micro_batch", "global_batch", "zero"):
            setup[column.replace("_", "-")] = int(row[column])
        setup.update({"recompute": row["recompute"], "stage-layers": row["stage_layers"],
                      "sequence-parallel": row["tp"] != "1", "overlap-experts": row["overlap"] == "1"})
        cases.append(Case(row["system"], setup, float(row["step_s"]), row["system"]))
    return cases


NODES = {"a100": "a100-4hdr", "v100": "p3-16xlarge-8"}


def allreduce(name):
    """Cases of one kind of device, of all sizes of groups; every second size is for fits."""
    cases = []
    for size in (2, 4, 8):
        with lzma.open(VTRAIN / "allreduce" / f"{name}_{size}gpu.xz", "rt") as file:
            for row in list(csv.reader(file))[1:]:
                line = {"collective": "all_reduce", "bytes": float(row[0]), "size": size, "stride": 1}
                cases.append(Case(NODES[name], line, float(row[3]) * 1e-9, str(len(cases))))
    return cases
