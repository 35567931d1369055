# SPDX-License-Identifier: Apache-2.0
"""Models as users have them: a path, bytes, or an onnx.ModelProto."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Union

from . import _egret

if TYPE_CHECKING:
    import onnx

    ModelLike = Union[str, os.PathLike[str], bytes, bytearray, memoryview, onnx.ModelProto]
else:
    ModelLike = object


def model_of(model: ModelLike, folder: str | os.PathLike[str] | None = None) -> _egret.Model:
    """`folder` is where external data of bytes or a ModelProto may lie; by default nowhere."""
    data_folder = os.fspath(folder) if folder is not None else ""
    if isinstance(model, (str, os.PathLike)):
        return _egret.Model(os.fspath(model))
    if isinstance(model, (bytes, bytearray, memoryview)):
        return _egret.Model("model", bytes(model), data_folder)
    if hasattr(model, "SerializeToString") and hasattr(model, "graph"):
        name = model.graph.name or "model"
        return _egret.Model(name, model.SerializeToString(), data_folder)
    raise TypeError(
        "a model is a path, bytes or an onnx.ModelProto, not " + type(model).__name__
    )
