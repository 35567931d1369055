#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/relay_frames.cc delays what a host sends, in order, nothing of what it is sent, and keeps a rate."""

import os
import pathlib
import socket
import subprocess
import tempfile
import time
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "relay_frames.cc"
DELAY_S = 0.2
BITS_PER_SECOND = 8e5


def frames():
    """An end of a device's user and the device's: both read and write frame by frame."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)


class RelayFrames(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.program = pathlib.Path(folder.name) / "relay_frames"
        subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", SOURCE, "-o",
                        cls.program], check=True)

    def setUp(self):
        self.host, host = frames()
        self.port, port = frames()
        self.relay = subprocess.Popen([self.program, str(DELAY_S), str(BITS_PER_SECOND), f"fd:{host.fileno()}", f"fd:{port.fileno()}"],
                                      pass_fds=[host.fileno(), port.fileno()])
        for end in (self.host, self.port, host, port):
            self.addCleanup(end.close)
        self.addCleanup(self.relay.wait)
        self.addCleanup(self.relay.kill)

    def test_what_the_host_sends_is_late_and_in_order(self):
        start = time.monotonic()
        for frame in (b"first", b"second", b"third"):
            self.host.send(frame)
        self.assertEqual([self.port.recv(100) for _ in range(3)], [b"first", b"second", b"third"])
        self.assertGreaterEqual(time.monotonic() - start, DELAY_S)

    def test_what_the_switch_sends_is_not_held(self):
        self.host.send(b"late")
        self.port.send(b"at once")
        self.assertEqual(self.host.recv(100), b"at once")
        self.port.setblocking(False)
        with self.assertRaises(BlockingIOError):
            self.port.recv(100)
        self.port.setblocking(True)
        self.assertEqual(self.port.recv(100), b"late")

    def test_frames_take_their_bits(self):
        start = time.monotonic()
        for _ in range(10):
            self.port.send(b"x" * 5000)
        for _ in range(10):
            self.host.recv(5000)
        self.assertGreaterEqual(time.monotonic() - start, 8 * 50_000 / BITS_PER_SECOND)

    def test_a_frame_passes_the_switch_while_it_is_sent(self):
        start = time.monotonic()
        for _ in range(2):
            self.host.send(b"x" * 50_000)  # half a second each
        for first_bit_s in (0, 0.5):
            self.port.recv(50_000)
            self.assertGreaterEqual(time.monotonic() - start, DELAY_S + first_bit_s)
            self.assertLess(time.monotonic() - start, DELAY_S + first_bit_s + 0.4)

    def test_an_end_that_takes_no_more_loses_frames(self):
        for number in range(3000):  # more than a socket holds; they arrive within a second
            self.host.send(b"%4d" % number + b"x" * 20)
        time.sleep(1 + 3 * DELAY_S)
        self.assertIsNone(self.relay.poll())
        self.assertEqual(self.port.recv(2000)[:4], b"   0")

    def test_wrong_words_are_an_error(self):
        for words in ([], ["soon", "8", "fd:0", "fd:1"], ["-1", "8", "fd:0", "fd:1"], ["1", "0", "fd:0", "fd:1"],
                      ["1", "8", "fd:77", "fd:78"]):
            done = subprocess.run([self.program, *words], capture_output=True, text=True, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertTrue(done.stderr, words)


if __name__ == "__main__":
    unittest.main()
