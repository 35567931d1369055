#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes reference.npz: gradients of networks.py by JAX in double precision.

    python3 -m venv /tmp/jax && /tmp/jax/bin/pip install jax==0.10.2 && /tmp/jax/bin/python reference.py
"""
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import networks

jax.config.update("jax_enable_x64", True)


def mlp(p, x):
    hidden = jax.nn.relu(x @ p["w1"] + p["b1"])
    hidden = jnp.tanh(hidden @ p["w2"] + p["b2"])
    return hidden @ p["w3"] + p["b3"]


def conv(x, k, stride=1, pad=1, dilation=1, groups=1):
    return lax.conv_general_dilated(x, k, (stride, stride), [(pad, pad)] * 2, rhs_dilation=(dilation, dilation),
                                    feature_group_count=groups)


def block(p, x):
    x = jax.nn.relu(conv(x, p["k0"], stride=2) * p["scale0"] + p["shift0"])
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), [(0, 0), (0, 0), (1, 1), (1, 1)])
    inner = jax.nn.relu(conv(x, p["k1"], pad=2, dilation=2) * p["scale1"])
    inner = conv(inner, p["k2"], stride=2, groups=2)
    x = jax.nn.relu(inner + conv(x, p["k3"], stride=2, pad=0))
    return x.mean((2, 3)) @ p["w"]


def norm(x, scale, shift):
    centered = x - x.mean(-1, keepdims=True)
    return centered / jnp.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5) * scale + shift


def layer(p, tokens):
    x = p["table"][tokens]
    batch, length, width = x.shape

    def heads(y):
        return y.reshape(batch, length, networks.HEADS, -1).transpose(0, 2, 1, 3)

    y = norm(x, p["scale1"], p["shift1"])
    q, k, v = heads(y @ p["wq"]), heads(y @ p["wk"]), heads(y @ p["wv"])
    weights = jax.nn.softmax(q @ k.transpose(0, 1, 3, 2) / np.sqrt(width / networks.HEADS), -1)
    x = x + (weights @ v).transpose(0, 2, 1, 3).reshape(batch, length, width) @ p["wo"]
    y = norm(x, p["scale2"], p["shift2"])
    return x + jax.nn.gelu(y @ p["w1"] + p["b1"], approximate=False) @ p["w2"]


def cross_entropy(logits, labels):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()


def mse(y, labels):
    return ((y - labels) ** 2).mean()


FORWARD = {"mlp": mlp, "resnet-block": block, "transformer-layer": layer}
LOSS = {"cross_entropy": cross_entropy, "mse": mse}


def main():
    found = {}
    for name, forward in FORWARD.items():
        x, labels = networks.data(name)
        x = x if x.dtype.kind == "i" else x.astype(np.float64)
        loss = lambda p: LOSS[networks.LOSSES[name]](forward(p, x), labels)
        p = {k: v.astype(np.float64) for k, v in networks.parameters(name).items()}
        value, gradients = jax.value_and_grad(loss)(p)
        found[f"{name}/loss"] = np.asarray(value)
        found.update({f"{name}/{k}": np.asarray(g, np.float32) for k, g in gradients.items()})
    np.savez_compressed(pathlib.Path(__file__).with_name("reference.npz"), jax_version=jax.__version__, **found)


if __name__ == "__main__":
    main()
