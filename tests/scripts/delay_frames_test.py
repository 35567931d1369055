#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/delay_frames.py delays what one end sends, in order, and nothing of what the other sends."""

import os
import pathlib
import socket
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import delay_frames  # noqa: E402  (from the folder of scripts)

DELAY_S = 0.2


def frames():
    """An end of a device's user and the device's: both read and write frame by frame."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)


class DelayFrames(unittest.TestCase):
    def setUp(self):
        self.near, near = frames()
        self.far, far = frames()
        ends = near.detach(), far.detach()
        self.addCleanup(self.near.close)
        self.addCleanup(self.far.close)
        threading.Thread(target=delay_frames.relay, args=(*ends, DELAY_S), daemon=True).start()

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

    def test_a_device_that_is_down_loses_frames(self):
        read_only = os.open(os.devnull, os.O_RDONLY)
        with self.assertRaises(OSError):
            delay_frames.send(read_only, b"x")  # EBADF is no loss
        full, other = frames()
        full.setblocking(False)
        for _ in range(10_000):
            delay_frames.send(full.fileno(), b"x" * 1000)
        self.assertEqual(other.recv(2000), b"x" * 1000)
        for end in (full, other):
            end.close()
        os.close(read_only)


if __name__ == "__main__":
    unittest.main()
