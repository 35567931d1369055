# SPDX-License-Identifier: Apache-2.0
"""The rows that waves measure, the most valuable first."""
import dataclasses
import tomllib

from lib.waves.parts import ROOT

# In the order of their value. The last two repeat for all operators and models what the second does for some.
GROUPS = ["probe", "correctness", "inference", "profile", "sanitizer", "ablations", "nccl", "fused-subgraphs",
          "conformance", "models"]

MODELS = ["bert-base", "resnet50", "llama-block", "inception-v3", "squeezenet1.1", "nasrnn", "resnext50", "vgg19",
          "mobilenet-v2", "gpt2"]
PRECISIONS = ["bf16", "tf32"]
BATCHES = [1, 16]
# Rows of PyTorch: name, seconds, what torch_peer.py is asked for, processors.
PYTORCH = [("eager", 25, ("torch_eager", "torch_graphs"), 1),
           ("compile", 60, ("torch_compile", "torch_compile_graphs"), 3),
           ("autotune", 180, ("torch_autotune",), 4)]

KERNELS = ("definitions", "emission")
BACKEND = (*KERNELS, "cuda")
OPTIMIZED = (*BACKEND, "check", "optimizer", "zoo")

# How a row uses the GPU. Programs take turns there ($EGRET_CUDA_TURNS), so a shared row disturbs no timed one. A busy
# row takes no turns, so it never runs beside a timed one.
SHARED, TIMED, BUSY = "shared", "timed", "busy"


@dataclasses.dataclass(frozen=True)
class Row:
    key: str
    group: str
    seconds: float            # a guess, used until a machine has kept its duration
    parts: tuple              # names in parts.PARTS: the row is stale when one of them changes
    work: tuple               # arguments of work.py
    cores: int = 2
    device: str = SHARED
    background: bool = False  # beside the others, from the first second
    needs: str = ""           # the package, program or experiment without which it is left out
    always: bool = False      # due in each wave


def _probe():
    yield Row("probe", "probe", 15, BACKEND, ("probe",), always=True)


def _test(name, tests, seconds, parts, group="correctness", **more):
    return Row(f"tests/{name}", group, seconds, (*parts, "device-tests"), ("tests", tests), **more)


def _check(model, precision, group="correctness"):
    return Row(f"check/{model}/{precision}", group, 40, (*BACKEND, "check", "zoo"), ("check", model, precision))


def _correctness():
    """Attention and emitted kernels, then the models whose results in bf16 were wrong or that cuDNN refused."""
    yield _test("attention", "DeviceGraphs.*Attention*", 15, BACKEND)
    for model in ("gpt2", "llama-block"):
        yield _check(model, "bf16")
    yield _test("graphs", "DeviceGraphs.*-*Attention*", 30, BACKEND)
    yield _test("operators", "DeviceKernels.*", 25, KERNELS, cores=1, device=BUSY)
    for part in range(8):
        yield _test(f"regions/{part}", f"*ThousandDeviceKernels.*/{part}", 30, KERNELS, cores=1, device=BUSY)
    for model in ("inception-v3", "densenet121"):
        for precision in ("bf16", "tf32", "f16"):
            yield _check(model, precision)


def _inference():
    """Egret and PyTorch on one model after the other, so that a short wave has whole comparisons."""
    for batch in BATCHES:
        for model in MODELS:
            for precision in PRECISIONS:
                key, subject = f"inference/{model}/x{batch}/{precision}", (model, str(batch), precision)
                yield Row(f"{key}/egret", "inference", 35 if batch == 1 else 90, OPTIMIZED, ("egret", *subject), cores=4,
                          device=TIMED)
                for name, seconds, ways, cores in PYTORCH:
                    in_background = name == "autotune"
                    yield Row(f"{key}/{name}", "inference", seconds, ("pytorch", "zoo"), ("torch", *subject, *ways),
                              cores=cores, device=SHARED if in_background else TIMED, background=in_background,
                              needs="torch")


def _profile():
    """Times of operators and rates, for `egret costs export`."""
    for precision in ("bf16", "f32"):
        yield Row(f"profile/rates/{precision}", "profile", 30, BACKEND, ("rates", precision), device=TIMED)
        for model in ("squeezenet1.1", "resnet50", "bert-base"):
            yield Row(f"profile/{model}/{precision}", "profile", 40, (*BACKEND, "zoo"),
                      ("profile", model, precision, "30"), device=TIMED)


def _sanitizer():
    for tool in ("memcheck", "racecheck"):
        for subject in ("model", "graphs"):
            yield Row(f"sanitizer/{tool}/{subject}", "sanitizer", 60, BACKEND, ("sanitizer", tool, subject), device=BUSY,
                      needs="compute-sanitizer")


def _ablations():
    config = tomllib.loads((ROOT / "experiments" / "gpu-ablations" / "config.toml").read_text())
    for model, batch, ways in config["full"]["rows"]:
        for way in ways:
            yield Row(f"ablations/{model}/x{batch}/{way}", "ablations", 60 if batch == 1 else 120,
                      (*OPTIMIZED, "ablations"), ("ablation", model, str(batch), way), cores=4, device=TIMED)


def _nccl():
    yield _test("one-rank", "OneRank.*", 15, ("exchange",), "nccl")


def _fused_subgraphs():
    yield Row("fused-subgraphs", "fused-subgraphs", 200, (*OPTIMIZED, "fused-subgraphs"), ("fused-subgraphs",), cores=4,
              device=TIMED, needs="fused-subgraphs")


def _conformance():
    for part in range(8):
        yield Row(f"conformance/{part}", "conformance", 40, (*BACKEND, "frontends", "conformance-tests"),
                  ("conformance", str(part), "8"), needs="conformance_tests")


def _models():
    """The zoo's models of the experiment gpu-models that are not among those of the second group."""
    config = tomllib.loads((ROOT / "experiments" / "gpu-models" / "config.toml").read_text())["full"]
    before = {row.key for row in _correctness()}
    for precision in config["precisions"]:
        for model in config["models"]:
            kind, name = model.split(":", 1)
            row = _check(name, precision, "models")
            if kind == "zoo" and row.key not in before:
                yield row


def all_rows():
    makers = [_probe, _correctness, _inference, _profile, _sanitizer, _ablations, _nccl, _fused_subgraphs, _conformance,
              _models]
    return [row for maker in makers for row in maker()]
