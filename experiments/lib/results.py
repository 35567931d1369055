# SPDX-License-Identifier: Apache-2.0
"""Results of an experiment: a CSV table and a JSON manifest under experiments/results/NAME/.

Rows are appended as they are measured, so that an interrupted run goes on where it stopped: a row
whose key is in the table already is not measured again (unless the table is of another manifest).
A table that grows keeps its rows after it is finished, too; each of its rows names its revision.
"""
import csv
import datetime
import json
import os
import pathlib
import platform
import re

RESULTS = pathlib.Path(__file__).resolve().parents[1] / "results"


def processor():
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


def on_machine(mode, name):
    """A table's name for each kind of machine: what one measured is neither replaced nor gone on with by another."""
    return ".".join([mode, "-".join(re.findall(r"[a-z0-9]+", name.lower()))])


def vectors():
    """"avx2" on a processor whose widest vectors these are: virtual machines hide AVX-512 and keep the name."""
    try:
        flags = re.search(r"^flags\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        return ""
    known = set(flags.group(1).split()) if flags else set()
    return "avx2" if "avx2" in known and "avx512f" not in known else ""


def on_this_processor(mode):
    name = re.sub(r"\((r|tm)\)|processor", "", processor().lower())
    return on_machine(mode, f"{name} {vectors()}")


class Table:
    """columns: names in order; key: the columns that identify a row. Without of_host rows go on on any host: what they
    say is of the device that the manifest names. A table that grows takes up its rows again when it is finished; what
    may differ between its rows is in columns, not in the manifest."""

    def __init__(self, experiment, mode, columns, key, manifest, of_host=True, grows=False):
        self.folder = RESULTS / experiment
        self.folder.mkdir(parents=True, exist_ok=True)
        self.csv = self.folder / f"{mode}.csv"
        self.json = self.folder / f"{mode}.json"
        self.columns = columns
        self.key = key
        self.grows = grows
        self.manifest = dict(manifest, **({"processor": processor(), "cores": os.cpu_count()} if of_host else {}))
        self.rows = self._kept_rows()

    def _kept_rows(self):
        try:
            old = json.loads(self.json.read_text())
        except (OSError, ValueError):
            return []
        if not (old.get("unfinished") or self.grows) or {k: old.get(k) for k in self.manifest} != self.manifest:
            return []
        with open(self.csv, newline="") as file:
            return [{c: row.get(c, "") for c in self.columns} for row in csv.DictReader(file)]

    def has(self, **key):
        return any(all(row[k] == str(v) for k, v in key.items()) for row in self.rows)

    def add(self, **row):
        """In a table that grows, in place of the row with this key, if there is one."""
        self.add_all([row])

    def add_all(self, rows):
        """Rows that a run which is ended has all of or none."""
        for row in rows:
            row = {c: str(row.get(c, "")) for c in self.columns}
            same = (i for i, old in enumerate(self.rows) if self.grows and all(old[k] == row[k] for k in self.key))
            at = next(same, len(self.rows))
            self.rows[at:at + 1] = [row]
        self._write(unfinished=True)

    def set(self, key, **values):
        """Fills in columns of the row with this key."""
        row = next(r for r in self.rows if all(r[k] == str(v) for k, v in key.items()))
        row.update({c: str(v) for c, v in values.items()})
        self._write(unfinished=True)

    def finish(self):
        self._write(unfinished=False)

    def _write(self, unfinished):
        temporary = self.csv.with_suffix(".tmp")
        with open(temporary, "w", newline="") as file:
            writer = csv.DictWriter(file, self.columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)
        os.replace(temporary, self.csv)
        manifest = dict(self.manifest, date=datetime.date.today().isoformat())
        if unfinished:
            manifest["unfinished"] = True
        self.json.write_text(json.dumps(manifest, indent=2, sort_keys=True) + "\n")

    def print(self):
        widths = [max(len(c), *(len(r[c]) for r in self.rows)) if self.rows else len(c) for c in self.columns]
        print("  ".join(c.ljust(w) for c, w in zip(self.columns, widths)))
        for row in self.rows:
            print("  ".join(row[c].ljust(w) for c, w in zip(self.columns, widths)))


def check_expected(path, mode, values):
    """values: {name: number}. For each mode the file maps names to {"least": x} and/or {"most": y}.

    Times are expected in the full form alone: a short run on a shared machine says little of them.
    """
    failures = []
    for name, limits in json.loads(pathlib.Path(path).read_text())[mode].items():
        if name not in values:
            continue
        value = values[name]
        if "least" in limits and value < limits["least"]:
            failures.append(f"{name} is {value:.4g}, expected at least {limits['least']}")
        if "most" in limits and value > limits["most"]:
            failures.append(f"{name} is {value:.4g}, expected at most {limits['most']}")
    return failures


def judge(path, mode, values):
    """Prints what is not as check_expected() wants it; the experiment's exit code."""
    failures = check_expected(path, mode, values)
    for failure in failures:
        print("NOT AS EXPECTED:", failure)
    return 1 if failures else 0
