#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A link with a delay, for kernels without netem: two TAP devices, and a process between them.

    delay_frames.py SECONDS NEAR FAR

makes both devices and returns; the process goes on until they are deleted. A frame sent by NEAR
reaches FAR after so many seconds, in order; one sent by FAR reaches NEAR at once. Needs root.
"""
import collections
import errno
import fcntl
import os
import select
import struct
import sys
import time

SET_INTERFACE = 0x400454CA  # TUNSETIFF of linux/if_tun.h
TAP_WITHOUT_HEADER = 0x0002 | 0x1000  # IFF_TAP | IFF_NO_PI
LONGEST_FRAME = 1 << 16


def open_tap(name):
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, SET_INTERFACE, struct.pack("16sH22x", name.encode(), TAP_WITHOUT_HEADER))
    return device


def send(device, frame):
    """A device that is down, or whose queue is full, loses the frame, as links do."""
    try:
        os.write(device, frame)
    except OSError as error:
        if error.errno not in (errno.EIO, errno.EAGAIN, errno.ENOBUFS):
            raise


def relay(near, far, delay):
    due = collections.deque()  # (when, frame), in order
    while True:
        wait = max(0, due[0][0] - time.monotonic()) if due else None
        ready = select.select([near, far], [], [], wait)[0]
        if far in ready:
            send(near, os.read(far, LONGEST_FRAME))
        if near in ready:
            due.append((time.monotonic() + delay, os.read(near, LONGEST_FRAME)))
        while due and due[0][0] <= time.monotonic():
            send(far, due.popleft()[1])


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    delay, near, far = float(sys.argv[1]), open_tap(sys.argv[2]), open_tap(sys.argv[3])
    if os.fork() != 0:
        return
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    # Not to wait for a processor behind those who compute.
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        relay(near, far, delay)
    except OSError as error:
        if error.errno != errno.EBADFD:  # not: the devices are deleted
            raise


if __name__ == "__main__":
    main()
