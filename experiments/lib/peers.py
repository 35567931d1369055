# SPDX-License-Identifier: Apache-2.0
"""Other engines, run on the same models."""
import statistics
import time


def onnxruntime_session(path, threads):
    """A session of ONNX Runtime with all its optimizations, or None where it is not installed."""
    try:
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def random_inputs(session, sizes, seed=1):
    """sizes: of symbolic dimensions, by name."""
    import numpy
    random = numpy.random.default_rng(seed)
    inputs = {}
    for value in session.get_inputs():
        shape = [d if isinstance(d, int) else sizes[d] for d in value.shape]
        if "float" in value.type:
            inputs[value.name] = random.uniform(-1, 1, shape).astype("float32")
        else:
            inputs[value.name] = random.integers(0, 10, shape).astype("int64")
    return inputs


def medians(sessions, seconds, sizes, least_runs=5):
    """Median seconds of each session; they take turns."""
    inputs = [random_inputs(session, sizes) for session in sessions]
    samples = [[] for _ in sessions]
    for _ in range(2):
        for session, given in zip(sessions, inputs):
            session.run(None, given)
    end = time.monotonic() + seconds
    while len(samples[0]) < least_runs or time.monotonic() < end:
        for session, given, times in zip(sessions, inputs, samples):
            start = time.perf_counter()
            session.run(None, given)
            times.append(time.perf_counter() - start)
    return [statistics.median(times) for times in samples]


def onnxruntime_version():
    try:
        import onnxruntime
    except ImportError:
        return "not installed"
    return onnxruntime.__version__
