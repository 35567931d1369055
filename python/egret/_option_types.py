# SPDX-License-Identifier: Apache-2.0
"""Types of keyword options. Written by scripts/option_types.py; do not edit."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, Union


class OptimizeOptions(TypedDict, total=False):
    # File for the weights of a model above 2 GiB, in the folder that the result is saved to
    external_data: Union[str, os.PathLike[str]]
    # File for a proof, step by step, that the outputs of the result equal those of the model in
    # real arithmetic; check_certificate() and egret-check replay it
    certificate: Union[str, os.PathLike[str]]
    # Also write the result as a page for a browser: one HTML file that loads nothing from
    # elsewhere
    report: Union[str, os.PathLike[str]]
    # Refuse a model with nodes that would stay as they are because Egret cannot express them
    strict: bool
    # Number of threads; 0: one per processor
    threads: int
    # Set the size of a symbolic dimension, as NAME=SIZE
    bind: Union[Mapping[str, int], Sequence[str], str]
    # Random values of an input lie in this range, as NAME=LOW..HIGH: a mask=0..1, for example
    input_range: Union[Mapping[str, tuple[float, float]], Sequence[str], str]
    # Sizes of symbolic dimensions at which to run, as NAME=SIZE,NAME=SIZE. May be given several
    # times. What is optimized keeps them open; there, each may have a weight: NAME=SIZE*0.7
    at: Union[Mapping[str, int], Sequence[Any], str]
    # The sizes that a symbolic dimension may have, as NAME=LOW..HIGH; the result need not be
    # right beyond
    range: Union[Mapping[str, tuple[int, int]], Sequence[str], str]
    # Database of measured costs (default: in the user's cache folder)
    cost_db: Union[str, os.PathLike[str]]
    # Machine in the database: its name or a unique part of it (default: this machine)
    cost_machine: str
    # Backend that compiles and runs the operators: cpu, cuda, codegen or reference
    backend: str
    # Engine that runs the models: onnxruntime, openvino or torch of a Python, tensorrt by its
    # program trtexec, or exec:COMMAND for a program that answers the protocol of
    # docs/engines.md (default: Egret's own backend)
    engine: str
    # Python that has the engine's package: a path, or a name in PATH
    engine_python: str
    # Engine that runs the given and the written file and compares their outputs, since the own
    # check cannot see mistakes of the import: a name as in --engine, or none. auto:
    # onnxruntime, if the Python has it, but not with --quick or --no-check
    oracle: str
    # Who divides the graph into kernels: the backend, after the graph is chosen; the
    # extraction, together with the graph (egraph), or after it (graph)
    kernels_from: Literal["backend", "graph", "egraph"]
    # Who chooses the layouts of values between kernels (row-major, channels-last, blocked): the
    # backend, or the extraction, which prices copies between layouts like kernels (egraph).
    # With --kernels-from backend, the kernels stay those of the backend
    layouts: Literal["backend", "egraph"]
    # Precision of products and convolutions of f32; sums stay in f32. --backend cuda takes
    # every precision, --backend cpu takes f32 and bf16
    precision: Literal["f32", "tf32", "bf16", "f16"]
    # Largest relative error of the outputs that less precision may cause: kernels with operands
    # in f32, bf16 or int8 are chosen together with the graph (implies --kernels-from egraph).
    # Samples to calibrate on and to measure the error on come from repeated --input; without
    # them they are drawn. 0: f32 alone
    error_budget: float
    # Who chooses the precision of kernels under --error-budget: the extraction; or, to compare
    # with: one layer after the other; or bf16 or int8 wherever there is a kernel, whatever the
    # error
    forms_from: Literal["extraction", "layers", "bf16", "int8"]
    # Seed of random numbers
    seed: int
    # Stop saturation at this many e-nodes
    limit_nodes: int
    # Stop saturation after this many iterations
    limit_iterations: int
    # Stop saturation after this time
    limit_time: Union[float, str]
    # Stop saturation when the e-graph takes this much memory
    limit_memory: Union[int, str]
    # Memory limit of activations and scratch space; 0: none. If the plan needs more, the exit
    # code is 5
    limit_arena: Union[int, str]
    # Iterations in which rules with several sources run
    multi_iterations: int
    # Time limit of one extraction; it then returns the best answer so far
    extract_time: Union[float, str]
    # backtracking: rewrite graphs that cost at most this factor times the best
    search_alpha: float
    # backtracking: rewrite at most this many graphs, in each part if the graph is split
    search_budget: int
    # Time limit of measuring operators
    profile_time: Union[float, str]
    # Time for measuring the candidates and the original
    measure_time: Union[float, str]
    # Sets of random inputs on which outputs are compared with the original
    check_samples: int
    # Additional candidates to measure, each extracted under perturbed costs
    alternatives: int
    # Largest factor of the perturbation of costs
    alternative_spread: float
    # Largest share of operators that an additional candidate keeps from the original; its share
    # is random
    alternative_kept: float
    # Operator that the result must not contain, by name; `egret extract` also takes a node's
    # name
    forbid: Union[Sequence[str], str]
    # Measure nothing: estimated costs, short limits, only rewrites that gain clearly. The
    # result is checked
    quick: bool
    # Do not compare outputs with the original (unsafe)
    no_check: bool
    # Do not measure the result against the original; trust the cost model
    no_measure: bool
    # Write the result even if it is measured slower than the original
    allow_slower: bool
    # Run only rules with at least this status: proven for all sizes, bounded (proven for sizes
    # up to a bound), tested on random tensors, or untested (unsafe)
    allow: Literal["proven", "bounded", "tested", "untested"]
    # What is kept of floating-point arithmetic: rounding keeps operators that count on
    # rounding, such as (x + 12582912) - 12582912 and compensated sums; reals allows all that is
    # equal in real arithmetic
    fp: Literal["rounding", "reals"]


class SessionOptions(TypedDict, total=False):
    # Number of threads; 0: one per processor
    threads: int
    # Set the size of a symbolic dimension, as NAME=SIZE
    bind: Union[Mapping[str, int], Sequence[str], str]
    # Random values of an input lie in this range, as NAME=LOW..HIGH: a mask=0..1, for example
    input_range: Union[Mapping[str, tuple[float, float]], Sequence[str], str]
    # Backend that compiles and runs the operators: cpu, cuda, codegen or reference
    backend: str
    # Precision of products and convolutions of f32; sums stay in f32. --backend cuda takes
    # every precision, --backend cpu takes f32 and bf16
    precision: Literal["f32", "tf32", "bf16", "f16"]
    # Seed of random numbers
    seed: int
    # Memory limit of activations and scratch space; 0: none. If the plan needs more, the exit
    # code is 5
    limit_arena: Union[int, str]
    # Ablation: switch off one optimization. fusion: kernels that compute several operators.
    # blocked: layouts other than row-major. folding: computation of constants at compile time.
    # emitted: generated kernels; the interpreter runs these operators instead. thrift: the
    # limit on memory that kernels use for speed. slices: running a batch sample by sample
    without: Union[Sequence[str], str]


class CompareOptions(TypedDict, total=False):
    # Number of threads; 0: one per processor
    threads: int
    # Set the size of a symbolic dimension, as NAME=SIZE
    bind: Union[Mapping[str, int], Sequence[str], str]
    # Random values of an input lie in this range, as NAME=LOW..HIGH: a mask=0..1, for example
    input_range: Union[Mapping[str, tuple[float, float]], Sequence[str], str]
    # Backend that compiles and runs the operators: cpu, cuda, codegen or reference
    backend: str
    # Precision of products and convolutions of f32; sums stay in f32. --backend cuda takes
    # every precision, --backend cpu takes f32 and bf16
    precision: Literal["f32", "tf32", "bf16", "f16"]
    # Seed of random numbers
    seed: int
    # Memory limit of activations and scratch space; 0: none. If the plan needs more, the exit
    # code is 5
    limit_arena: Union[int, str]
    # Ablation: switch off one optimization. fusion: kernels that compute several operators.
    # blocked: layouts other than row-major. folding: computation of constants at compile time.
    # emitted: generated kernels; the interpreter runs these operators instead. thrift: the
    # limit on memory that kernels use for speed. slices: running a batch sample by sample
    without: Union[Sequence[str], str]
    # Sets of random inputs
    samples: int
    # If outputs differ, find the first value that differs: of those that have the same name in
    # both models
    explain_diff: bool
    # Engine that runs the models: onnxruntime, openvino or torch of a Python, tensorrt by its
    # program trtexec, or exec:COMMAND for a program that answers the protocol of
    # docs/engines.md (default: Egret's own backend)
    engine: str
    # Python that has the engine's package: a path, or a name in PATH
    engine_python: str


class PlanOptions(TypedDict, total=False):
    # Mesh of devices as NAME=SIZE,... (default: the one that the other arguments give)
    mesh: Union[Mapping[str, int], str]
    # Machine: a TOML file, or a preset such as local, dgx-h100, gh200 or tpu-v4
    machine: Union[str, os.PathLike[str]]
    # Set the size of a symbolic dimension, as NAME=SIZE
    bind: Union[Mapping[str, int], Sequence[str], str]
    # Random values of an input lie in this range, as NAME=LOW..HIGH: a mask=0..1, for example
    input_range: Union[Mapping[str, tuple[float, float]], Sequence[str], str]
    # Rules to run: sets, tags, names, globs or files, separated by commas; a later ,+NAME keeps
    # only rules that match NAME, and ,-NAME removes them
    rules: str
    # Run only rules with at least this status: proven for all sizes, bounded (proven for sizes
    # up to a bound), tested on random tensors, or untested (unsafe)
    allow: Literal["proven", "bounded", "tested", "untested"]
    # Extraction algorithm; auto runs exact algorithms until the time limit and keeps the best
    # answer
    extractor: Literal["auto", "local-search", "beam", "dag-greedy", "tree-greedy", "treewidth", "maxsat", "ilp", "ilp-cbc"]
    # Kind of plan: data, tensor or expert parallelism, data and tensor parallelism along
    # different axes, ZeRO, or any (the fastest plan)
    strategy: Literal["any", "single", "data", "tensor", "data-tensor", "expert", "zero-1", "zero-3", "hybrid-zero"]
    # Search that makes the plan: Egret's, or for comparison another planner's at the same costs
    # (exhaustive; OptCNN's chain; FlexFlow's mcmc; Unity's best-first), for at most one minute,
    # of all layers and without a limit of memory
    search: Literal["egret", "exhaustive", "chain", "mcmc", "best-first"]
    # Stop saturation at this many e-nodes
    limit_nodes: int
    # Time limit of one extraction; it then returns the best answer so far
    extract_time: Union[float, str]
    # Memory limit of weights, inputs and activations on one device; 0: the machine's memory
    device_memory: Union[int, str]
    # Number of equal layers to plan (2 or more); the other layers are placed as the second one.
    # 0 plans all layers, which takes longer for deep programs
    layers: int
    # Rewrite the program for one device first, then distribute the result. Otherwise rewrites
    # and placements are chosen together
    sequential: bool
    # Plan all layers, and also run the searches of other planners: exhaustive, chain by chain,
    # random walk and best first, each for at most one minute
    searches: bool
    # For the largest inputs and weights, print the time of the best plan with another placement
    explain: bool
    # Times are those of a simulation in which exchanges run beside computation; the program
    # gets an order for that, and no value is computed again
    overlap: bool
    # Time for comparing the plan with the model on all ranks; 0: no comparison. `egret verify-
    # plan` proves a plan of any size
    limit_check: Union[float, str]
    # How to choose values that are computed again where a limit leaves no memory to keep them;
    # none: never; search: large neighbourhood search from the heuristics' schedules, with
    # bounds by linear programs; checkmate: Checkmate's integer program, for tens of tasks;
    # checkmate-start: Checkmate's integer program, started from dtr's schedule; checkmate-lp:
    # Checkmate's rounding of its linear relaxation; dtr: dynamic tensor rematerialization, the
    # better of its two heuristics; segments: Chen's segments, of the best number of segments;
    # keep-all: no recomputation
    recompute_by: Literal["none", "search", "checkmate", "checkmate-start", "checkmate-lp", "dtr", "segments", "keep-all"]
    # Time limit of one search for values to compute again
    recompute_time: Union[float, str]
    # Bytes a second between a device and slower storage. Values may then be copied there and
    # back instead of being computed again; 0: none are
    storage_rate: Union[int, str]
    # Allow inputs to arrive in blocks; otherwise every rank receives whole inputs
    sharded_inputs: bool
    # Loss to minimize: cross_entropy of logits and class numbers, or mse
    loss: Literal["cross_entropy", "mse"]
    # Optimizer that updates the parameters
    optimizer: Literal["sgd", "momentum", "adam"]
    # Learning rate
    lr: float
    # Momentum: factor of the last step
    momentum: float
    # Adam: decay of the average gradient
    beta1: float
    # Adam: decay of the average square
    beta2: float
    # Adam: added to the root
    adam_epsilon: float
    # Output on which the loss is computed (default: the first)
    loss_of: str
    # Constant to keep fixed during training, by name; a final * matches any suffix
    freeze: Union[Sequence[str], str]


class ClusterPlanOptions(TypedDict, total=False):
    # Machine: a TOML file, or a preset such as dgx-h100
    machine: Union[str, os.PathLike[str]]
    # Find the best plan with another value of each choice
    explain: bool
    # Devices of a transformer's plan
    devices: int
    # Plans of a transformer to list
    plans: int
    # Stop a transformer's plan after so many simulated steps
    limit_simulations: int
    # Stop a transformer's plan after this time
    limit_plan_time: Union[float, str]
    # Do not plan by other planners' rules for comparison
    without_baselines: bool
    # Rule that makes a transformer's plan: any (the fastest plan), or that of an expert or of
    # another planner
    rule: Literal["any", "data", "zero-1", "zero-3", "megatron", "megatron-sp", "alpa", "galvatron", "gshard", "deepspeed-moe"]
    # Give all stages of a transformer's plan the same degrees
    equal_degrees: bool
    # Layers of the transformer
    model_layers: int
    # Hidden size
    hidden: int
    # Attention heads
    heads: int
    # Heads of keys and values; 0: as many as heads
    kv_heads: int
    # Size of an attention head; 0: --hidden / --heads
    head_size: int
    # Hidden size of the feed-forward layer; 0: four times --hidden
    ffn: int
    # The feed-forward layer has a gate (SwiGLU)
    gated: bool
    # Tokens of a sequence
    sequence_length: int
    # Entries of the vocabulary, padded
    vocabulary: int
    # The output layer has weights of its own
    untied: bool
    # Train without dropout
    no_dropout: bool
    # Attention is one kernel (FlashAttention)
    flash_attention: bool
    # The weights get no gradients, as under LoRA
    frozen: bool
    # Experts of a layer (mixture of experts); 0: layers are dense
    experts: int
    # Experts that each token goes to
    top_k: int
    # Places of an expert relative to the mean number of its tokens; more are dropped, empty
    # ones are padded; 0: as many as come
    capacity_factor: float
    # Hidden size of an expert; 0: that of --ffn
    expert_ffn: int
    # Every so many layers has experts
    expert_interval: int
    # Exponent of the experts' popularity (Zipf's law); 0: all are equally popular
    expert_skew: float
    # Train a Wide-ResNet of so many layers of weights instead of a transformer: 50 or 101, with
    # --model-layers 16 or 33 residual blocks
    wide_resnet: int
    # Channels of the Wide-ResNet's first convolution
    channels: int
    # Channels of the Wide-ResNet's 3x3 convolutions relative to those of their inputs
    width_factor: int
    # Side of the Wide-ResNet's images
    image_size: int
    # Classes of the Wide-ResNet
    classes: int
    # Degree of tensor parallelism
    tp: int
    # Degree of pipeline parallelism
    pp: int
    # Degree of data parallelism
    dp: int
    # Degree of context parallelism
    cp: int
    # Degree of expert parallelism: ranks of a stage that divide the experts
    ep: int
    # Tensor-parallel ranks of each expert; 0: those of --tp
    expert_tp: int
    # Chunks of layers of each pipeline rank; above 1 the schedule is interleaved
    vpp: int
    # Sequences of a micro-batch
    micro_batch: int
    # Sequences of a step
    global_batch: int
    # Schedule of the pipeline
    schedule: Literal["1f1b", "gpipe", "zb-h1", "dualpipe"]
    # Recomputation of activations
    recompute: Literal["none", "selective", "full"]
    # Layers of each chunk of the pipeline, as 3,4,3 (default: balanced)
    stage_layers: str
    # Layers of each chunk that are recomputed in full, as 2,1,0; the rest is not
    full_layers: str
    # Layers of each chunk that recompute their attention, as 1,2,0
    selective_layers: str
    # Degrees of tensor parallelism by pipeline rank, as 4,4,8, instead of --tp; then --micro-
    # batch counts the sequences of all replicas of a rank
    stage_tp: str
    # The same of context parallelism, instead of --cp
    stage_cp: str
    # The same of data parallelism, instead of --dp
    stage_dp: str
    # First device of each pipeline rank, as 8,0,4; default: one after the other
    stage_first: str
    # Split normalizations and dropout along the sequence between the tensor ranks
    sequence_parallel: bool
    # Split the optimizer's state between the data-parallel ranks
    distributed_optimizer: bool
    # Exchange gradients during the backward pass
    overlap_gradients: bool
    # Send activations between stages during computation
    overlap_transfers: bool
    # Exchange tensor-parallel blocks beside the products that need or make them
    overlap_tensor: bool
    # Exchange the gradients of a product's inputs between tensor-parallel ranks beside the
    # product of its weights' gradients, as Megatron-LM does
    overlap_weights: bool
    # How tokens get to experts: in one message to each rank, within nodes first, or once to
    # each node and rank with several of their experts (fastest: one of the first two)
    expert_exchange: Literal["fastest", "direct", "hierarchical", "once"]
    # Exchange tokens with experts beside the computation of another micro-batch
    overlap_experts: bool
    # Element type of the products
    train_precision: Literal["f32", "tf32", "f16", "bf16", "fp8", "fp4"]
    # Bytes of an accumulated gradient
    gradient_bytes: int
    # Bytes of the optimizer's state of a parameter
    optimizer_bytes: int
    # Bytes of a logit, kept for the backward pass
    logit_bytes: int
    # Only forward passes, as in inference
    forward_only: bool
    # What data-parallel ranks divide: 1 the optimizer's state, 2 also gradients, 3 also weights
    zero: int
    # Layers whose weights are gathered ahead with --zero 3
    prefetch: int
    # What is kept in the memory of the host, or on its disks; weights: with their gradients and
    # the optimizer's state
    offload: Literal["none", "activations", "optimizer", "optimizer-disk", "weights", "weights-disk", "activations-disk"]
    # Bytes a second between a device and its host, in each direction
    host_bandwidth: float
    # Bytes a second at which the host updates a device's part of the weights
    host_memory_bandwidth: float
    # Bytes of the host's memory for each device; 0: not limited
    host_memory: float
    # Bytes a second between the host and its disks for each device, in each direction
    disk_bandwidth: float
    # Kernels are launched from recorded graphs, which costs the host no time
    recorded_launches: bool
    # Part of activations and workspace that the allocator loses
    fragmentation: float
    # Simulate each data-parallel replica; otherwise one stands for all
    each_replica: bool
    # Standard deviation of the time of a pass, relative to its mean
    jitter: float
    # Share of the devices that are slow
    straggler_share: float
    # Time of a slow device relative to others
    straggler_slowdown: float
    # Simulate so many random steps and report their distribution
    trials: int
    # Seed of the random steps
    trial_seed: int


class OffloadOptions(TypedDict, total=False):
    # Machine with a host: a TOML file, or a preset such as t4-flexgen
    machine: Union[str, os.PathLike[str]]
    # Find the best plan with another value of each choice
    explain: bool
    # Layers of the transformer
    model_layers: int
    # Hidden size
    hidden: int
    # Attention heads
    heads: int
    # Heads of keys and values; 0: as many as heads
    kv_heads: int
    # Size of an attention head; 0: --hidden / --heads
    head_size: int
    # Hidden size of the feed-forward layer; 0: four times --hidden
    ffn: int
    # The feed-forward layer has a gate (SwiGLU)
    gated: bool
    # Entries of the vocabulary, padded
    vocabulary: int
    # The output layer has weights of its own
    untied: bool
    # Attention is one kernel (FlashAttention)
    flash_attention: bool
    # Tokens of each prompt
    prompt: int
    # Tokens that are generated after each prompt
    output_tokens: int
    # Experts of a layer (mixture of experts); 0: layers are dense
    experts: int
    # Experts that each token goes to
    top_k: int
    # Hidden size of an expert; 0: that of --ffn
    expert_ffn: int
    # Exponent of the experts' popularity (Zipf's law); 0: all are equally popular
    expert_skew: float
    # File with a line for each layer, or one line for all of them: how often each expert is
    # chosen, separated by blanks
    expert_popularity: Union[str, os.PathLike[str]]
    # Sequences that the accelerator computes at a time; 0: searched
    gpu_batch: int
    # Batches of a block, for which the weights of a layer are loaded once; 0: searched
    gpu_batches: int
    # Whether the host computes attention over caches that it holds
    cpu_attention: Literal["search", "on", "off"]
    # What is stored in 4 bits, in groups of 64 numbers
    compress: Literal["none", "weights", "cache", "both"]
    # Percent of the weights on the accelerator, in the host's memory and on its disk, as
    # 20,80,0; default: searched
    weights_on: str
    # The same of keys and values
    cache_on: str
    # The same of the activations between layers
    activations_on: str
    # Plans of a transformer to list
    plans: int
    # Stop a transformer's plan after so many simulated steps
    limit_simulations: int


class PipelinePlanOptions(TypedDict, total=False):
    # Mesh of devices as NAME=SIZE,... (default: the one that the other arguments give)
    mesh: Union[Mapping[str, int], str]
    # Machine: a TOML file, or a preset such as local, dgx-h100, gh200 or tpu-v4
    machine: Union[str, os.PathLike[str]]
    # Memory limit of one device; 0: the machine's memory
    device_memory: Union[int, str]
    # Set the size of a symbolic dimension, as NAME=SIZE
    bind: Union[Mapping[str, int], Sequence[str], str]
    # Random values of an input lie in this range, as NAME=LOW..HIGH: a mask=0..1, for example
    input_range: Union[Mapping[str, tuple[float, float]], Sequence[str], str]
    # Loss to minimize: cross_entropy of logits and class numbers, or mse
    loss: Literal["cross_entropy", "mse"]
    # Optimizer that updates the parameters
    optimizer: Literal["sgd", "momentum", "adam"]
    # Learning rate
    lr: float
    # Momentum: factor of the last step
    momentum: float
    # Adam: decay of the average gradient
    beta1: float
    # Adam: decay of the average square
    beta2: float
    # Adam: added to the root
    adam_epsilon: float
    # Output on which the loss is computed (default: the first)
    loss_of: str
    # Constant to keep fixed during training, by name; a final * matches any suffix
    freeze: Union[Sequence[str], str]
    # Stages of a pipeline of ranks into which the step is cut
    pipeline_stages: int
    # Ranks that share the stages of each rank of the pipeline: one number, or one for each, as
    # 1,2
    stage_ranks: str
    # Pipelines that share the batch and sum their gradients
    replicas: int
    # Equal parts of a replica's samples, which follow each other through the pipeline
    micro_batches: int
    # With --pipeline: cut the model into at most so many pieces
    pieces: int
    # With --pipeline: time to place a piece on a stage's ranks
    piece_time: Union[float, str]


class SimulateOptions(TypedDict, total=False):
    # Devices and links: a TOML file, or a preset such as dgx-a100
    system: Union[str, os.PathLike[str]]
    # Layers of the transformer
    model_layers: int
    # Hidden size
    hidden: int
    # Attention heads
    heads: int
    # Heads of keys and values; 0: as many as heads
    kv_heads: int
    # Size of an attention head; 0: --hidden / --heads
    head_size: int
    # Hidden size of the feed-forward layer; 0: four times --hidden
    ffn: int
    # The feed-forward layer has a gate (SwiGLU)
    gated: bool
    # Tokens of a sequence
    sequence_length: int
    # Entries of the vocabulary, padded
    vocabulary: int
    # The output layer has weights of its own
    untied: bool
    # Train without dropout
    no_dropout: bool
    # Attention is one kernel (FlashAttention)
    flash_attention: bool
    # The weights get no gradients, as under LoRA
    frozen: bool
    # Experts of a layer (mixture of experts); 0: layers are dense
    experts: int
    # Experts that each token goes to
    top_k: int
    # Places of an expert relative to the mean number of its tokens; more are dropped, empty
    # ones are padded; 0: as many as come
    capacity_factor: float
    # Hidden size of an expert; 0: that of --ffn
    expert_ffn: int
    # Every so many layers has experts
    expert_interval: int
    # Exponent of the experts' popularity (Zipf's law); 0: all are equally popular
    expert_skew: float
    # Train a Wide-ResNet of so many layers of weights instead of a transformer: 50 or 101, with
    # --model-layers 16 or 33 residual blocks
    wide_resnet: int
    # Channels of the Wide-ResNet's first convolution
    channels: int
    # Channels of the Wide-ResNet's 3x3 convolutions relative to those of their inputs
    width_factor: int
    # Side of the Wide-ResNet's images
    image_size: int
    # Classes of the Wide-ResNet
    classes: int
    # Degree of tensor parallelism
    tp: int
    # Degree of pipeline parallelism
    pp: int
    # Degree of data parallelism
    dp: int
    # Degree of context parallelism
    cp: int
    # Degree of expert parallelism: ranks of a stage that divide the experts
    ep: int
    # Tensor-parallel ranks of each expert; 0: those of --tp
    expert_tp: int
    # Chunks of layers of each pipeline rank; above 1 the schedule is interleaved
    vpp: int
    # Sequences of a micro-batch
    micro_batch: int
    # Sequences of a step
    global_batch: int
    # Schedule of the pipeline
    schedule: Literal["1f1b", "gpipe", "zb-h1", "dualpipe"]
    # Recomputation of activations
    recompute: Literal["none", "selective", "full"]
    # Layers of each chunk of the pipeline, as 3,4,3 (default: balanced)
    stage_layers: str
    # Layers of each chunk that are recomputed in full, as 2,1,0; the rest is not
    full_layers: str
    # Layers of each chunk that recompute their attention, as 1,2,0
    selective_layers: str
    # Degrees of tensor parallelism by pipeline rank, as 4,4,8, instead of --tp; then --micro-
    # batch counts the sequences of all replicas of a rank
    stage_tp: str
    # The same of context parallelism, instead of --cp
    stage_cp: str
    # The same of data parallelism, instead of --dp
    stage_dp: str
    # First device of each pipeline rank, as 8,0,4; default: one after the other
    stage_first: str
    # Split normalizations and dropout along the sequence between the tensor ranks
    sequence_parallel: bool
    # Split the optimizer's state between the data-parallel ranks
    distributed_optimizer: bool
    # Exchange gradients during the backward pass
    overlap_gradients: bool
    # Send activations between stages during computation
    overlap_transfers: bool
    # Exchange tensor-parallel blocks beside the products that need or make them
    overlap_tensor: bool
    # Exchange the gradients of a product's inputs between tensor-parallel ranks beside the
    # product of its weights' gradients, as Megatron-LM does
    overlap_weights: bool
    # How tokens get to experts: in one message to each rank, within nodes first, or once to
    # each node and rank with several of their experts (fastest: one of the first two)
    expert_exchange: Literal["fastest", "direct", "hierarchical", "once"]
    # Exchange tokens with experts beside the computation of another micro-batch
    overlap_experts: bool
    # Element type of the products
    train_precision: Literal["f32", "tf32", "f16", "bf16", "fp8", "fp4"]
    # Bytes of an accumulated gradient
    gradient_bytes: int
    # Bytes of the optimizer's state of a parameter
    optimizer_bytes: int
    # Bytes of a logit, kept for the backward pass
    logit_bytes: int
    # Only forward passes, as in inference
    forward_only: bool
    # What data-parallel ranks divide: 1 the optimizer's state, 2 also gradients, 3 also weights
    zero: int
    # Layers whose weights are gathered ahead with --zero 3
    prefetch: int
    # What is kept in the memory of the host, or on its disks; weights: with their gradients and
    # the optimizer's state
    offload: Literal["none", "activations", "optimizer", "optimizer-disk", "weights", "weights-disk", "activations-disk"]
    # Bytes a second between a device and its host, in each direction
    host_bandwidth: float
    # Bytes a second at which the host updates a device's part of the weights
    host_memory_bandwidth: float
    # Bytes of the host's memory for each device; 0: not limited
    host_memory: float
    # Bytes a second between the host and its disks for each device, in each direction
    disk_bandwidth: float
    # Kernels are launched from recorded graphs, which costs the host no time
    recorded_launches: bool
    # Part of activations and workspace that the allocator loses
    fragmentation: float
    # Simulate each data-parallel replica; otherwise one stands for all
    each_replica: bool
    # Standard deviation of the time of a pass, relative to its mean
    jitter: float
    # Share of the devices that are slow
    straggler_share: float
    # Time of a slow device relative to others
    straggler_slowdown: float
    # Simulate so many random steps and report their distribution
    trials: int
    # Seed of the random steps
    trial_seed: int


class TrainingOptions(TypedDict, total=False):
    # Number of threads; 0: one per processor
    threads: int
    # Set the size of a symbolic dimension, as NAME=SIZE
    bind: Union[Mapping[str, int], Sequence[str], str]
    # Random values of an input lie in this range, as NAME=LOW..HIGH: a mask=0..1, for example
    input_range: Union[Mapping[str, tuple[float, float]], Sequence[str], str]
    # Backend that compiles and runs the operators: cpu, cuda, codegen or reference
    backend: str
    # Precision of products and convolutions of f32; sums stay in f32. --backend cuda takes
    # every precision, --backend cpu takes f32 and bf16
    precision: Literal["f32", "tf32", "bf16", "f16"]
    # Seed of random numbers
    seed: int
    # Memory limit of activations and scratch space; 0: none. If the plan needs more, the exit
    # code is 5
    limit_arena: Union[int, str]
    # Ablation: switch off one optimization. fusion: kernels that compute several operators.
    # blocked: layouts other than row-major. folding: computation of constants at compile time.
    # emitted: generated kernels; the interpreter runs these operators instead. thrift: the
    # limit on memory that kernels use for speed. slices: running a batch sample by sample
    without: Union[Sequence[str], str]
    # Loss to minimize: cross_entropy of logits and class numbers, or mse
    loss: Literal["cross_entropy", "mse"]
    # Optimizer that updates the parameters
    optimizer: Literal["sgd", "momentum", "adam"]
    # Learning rate
    lr: float
    # Momentum: factor of the last step
    momentum: float
    # Adam: decay of the average gradient
    beta1: float
    # Adam: decay of the average square
    beta2: float
    # Adam: added to the root
    adam_epsilon: float
    # Output on which the loss is computed (default: the first)
    loss_of: str
    # Constant to keep fixed during training, by name; a final * matches any suffix
    freeze: Union[Sequence[str], str]
