# SPDX-License-Identifier: Apache-2.0
"""Models, machines, and published figures.

Throughputs of FlexGen, DeepSpeed ZeRO-Inference and Accelerate, in tokens/s: Sheng et al., "FlexGen", ICML 2023,
table 2. Policies: table 15 there and FlexGen's benchmark/flexgen/bench_suite.py; batches of the others:
benchmark/batch_size_table.md and benchmark/hf_ds. FlexGen gives a tensor the place in which the middle of its bytes lies,
by halves of a layer, so 20 % of the weights of OPT-30B are the queries' tensor, 8 %, and 4 % are none.
Fiddler: Kamahori et al., "Fiddler", 2024, version 1 (more than 3 tokens/s on 24 GB; 8.2 and 10.1 times as fast as
Mixtral-offloading, 19.4 and 22.5 times as fast as DeepSpeed-MII, on Quadro RTX 6000 and L4). DeepSpeed-MII and
Mixtral-offloading: tokens/s of the runs that Fiddler's repository keeps (benchmarks/results: L4 and Ada6000
MII, 64 + 64 tokens, batch 1; Mixtral-Offload-merge.csv, quantized experts, GPU not stated).
"""
import dataclasses

OPT = {"6.7B": {"model-layers": 32, "hidden": 4096, "heads": 32},
       "30B": {"model-layers": 48, "hidden": 7168, "heads": 56},
       "175B": {"model-layers": 96, "hidden": 12288, "heads": 96}}
MIXTRAL = {"model-layers": 32, "hidden": 4096, "heads": 32, "kv-heads": 8, "ffn": 14336, "gated": True,
           "vocabulary": 32000, "untied": True, "experts": 8, "top-k": 2, "gpu-batch": 1}


@dataclasses.dataclass
class Policy:
    """A published policy: percent of weights, cache and activations, the block, and what is compressed."""
    weights: str
    cache: str
    activations: str
    batch: int
    batches: int
    cores: bool
    compress: str = "none"

    def flags(self):
        return {"weights-on": self.weights, "cache-on": self.cache, "activations-on": self.activations,
                "gpu-batch": self.batch, "gpu-batches": self.batches,
                "cpu-attention": "on" if self.cores else "off", "compress": self.compress}


@dataclasses.dataclass
class Dense:
    model: str
    prompt: int
    compress: str
    policy: Policy          # FlexGen's
    flexgen: float          # measured
    deepspeed: float = 0
    accelerate: float = 0
    deepspeed_batch: int = 0
    accelerate_batch: int = 0

    @property
    def name(self):
        return f"OPT-{self.model} {self.prompt}" + ("" if self.compress == "none" else " 4-bit")

    def flags(self):
        return {**OPT[self.model], "vocabulary": 50272, "prompt": self.prompt, "output-tokens": 32}


ALL, HOST, DISK = "100,0,0", "0,100,0", "0,0,100"
DENSE = [
    Dense("6.7B", 512, "none", Policy(ALL, ALL, ALL, 2, 1, False), 25.26, 9.28, 25.12, 16, 2),
    Dense("6.7B", 1024, "none", Policy(ALL, ALL, ALL, 1, 1, False), 13.72, 4.59, 13.01, 0, 0),
    Dense("30B", 512, "none", Policy("8,92,0", HOST, HOST, 48, 3, True), 7.32, 0.60, 0.62, 4, 8),
    Dense("30B", 1024, "none", Policy(HOST, HOST, HOST, 20, 4, True), 3.50, 0.29, 0.31, 0, 0),
    Dense("175B", 512, "none", Policy("0,50,50", DISK, HOST, 32, 8, True), 0.69, 0.01, 0.01, 1, 2),
    Dense("175B", 1024, "none", Policy("0,50,50", DISK, HOST, 12, 12, True), 0.35, 0, 0.01, 0, 0),
    Dense("6.7B", 512, "both", Policy(ALL, ALL, ALL, 72, 1, False, "both"), 29.12),
    Dense("30B", 512, "cache", Policy(HOST, HOST, HOST, 64, 8, False, "cache"), 8.70),
    Dense("175B", 512, "both", Policy(HOST, HOST, HOST, 48, 3, False, "both"), 1.12),
]


@dataclasses.dataclass
class Experts:
    machine: str
    prompt: int
    tokens: int
    skew: float = 0
    batch: int = 1
    copy_all: float = 0       # DeepSpeed-MII, measured

    @property
    def name(self):
        return f"Mixtral {self.machine} {self.prompt}+{self.tokens}" + \
            (f" skew {self.skew:g}" if self.skew else "") + (f" batch {self.batch}" if self.batch > 1 else "")

    def flags(self):
        return {**MIXTRAL, "machine": self.machine, "prompt": self.prompt, "output-tokens": self.tokens,
                "expert-skew": self.skew, "gpu-batch": self.batch}


EXPERTS = [
    Experts("rtx6000-fiddler", 64, 64),
    Experts("l4-fiddler", 64, 64, copy_all=0.12),
    Experts("ada6000-fiddler", 64, 64, copy_all=0.26),
    Experts("rtx6000-fiddler", 64, 64, skew=0.5),
    Experts("rtx6000-fiddler", 2048, 1),
    Experts("ada6000-fiddler", 2048, 1),
    Experts("rtx6000-fiddler", 32, 64, batch=16),
    Experts("ada6000-fiddler", 32, 64, batch=16),
]
