# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime on the GPU: the same file, inputs and outputs on the device, one recorded graph of launches."""
import statistics
import time

PRECISIONS = ("f32", "tf32")


def version():
    try:
        import onnxruntime
    except ImportError:
        return "not installed"
    return onnxruntime.__version__


def provider_options(precision):
    return {"use_tf32": "1" if precision == "tf32" else "0", "enable_cuda_graph": "1",
            "cudnn_conv_algo_search": "EXHAUSTIVE"}


def prepared(path, precision):
    """What times a run that the host waits for; empty where ONNX Runtime has no GPU or not the precision."""
    import onnxruntime
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers() or precision not in PRECISIONS:
        return {}
    session = onnxruntime.InferenceSession(str(path), providers=[("CUDAExecutionProvider",
                                                                  provider_options(precision))])
    if session.get_providers()[0] != "CUDAExecutionProvider":
        return {}
    import numpy
    binding = session.io_binding()
    random = numpy.random.default_rng(1)
    kept = []
    for value in session.get_inputs():
        kind = {"tensor(float)": "f4", "tensor(int64)": "i8", "tensor(int32)": "i4"}[value.type]
        array = onnxruntime.OrtValue.ortvalue_from_numpy(random.random(value.shape, "f4").astype(kind), "cuda", 0)
        kept.append(array)
        binding.bind_ortvalue_input(value.name, array)
    for value in session.get_outputs():  # a recorded graph wants outputs at fixed places
        array = onnxruntime.OrtValue.ortvalue_from_shape_and_type(value.shape, numpy.float32, "cuda", 0)
        kept.append(array)
        binding.bind_ortvalue_output(value.name, array)
    for _ in range(5):
        session.run_with_iobinding(binding)

    def median(seconds):
        times = []
        while len(times) < 10 or sum(times) < seconds:
            start = time.perf_counter()
            session.run_with_iobinding(binding)
            times.append(time.perf_counter() - start)
        return statistics.median(times)

    return {"ort": median}
