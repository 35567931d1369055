# SPDX-License-Identifier: Apache-2.0
"""PyTorch with mode="max-autotune", in a process of its own, since it compiles for minutes."""
import torch_peer


def prepared(path, precision):
    return torch_peer.prepared(path, precision, torch_peer.SLOW)
