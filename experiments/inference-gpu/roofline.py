# SPDX-License-Identifier: Apache-2.0
"""The least time that a device could take: arithmetic at its peak rate or weights at its bandwidth."""

# Dense peak rates of data sheets, in FLOP/s by precision, and bytes/s, by what the name of the device says.
DEVICES = {
    "H200": {"f32": 67e12, "tf32": 494e12, "bf16": 989e12, "bytes": 4.8e12},
    "H100 80GB HBM3": {"f32": 67e12, "tf32": 494e12, "bf16": 989e12, "bytes": 3.35e12},
    "H100 PCIe": {"f32": 51e12, "tf32": 378e12, "bf16": 756e12, "bytes": 2.0e12},
    "A100": {"f32": 19.5e12, "tf32": 156e12, "bf16": 312e12, "bytes": 2.0e12},
}


def least_seconds(device, precision, flops, least_bytes):
    """None for a device that is not in the table."""
    for name, peak in DEVICES.items():
        if name in device:
            return max(flops / peak[precision], least_bytes / peak["bytes"])
    return None
