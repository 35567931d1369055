# SPDX-License-Identifier: Apache-2.0
"""Three small networks with every parameter from one seed: what run.py writes as ONNX and reference.py as JAX."""
import numpy as np

BATCH, CLASSES = 4, 5


def drawn(seed, shapes):
    """Uniform in (-0.5, 0.5), by name; the scales of normalizations lie around 1."""
    random = np.random.RandomState(seed)
    values = {name: (random.random_sample(shape) - 0.5).astype(np.float32) for name, shape in shapes.items()}
    return {name: value + np.float32(1) if name.startswith("scale") else value for name, value in values.items()}


MLP = {"w1": (12, 16), "b1": (16,), "w2": (16, 16), "b2": (16,), "w3": (16, CLASSES), "b3": (CLASSES,)}
BLOCK = {"k0": (8, 3, 3, 3), "scale0": (1, 8, 1, 1), "shift0": (1, 8, 1, 1), "k1": (8, 8, 3, 3),
         "scale1": (1, 8, 1, 1), "k2": (16, 4, 3, 3), "k3": (16, 8, 1, 1), "w": (16, CLASSES)}
WIDTH, LENGTH, HEADS = 16, 6, 2
LAYER = {"scale1": (WIDTH,), "shift1": (WIDTH,), "wq": (WIDTH, WIDTH), "wk": (WIDTH, WIDTH), "wv": (WIDTH, WIDTH),
         "wo": (WIDTH, WIDTH), "scale2": (WIDTH,), "shift2": (WIDTH,), "w1": (WIDTH, 4 * WIDTH), "b1": (4 * WIDTH,),
         "w2": (4 * WIDTH, WIDTH), "table": (11, WIDTH)}

# name: (shapes of parameters, input, labels, loss)
NETWORKS = {"mlp": MLP, "resnet-block": BLOCK, "transformer-layer": LAYER}
LOSSES = {"mlp": "cross_entropy", "resnet-block": "cross_entropy", "transformer-layer": "mse"}


def parameters(name):
    return drawn(1 + list(NETWORKS).index(name), NETWORKS[name])


def data(name):
    """Input and labels."""
    random = np.random.RandomState(100)
    if name == "mlp":
        return (random.random_sample((BATCH, 12)) - 0.5).astype(np.float32), random.randint(0, CLASSES, BATCH)
    if name == "resnet-block":
        image = (random.random_sample((BATCH, 3, 17, 17)) - 0.5).astype(np.float32)
        return image, random.randint(0, CLASSES, BATCH)
    tokens = random.randint(0, 11, (BATCH, LENGTH))
    return tokens, (random.random_sample((BATCH, LENGTH, WIDTH)) - 0.5).astype(np.float32)
