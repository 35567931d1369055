# SPDX-License-Identifier: Apache-2.0
"""Kept rows: one JSON document a line in experiments/results/gpu/DEVICE/waves.jsonl.

A document has the row's key, its outcome (ok, failed, stopped when its time was over, unavailable when the machine lacked
something), the seconds it took, what it measured (values) or why it failed (note), and what it was measured with:
revision, digests of the row's sources, device, driver and date (UTC).
"""
import dataclasses
import json
import os
import pathlib

FILE = "waves.jsonl"
OK, FAILED, STOPPED, UNAVAILABLE = "ok", "failed", "stopped", "unavailable"


@dataclasses.dataclass(frozen=True)
class Kept:
    row: str
    outcome: str
    seconds: float | None
    revision: str
    device: str
    driver: str
    date: str
    sources: dict = dataclasses.field(default_factory=dict)
    values: dict = dataclasses.field(default_factory=dict)
    note: str = ""


class Results:
    """The newest row of each key, and beside one that failed or was stopped the newest that was measured."""

    def __init__(self, rows=()):
        self._good, self._last = {}, {}
        for row in rows:
            self.add(row)

    def add(self, row):
        """In any order; of equal dates the later added."""
        for into in (self._last, *([self._good] if row.outcome == OK else [])):
            if row.row not in into or row.date >= into[row.row].date:
                into[row.row] = row

    def last(self, key):
        """How the row ended last, or None."""
        return self._last.get(key)

    def good(self, key):
        """The newest that was measured, or None."""
        return self._good.get(key)

    def keys(self):
        return sorted(self._last)

    def all(self):
        for key in self.keys():
            if key in self._good and self._good[key] is not self._last[key]:
                yield self._good[key]
            yield self._last[key]

    @classmethod
    def load(cls, folder):
        file = pathlib.Path(folder) / FILE
        lines = file.read_text().splitlines() if file.exists() else []
        return cls(Kept(**json.loads(line)) for line in lines if line.strip())

    def save(self, folder):
        """Replaces the file as a whole."""
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        temporary = folder / (FILE + ".tmp")
        temporary.write_text("".join(json.dumps(dataclasses.asdict(row), sort_keys=True) + "\n" for row in self.all()))
        os.replace(temporary, folder / FILE)


def folder_name(device):
    """"NVIDIA H200" is kept in nvidia-h200."""
    return "".join(c for c in device.lower().replace(" ", "-") if c.isascii() and (c.isalnum() or c == "-"))
