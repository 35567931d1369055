# SPDX-License-Identifier: Apache-2.0
"""PyTorch on the GPU: the same networks with random weights, inputs on the device, f32 without TF32."""
import statistics


def version():
    try:
        import torch
    except ImportError:
        return "not installed"
    return torch.__version__


def _network(name, batch):
    """The network and its input on the device, or None where PyTorch or the network is missing."""
    try:
        import torch
        import torchvision
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.manual_seed(1)
    network = getattr(torchvision.models, name)(weights=None).eval().cuda()
    return network, torch.rand(batch, 3, 224, 224, device="cuda")


def _median_seconds(run, seconds):
    """Between two events around each run, as Egret times its own."""
    import torch
    for _ in range(5):
        run()
    torch.cuda.synchronize()
    times = []
    while len(times) < 10 or sum(times) < seconds:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e-3)
    return statistics.median(times)


def eager_and_compiled(name, batch, seconds):
    """Median seconds of a run, eager and with torch.compile(mode="max-autotune") and its CUDA graphs."""
    made = _network(name, batch)
    if made is None:
        return None, None
    import torch
    network, image = made
    with torch.inference_mode():
        eager = _median_seconds(lambda: network(image), seconds)
        compiled = torch.compile(network, mode="max-autotune")
        fast = _median_seconds(lambda: compiled(image), seconds)
    return eager, fast
