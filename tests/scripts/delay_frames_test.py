#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/delay_frames.cc delays what one end sends, in order, nothing of what the other sends, and keeps a rate."""

import os
import pathlib
import socket
import subprocess
import tempfile
import time
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "delay_frames.cc"
DELAY_S = 0.2
BITS_PER_SECOND = 8e5


def frames():
    """An end of a device's user and the device's: both read and write frame by frame."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)


class DelayFrames(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.program = pathlib.Path(folder.name) / "delay_frames"
        subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", SOURCE, "-o",
                        cls.program], check=True)

    def setUp(self):
        self.near, near = frames()
        self.far, far = frames()
        self.relay = subprocess.Popen([self.program, str(DELAY_S), str(BITS_PER_SECOND), f"fd:{near.fileno()}", f"fd:{far.fileno()}"],
                                      pass_fds=[near.fileno(), far.fileno()])
        for end in (self.near, self.far, near, far):
            self.addCleanup(end.close)
        self.addCleanup(self.relay.wait)
        self.addCleanup(self.relay.kill)

    def test_what_the_near_end_sends_is_late_and_in_order(self):
        start = time.monotonic()
        for frame in (b"first", b"second", b"third"):
            self.near.send(frame)
        self.assertEqual([self.far.recv(100) for _ in range(3)], [b"first", b"second", b"third"])
        self.assertGreaterEqual(time.monotonic() - start, DELAY_S)

    def test_what_the_far_end_sends_is_not_held(self):
        self.near.send(b"late")
        self.far.send(b"at once")
        self.assertEqual(self.near.recv(100), b"at once")
        self.far.setblocking(False)
        with self.assertRaises(BlockingIOError):
            self.far.recv(100)
        self.far.setblocking(True)
        self.assertEqual(self.far.recv(100), b"late")

    def test_frames_take_their_bits(self):
        start = time.monotonic()
        for _ in range(10):
            self.far.send(b"x" * 5000)
        for _ in range(10):
            self.near.recv(5000)
        self.assertGreaterEqual(time.monotonic() - start, 8 * 50_000 / BITS_PER_SECOND)

    def test_an_end_that_takes_no_more_loses_frames(self):
        for number in range(3000):  # more than a socket holds; they arrive within a second
            self.near.send(b"%4d" % number + b"x" * 20)
        time.sleep(1 + 3 * DELAY_S)
        self.assertIsNone(self.relay.poll())
        self.assertEqual(self.far.recv(2000)[:4], b"   0")

    def test_wrong_words_are_an_error(self):
        for words in ([], ["soon", "8", "fd:0", "fd:1"], ["-1", "8", "fd:0", "fd:1"], ["1", "0", "fd:0", "fd:1"],
                      ["1", "8", "fd:77", "fd:78"]):
            done = subprocess.run([self.program, *words], capture_output=True, text=True, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertTrue(done.stderr, words)


if __name__ == "__main__":
    unittest.main()
