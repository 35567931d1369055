# SPDX-License-Identifier: Apache-2.0
import threading
import time

import egret
import numpy as np
import pytest
from conftest import make_model
from egret._egret import through_tensor
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator


def expected(model, feeds):
    return ReferenceEvaluator(model).run(None, feeds)


def address(array):
    return array.__array_interface__["data"][0]


def aligned(shape, offset=0, dtype=np.float32):
    """An array whose address is `offset` beyond a multiple of 64."""
    count = int(np.prod(shape))
    memory = np.zeros(count * np.dtype(dtype).itemsize + 128, np.uint8)
    begin = -address(memory) % 64 + offset
    return memory[begin : begin + count * np.dtype(dtype).itemsize].view(dtype).reshape(shape)


def test_a_session_computes_what_the_model_says(mlp):
    session = egret.Session(mlp, threads=1)
    assert session.inputs == [egret.Input("x", "f32", (8, 16))]
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal((8, 16)).astype(np.float32)
        outputs = session.run({"x": x})
        assert list(outputs) == ["y"]
        np.testing.assert_allclose(outputs["y"], expected(mlp, {"x": x})[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(session(x=x)["y"], outputs["y"])
    assert session.plan_count == 1


def test_outputs_are_arrays_of_their_own(mlp):
    session = egret.Session(mlp)
    x = np.ones((8, 16), np.float32)
    first = session.run({"x": x})["y"]
    kept = first.copy()
    second = session.run({"x": 2 * x})["y"]
    assert address(first) != address(second)
    np.testing.assert_array_equal(first, kept)
    first += 1  # writable
    del session
    assert first.sum() != kept.sum()


@pytest.mark.parametrize("layout", ["64", "16", "4", "transposed", "strided", "reversed", "broadcast"])
def test_any_layout_of_an_input_gives_the_same(mlp, layout):
    plain = np.random.default_rng(1).standard_normal((8, 16)).astype(np.float32)
    if layout == "broadcast":
        plain = np.ascontiguousarray(np.broadcast_to(plain[:1], (8, 16)))
    if layout in ("64", "16", "4"):
        x = aligned((8, 16), int(layout) % 64)
        x[:] = plain
    elif layout == "transposed":
        x = np.asfortranarray(plain)
    elif layout == "strided":
        x = np.repeat(np.repeat(plain, 2, 0), 3, 1)[::2, ::3]
    elif layout == "reversed":
        x = plain[::-1, ::-1].copy()[::-1, ::-1]
    else:
        x = np.broadcast_to(plain[:1], (8, 16))
    session = egret.Session(mlp)
    np.testing.assert_array_equal(session.run({"x": x})["y"], session.run({"x": plain})["y"])


@pytest.mark.parametrize(
    "shape, offset, shared",
    [((16, 16), 0, True), ((16, 16), 16, True), ((16, 16), 4, False), ((3, 5), 0, False)],
)
def test_inputs_are_copied_only_where_kernels_could_not_read_them(shape, offset, shared):
    x = aligned(shape, offset)
    x[:] = np.random.default_rng(0).standard_normal(shape)
    y = through_tensor(x)
    np.testing.assert_array_equal(x, y)
    assert (address(x) == address(y)) == shared
    assert address(through_tensor(x.T)) != address(x)
    np.testing.assert_array_equal(through_tensor(x.T), x.T)


def test_outputs_are_inputs_without_a_copy(mlp):
    y = egret.Session(mlp).run({"x": np.ones((8, 16), np.float32)})["y"]
    assert address(through_tensor(y)) == address(y)


def test_an_input_is_freed_after_the_run(mlp):
    import weakref

    class Array(np.ndarray):
        pass

    x = aligned((8, 16)).view(Array)
    gone = weakref.ref(x)
    session = egret.Session(mlp)
    session.run({"x": x})
    del x
    assert gone() is None


def test_dlpack_is_taken(mlp):
    class Exporter:
        """Has DLPack's two methods and nothing else of an array."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__()

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    x = np.random.default_rng(1).standard_normal((8, 16)).astype(np.float32)
    session = egret.Session(mlp)
    y = session.run({"x": Exporter(x)})["y"]
    np.testing.assert_array_equal(y, session.run({"x": x})["y"])
    np.testing.assert_array_equal(np.from_dlpack(y), y)


TYPES = {
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "float16": TensorProto.FLOAT16,
    "int8": TensorProto.INT8,
    "int16": TensorProto.INT16,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "uint8": TensorProto.UINT8,
    "uint16": TensorProto.UINT16,
    "uint32": TensorProto.UINT32,
    "uint64": TensorProto.UINT64,
    "bool": TensorProto.BOOL,
    "bfloat16": TensorProto.BFLOAT16,
}


def moving_model(code, shape):
    """y is x transposed: no arithmetic, so any type is exact."""
    graph = helper.make_graph(
        [helper.make_node("Transpose", ["x"], ["y"], perm=[1, 0])],
        "g",
        [helper.make_tensor_value_info("x", code, shape)],
        [helper.make_tensor_value_info("y", code, shape[::-1])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("name", TYPES)
def test_each_element_type_goes_in_and_out(name):
    if name == "bfloat16":
        dtype = np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    else:
        dtype = np.dtype(name)
    x = (np.arange(6).reshape(2, 3) % 2 if name == "bool" else np.arange(6).reshape(2, 3)).astype(dtype)
    y = egret.run(moving_model(TYPES[name], [2, 3]), {"x": x})["y"]
    assert y.dtype == dtype
    np.testing.assert_array_equal(y, x.T)


def test_scalars_and_empty_arrays():
    node = helper.make_node
    model = make_model([node("Relu", ["x"], ["y"])], {"x": []}, {"y": []})
    y = egret.run(model, {"x": np.array(3, np.float32)})["y"]
    assert y.shape == () and y == 3


def test_the_plans_of_the_last_sixteen_sizes_are_kept(open_batch):
    session = egret.Session(open_batch)
    for batch in range(1, 21):
        session.run({"x": np.ones((batch, 16), np.float32)})
    assert session.plan_count == 16
    x = np.ones((1, 16), np.float32)  # displaced, and planned again
    np.testing.assert_allclose(session.run({"x": x})["y"], expected(open_batch, {"x": x})[0], rtol=1e-4, atol=1e-5)


def test_open_sizes_are_planned_when_they_come(open_batch):
    session = egret.Session(open_batch)
    assert session.open_sizes == ["batch"]
    assert session.inputs[0].shape == ("batch", 16)
    for batch in (1, 7, 1, 32, 7):
        x = np.random.default_rng(batch).standard_normal((batch, 16)).astype(np.float32)
        y = session.run({"x": x})["y"]
        np.testing.assert_allclose(y, expected(open_batch, {"x": x})[0], rtol=1e-4, atol=1e-5)
    assert session.plan_count == 3
    fixed = egret.Session(open_batch, bind={"batch": 4})
    assert fixed.open_sizes == [] and fixed.plan_count == 1
    fixed.run({"x": np.ones((4, 16), np.float32)})
    assert fixed.plan_count == 1
    with pytest.raises(egret.Usage, match="bind batch=4"):
        fixed.run({"x": np.ones((5, 16), np.float32)})


def test_wrong_inputs_are_refused(mlp):
    session = egret.Session(mlp)
    x = np.ones((8, 16), np.float32)
    with pytest.raises(egret.Usage, match="no value for input 'x'"):
        session.run({})
    with pytest.raises(egret.Usage, match="no input 'z'.*inputs are 'x'"):
        session.run({"x": x, "z": x})
    with pytest.raises(egret.BadInput, match="f64"):
        session.run({"x": x.astype(np.float64)})
    with pytest.raises(egret.BadInput, match="input 'x'"):
        session.run({"x": x[:, :8]})
    with pytest.raises(egret.Usage, match="must be an array.*not str"):
        session.run({"x": "no array"})
    with pytest.raises(egret.Unsupported, match="element type"):
        session.run({"x": x.astype(np.complex64)})
    with pytest.raises(egret.Usage, match="unknown backend"):
        egret.Session(mlp, backend="no-such")
    with pytest.raises(TypeError, match="no option 'thread'; did you mean threads"):
        egret.Session(mlp, thread=1)


def test_threads_share_a_session(open_batch):
    session = egret.Session(open_batch, threads=1)
    failures = []

    def work(batch):
        x = np.full((batch, 16), batch, np.float32)
        want = expected(open_batch, {"x": x})[0]
        for _ in range(50):
            if not np.allclose(session.run({"x": x})["y"], want, rtol=1e-4, atol=1e-4):
                failures.append(batch)

    threads = [threading.Thread(target=work, args=(1 + i % 2,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == [] and session.plan_count == 2


def test_compare_tells_equal_models_from_different_ones(wasteful, mlp):
    better = egret.optimize(wasteful, quick=True).model
    same = egret.compare(wasteful, better)
    assert same and same.max_error <= same.bound and "passed" in str(same)
    wrong = type(better)()
    wrong.CopyFrom(better)
    index = next(i for i, node in enumerate(wrong.graph.node) if node.op_type == "Relu")
    wrong.graph.node[index].op_type = "Sigmoid"
    different = egret.compare(wasteful, wrong)
    assert not different and different.outputs[0]["wrong"] > 0
    assert different.first_difference is None
    explained = egret.compare(wasteful, wrong, explain_diff=True)
    assert explained.first_difference["origin"] == "models"
    assert explained.first_difference["in_b"]["operators"][-1] == "sigmoid"
    assert "first difference" in str(explained)
    with pytest.raises(egret.Mismatch, match="different inputs"):
        egret.compare(wasteful, mlp)


def test_compare_takes_inputs(mlp):
    x = np.zeros((8, 16), np.float32)
    assert egret.compare(mlp, mlp, inputs={"x": x}, samples=2).passed


def test_ctrl_c_ends_a_loop_of_runs(mlp):
    import signal

    session = egret.Session(mlp, threads=1)
    x = np.ones((8, 16), np.float32)
    timer = threading.Timer(0.3, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
    timer.start()
    end = time.monotonic() + 30
    with pytest.raises(KeyboardInterrupt):
        while time.monotonic() < end:
            session.run({"x": x})
    assert session.run({"x": x})["y"].shape == (8, 4)
