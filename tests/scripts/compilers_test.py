#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What experiments leave out of tables of other engines, and why: compilers that do not take a model, engines that fail,
outputs that differ."""

import importlib.util
import pathlib
import sys
import tempfile
import time
import types
import unittest
from unittest import mock

EXPERIMENTS = pathlib.Path(__file__).resolve().parents[2] / "experiments"
sys.path.insert(0, str(EXPERIMENTS))
from lib import compilers, peer_process, peers  # noqa: E402  (from the folder of experiments)

HAS_NUMPY = importlib.util.find_spec("numpy") is not None
HAS_ONNX = HAS_NUMPY and importlib.util.find_spec("onnx") is not None


def is_running(number):
    """False of a process that has ended but that nobody has waited for."""
    try:
        return pathlib.Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


class Compilers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        patch = mock.patch.object(compilers, "ENVIRONMENTS", self.folder)
        patch.start()
        self.addCleanup(patch.stop)
        compilers.version.cache_clear()
        self.addCleanup(compilers.version.cache_clear)

    def environment(self, script):
        """One of TVM, whose Python is this script."""
        python = self.folder / "tvm" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text("#!/bin/sh\n" + script)
        python.chmod(0o755)

    def reason(self):
        with self.assertRaises(RuntimeError) as raised:
            peer_process.PeerProcess("tvm", "model.onnx", 1, {})
        return str(raised.exception)

    def test_without_environments_there_are_none(self):
        self.assertEqual(compilers.installed(), [])

    def test_an_environment_says_its_version(self):
        self.environment("echo 1.2.3\n")
        self.assertEqual((compilers.installed(), compilers.version("tvm")), (["tvm"], "1.2.3"))

    def test_an_environment_without_the_package_is_none(self):
        self.environment("echo PackageNotFoundError >&2; exit 1\n")
        self.assertEqual(compilers.installed(), [])

    def test_an_engine_runs_in_its_own_environment_if_there_is_one(self):
        self.assertEqual(str(compilers.interpreter_of("torch_compile")), sys.executable)
        self.assertEqual(str(compilers.interpreter_of("onnxruntime")), sys.executable)
        own = self.folder / "torch" / "bin" / "python"
        own.parent.mkdir(parents=True)
        own.touch()
        self.assertEqual(compilers.interpreter_of("torch_compile"), own)
        self.assertEqual(compilers.interpreter_of("torch_eager"), own)
        self.assertEqual(compilers.interpreter_of("tvm"), self.folder / "tvm" / "bin" / "python")

    def test_the_error_is_the_reason_even_before_warnings(self):
        self.environment("echo 'ValueError: no such operator' >&2; echo 'Warning: blocks remain' >&2; exit 1\n")
        self.assertEqual(self.reason(), "ValueError: no such operator")

    def test_a_compilation_that_takes_too_long_is_named(self):
        self.environment("kill -ALRM $$\n")
        self.assertEqual(self.reason(), f"not compiled within {compilers.SECONDS:.0f} s")

    def test_a_crash_is_named(self):
        self.environment("kill -SEGV $$\n")
        self.assertEqual(self.reason(), "ended by signal 11")

    def test_what_a_compiler_has_begun_ends_with_it(self):
        number = self.folder / "number"
        self.environment(f"sleep 600 >/dev/null 2>&1 & echo $! > {number}\nkill -ALRM $$\n")
        self.assertEqual(self.reason(), f"not compiled within {compilers.SECONDS:.0f} s")
        begun = int(number.read_text())
        end = time.monotonic() + 10
        while is_running(begun) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertFalse(is_running(begun))


@unittest.skipUnless(HAS_NUMPY, "numpy is not installed")
class Disagreement(unittest.TestCase):
    def disagreement(self, outputs, others):
        import numpy
        return peers.disagreement([numpy.array(a) for a in outputs], [numpy.array(b) for b in others])

    def test_is_relative_to_the_largest_output(self):
        self.assertEqual(self.disagreement([[1.0, 4.0], [1, 2]], [[2.0, 4.0], [1, 2]]), 0.25)
        self.assertEqual(self.disagreement([[True, False]], [[True, True]]), 1)
        self.assertEqual(self.disagreement([], []), 0)

    def test_is_infinite_where_a_value_is_not_finite(self):
        nan, inf = float("nan"), float("inf")
        for bad in (nan, inf):
            self.assertEqual(self.disagreement([[1.0, bad]], [[1.0, 2.0]]), inf)
            self.assertEqual(self.disagreement([[1.0, 2.0]], [[1.0, bad]]), inf)
            self.assertEqual(self.disagreement([[1.0, bad]], [[1.0, bad]]), inf)

    def test_is_infinite_where_numbers_or_shapes_differ(self):
        inf = float("inf")
        self.assertEqual(self.disagreement([[1.0]], [[1.0], [2.0]]), inf)
        self.assertEqual(self.disagreement([[1.0], [2.0]], [[1.0]]), inf)
        self.assertEqual(self.disagreement([[[1.0, 1.0]]], [[[1.0, 1.0], [1.0, 1.0]]]), inf)
        self.assertEqual(self.disagreement([1.0], [[1.0]]), inf)


class Session:
    """Stands for a PeerProcess."""

    def __init__(self, name, *_):
        self.name, self.is_open = name, True

    def outputs(self):
        if self.name == "torch":
            raise RuntimeError("ended by signal 9")
        return [1.0] if self.name == "onnxruntime" else [2.0]

    def median(self, *_):
        raise RuntimeError("out of memory")

    def close(self):
        self.is_open = False


def run_file_of(experiment):
    specification = importlib.util.spec_from_file_location("run_file", EXPERIMENTS / experiment / "run.py")
    module = importlib.util.module_from_spec(specification)
    with mock.patch.object(sys, "path", [str(EXPERIMENTS / experiment), *sys.path]):
        specification.loader.exec_module(module)
    return module


@unittest.skipUnless(HAS_NUMPY, "numpy is not installed")
class InferenceOnCpu(unittest.TestCase):
    def setUp(self):
        self.run_file = run_file_of("inference-cpu")
        self.made = {}
        for patch in (mock.patch.object(self.run_file, "PeerProcess", self.make),
                      mock.patch.object(self.run_file, "bench", lambda files, *_: [1.0] * len(files)),
                      mock.patch.object(peers, "installed", lambda: ["onnxruntime", "torch"]),
                      mock.patch.object(compilers, "installed", lambda: ["tvm"])):
            patch.start()
            self.addCleanup(patch.stop)

    def make(self, name, *_):
        return self.made.setdefault(name, Session(name))

    def test_engines_that_fail_or_differ_are_left_out_and_closed(self):
        setting = types.SimpleNamespace(name="model", threads=1, sizes={}, flags=lambda: [])
        opened, left_out = self.run_file.sessions(setting, "model.onnx")
        self.assertEqual(list(opened), ["onnxruntime"])
        self.assertEqual(left_out, {"torch": "ended by signal 9", "tvm": "gives something else: 1"})
        self.assertEqual({name for name, session in self.made.items() if session.is_open}, {"onnxruntime"})
        self.run_file.timed(setting, {"rounds": 1, "seconds": 0}, "a", "b", opened, left_out)
        self.assertEqual((opened, left_out["onnxruntime"]), ({}, "out of memory"))
        self.assertFalse(self.made["onnxruntime"].is_open)


@unittest.skipUnless(HAS_ONNX, "numpy and onnx are not installed")
class FusedSubgraphs(unittest.TestCase):
    """An engine that fails costs its own times alone."""

    def setUp(self):
        self.run_file = run_file_of("fused-subgraphs")
        report = {"operators_before": 2, "operators_after": 1, "rules_used": [], "chosen": "kernels", "seconds": 1.0,
                  "check": {"max_error": 0.0, "bound": 1.0}}
        self.made = {}
        for patch in (mock.patch.object(self.run_file, "PeerProcess", self.make),
                      mock.patch.object(self.run_file, "optimized", lambda *_: ("b", report)),
                      mock.patch.object(self.run_file, "fired", lambda _: ""),
                      mock.patch.object(self.run_file, "own_outputs", lambda *_: [[2.0]]),
                      mock.patch.object(self.run_file, "bench", lambda files, *_: ([1.0] * len(files), [3] * len(files))),
                      mock.patch.object(self.run_file, "version", lambda _: "1.0")):
            patch.start()
            self.addCleanup(patch.stop)

    def make(self, name, *_):
        return self.made.setdefault(name, self.session(name.removesuffix("_eager")))

    def row(self, session):
        self.session = session
        config = {"peers": ["onnxruntime", "torch_eager"], "threads": 1, "rounds": 2, "seconds": 0}
        return self.run_file.measure("a", config, "cpu")

    def test_in_its_outputs(self):
        class Timed(Session):
            def median(self, *_):
                return 2.0

            def outputs(self):
                return [[1.0]] if self.name == "onnxruntime" else super().outputs()

        row = self.row(Timed)
        self.assertEqual(row["left_out"], "torch_eager: no outputs: ended by signal 9")
        self.assertEqual((row["onnxruntime_ms"], row["ratio"], row["kernels_after"]), ("2000.0000", "2.000", 3))
        self.assertNotIn("torch_eager_ms", row)
        self.assertEqual(row["difference"], "1")  # of Egret's outputs
        self.assertEqual([name for name, session in self.made.items() if session.is_open], [])

    def test_in_its_runs(self):
        row = self.row(Session)
        self.assertEqual(row["left_out"], "torch_eager: no outputs: ended by signal 9; onnxruntime: out of memory")
        self.assertEqual(row["ratio"], "")
        self.assertEqual([name for name, session in self.made.items() if session.is_open], [])


if __name__ == "__main__":
    unittest.main()
