# SPDX-License-Identifier: Apache-2.0
"""torch.compile(model, backend="egret"), for inference on the CPU.

Each graph that TorchDynamo captures is exported with torch.onnx, optimized, and run by egret.Session.
Options: torch.compile(model, backend="egret", options={"quick": True, "threads": 2}); those of
egret.optimize() and egret.Session. Without options the graph is optimized with quick=True: nothing is
measured, so compiling takes little time.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional

from . import _egret
from ._errors import Unsupported
from ._optimize import optimize
from ._session import Session

if TYPE_CHECKING:
    import torch


def compile_graph(
    module: torch.fx.GraphModule,
    example_inputs: Sequence[torch.Tensor],
    options: Optional[Mapping[str, Any]] = None,
) -> Callable[..., tuple[torch.Tensor, ...]]:
    """A backend of torch.compile()."""
    import torch

    _check(example_inputs, torch)
    names = [f"input_{i}" for i in range(len(example_inputs))]
    with torch.no_grad():
        expected = module(*example_inputs)
    results = _flat(expected, torch)
    outputs = [f"output_{i}" for i in range(len(results))]
    chosen = dict(options or {"quick": True})
    model = optimize(
        _exported(module, example_inputs, names, outputs, torch),
        **_only(chosen, _egret.optimize_options),
    )
    session = Session(model.model_bytes, **_only(chosen, _egret.session_options))

    def run(*inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        _check(inputs, torch)
        feeds = {name: value.detach().contiguous() for name, value in zip(names, inputs)}
        arrays = session.run({one.name: feeds[one.name] for one in session.inputs})
        return tuple(torch.from_numpy(arrays[name]) for name in outputs)

    return run


def _exported(module, example_inputs, names, outputs, torch) -> bytes:
    file = io.BytesIO()
    module.eval()
    with torch.no_grad():
        torch.onnx.export(
            module,
            tuple(example_inputs),
            file,
            input_names=names,
            output_names=outputs,
            dynamo=False,
        )
    return file.getvalue()


def _flat(expected: Any, torch: Any) -> list[torch.Tensor]:
    results = [expected] if isinstance(expected, torch.Tensor) else list(expected)
    for one in results:
        if not isinstance(one, torch.Tensor):
            raise Unsupported("backend egret: a graph's outputs must be tensors")
    return results


def _check(inputs: Sequence[Any], torch: Any) -> None:
    for one in inputs:
        if not isinstance(one, torch.Tensor):
            raise Unsupported("backend egret: sizes must be fixed: torch.compile(..., dynamic=False)")
        if one.device.type != "cpu":
            raise Unsupported(f"backend egret runs on the CPU; an input is on {one.device}")
        if one.requires_grad and torch.is_grad_enabled():
            raise Unsupported("backend egret is for inference: call the model under torch.no_grad()")


def _only(options: Mapping[str, Any], describe: Callable[[], list[dict[str, Any]]]) -> dict[str, Any]:
    known = {row["name"].replace("-", "_") for row in describe()}
    return {name: value for name, value in options.items() if name in known}
