# SPDX-License-Identifier: Apache-2.0
"""torch.compile(model, backend="egret"), for inference on the CPU.

Each graph that TorchDynamo captures is exported with torch.onnx, optimized, and run by egret.Session.
Options: torch.compile(model, backend="egret", options={"quick": True, "threads": 2}); those of
egret.optimize() and egret.Session. Without options the graph is optimized with quick=True: nothing is
measured, so compiling takes little time.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
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
    _check(example_inputs)
    return _Compiled(module, example_inputs, dict(options or {"quick": True}))


class _Compiled:
    """A graph whose parameters and buffers are constants of the exported model, so that rules see them.
    They are looked at before each run; where one was changed, the graph is exported again."""

    def __init__(self, module, example_inputs, options):
        self._module = module
        self._options = options
        nodes = [node for node in module.graph.nodes if node.op == "placeholder"]
        self._constants = [
            i
            for i, (node, value) in enumerate(zip(nodes, example_inputs))
            if _is_weight(node, value)
        ]
        self._others = [i for i in range(len(example_inputs)) if i not in self._constants]
        self._export(example_inputs)

    def __call__(self, *inputs):
        import torch

        _check(inputs)
        if self._versions != self._versions_of(inputs):
            self._export(inputs)
        feeds = {
            one.name: inputs[int(one.name.removeprefix("input_"))].detach().contiguous()
            for one in self._session.inputs
        }
        arrays = self._session.run(feeds)
        return tuple(torch.from_numpy(arrays[name]) for name in self._outputs)

    def _versions_of(self, inputs):
        return [_version(inputs[i]) for i in self._constants]

    def _export(self, inputs):
        import torch

        with torch.no_grad():
            results = self._module(*inputs)
        results = [results] if isinstance(results, torch.Tensor) else list(results)
        if not all(isinstance(one, torch.Tensor) for one in results):
            raise Unsupported("backend egret: a graph's outputs must be tensors")
        self._versions = self._versions_of(inputs)
        self._outputs = [f"output_{i}" for i in range(len(results))]
        model = optimize(
            _exported(self._module, inputs, self._constants, self._others, self._outputs),
            **_only(self._options, _egret.optimize_options),
        )
        self._session = Session(
            model.model_bytes, **_only(self._options, _egret.session_options)
        )


def _exported(module, inputs, constants, others, outputs) -> bytes:
    import torch

    class Closed(torch.nn.Module):
        """The graph as a function of its other inputs."""

        def __init__(self):
            super().__init__()
            self.graph = module
            for i in constants:
                self.register_buffer(f"constant_{i}", inputs[i].detach())

        def forward(self, *given):
            values = {i: getattr(self, f"constant_{i}") for i in constants}
            values.update(zip(others, given))
            return self.graph(*(values[i] for i in range(len(inputs))))

    how: dict[str, Any] = {"dynamo": False}
    if _has_onnxscript():
        how = {"dynamo": True, "verbose": False, "optimize": False, "external_data": False}
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "graph.onnx")
        torch.onnx.export(
            Closed().eval(),
            tuple(inputs[i] for i in others),
            path,
            input_names=[f"input_{i}" for i in others],
            output_names=outputs,
            **how,
        )
        with open(path, "rb") as file:
            return file.read()


def _has_onnxscript() -> bool:
    """The exporter that torch recommends needs it; the other one is deprecated."""
    return importlib.util.find_spec("onnxscript") is not None


def _is_weight(node: Any, value: Any) -> bool:
    import torch

    # TorchDynamo names lifted attributes of modules so. A wrong guess only costs another export.
    return isinstance(value, torch.nn.Parameter) or "_buffers_" in node.name


def _version(value: torch.Tensor) -> tuple[int, int]:
    count = 0 if value.is_inference() else value._version
    return value.data_ptr(), count


def _check(inputs: Sequence[Any]) -> None:
    import torch

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
