#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""experiments/lib/peer_process.py says why a compiler of an environment of its own does not take a model."""

import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "experiments"))
from lib import compilers, peer_process  # noqa: E402  (from the folder of experiments)


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

    def test_the_error_is_the_reason_even_before_warnings(self):
        self.environment("echo 'ValueError: no such operator' >&2; echo 'Warning: blocks remain' >&2; exit 1\n")
        self.assertEqual(self.reason(), "ValueError: no such operator")

    def test_a_compilation_that_takes_too_long_is_named(self):
        self.environment("kill -ALRM $$\n")
        self.assertEqual(self.reason(), f"not compiled within {compilers.SECONDS:.0f} s")

    def test_a_crash_is_named(self):
        self.environment("kill -SEGV $$\n")
        self.assertEqual(self.reason(), "ended by signal 11")


if __name__ == "__main__":
    unittest.main()
