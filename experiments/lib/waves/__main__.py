# SPDX-License-Identifier: Apache-2.0
"""The commands that scripts/gpu_check.sh starts; its head describes them."""
import argparse
import datetime
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import sys

from lib import gpu
from lib.waves import kept, kernels, machines, page, parts, plan, rows as table, wave

RESERVE = 10          # seconds at the end of a wave, to export costs and end programs
DRY_RUN_CORES = 16    # of the machines that waves are for


def lacks(need):
    """Why this machine cannot run rows with this need, or ""."""
    if need == "torch":
        return "" if importlib.util.find_spec("torch") else "PyTorch is not installed"
    if need == "fused-subgraphs":
        return lacks_fused_subgraphs()
    if need == "conformance_tests":
        return "" if (machines.BIN / need).exists() else "conformance_tests is not in this bundle"
    return "" if shutil.which(need) else f"{need} is not installed"


def lacks_fused_subgraphs():
    """That experiment has a GPU mode if its run.py takes --backend cuda."""
    program = parts.ROOT / "experiments" / "fused-subgraphs" / "run.py"
    if not program.exists():
        return "the experiment fused-subgraphs is absent"
    return "" if "cuda" in program.read_text() else "the experiment fused-subgraphs has no --backend cuda"


def lacks_here_alone(need):
    """For a dry run: the machine of a wave has all programs."""
    return lacks_fused_subgraphs() if need == "fused-subgraphs" else ""


def show(event):
    print(f"{event.at:6.1f} s  {event.kind:8}  {event.row.key:42}  {event.text}", flush=True)


def dry_run(options, due):
    left_out = []

    def say(event):
        left_out.append(event) if event.kind == "left out" else show(event)
    wave.Wave(machines.Simulated(), options.seconds - RESERVE, DRY_RUN_CORES, lambda *_: None, say).run(due)
    print("\nleft out:")
    for kind, events in alike(left_out).items():
        print(f"  {kind:24}  {len(events):3} rows, the first {events[0].row.key}: {events[0].text}")
    return 0


def alike(events):
    """By group and, in inference, by what is measured; the fresh ones apart."""
    kinds = {}
    for event in events:
        row = event.row
        kind = f"{row.group} {row.key.rsplit('/', 1)[1]}" if row.group == "inference" else row.group
        if event.text.startswith(plan.FRESH):
            kind += ", fresh"
        kinds.setdefault(kind, []).append(event)
    return kinds


class Recorder:
    """Keeps rows as they end, so that an interrupted wave loses none."""

    def __init__(self, folder, results, sources, device, driver):
        self.folder, self.results, self.sources = folder, results, sources
        self.device, self.driver, self.outcomes = device, driver, []

    def __call__(self, row, outcome, seconds, values, note):
        date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        digests = {part: self.sources.now[part] for part in row.parts}
        self.results.add(kept.Kept(row.key, outcome, round(seconds, 1), self.sources.revision, self.device, self.driver,
                                   date, digests, values, note))
        self.results.save(self.folder)
        self.outcomes.append(outcome)


def real_wave(options, due, recorder):
    environment = dict(os.environ, PYTHONPATH=str(parts.ROOT / "experiments"),
                       EGRET_CUDA_TURNS=str(options.folder / "turns"))
    machine = machines.Processes(options.logs, environment)
    ran = wave.Wave(machine, options.seconds - RESERVE, os.cpu_count() or 1, recorder, show)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        could = ran.run(due)
    finally:
        machine.close()
        for suffix in ("", ".busy"):
            (options.folder / f"turns{suffix}").unlink(missing_ok=True)
    count = {outcome: recorder.outcomes.count(outcome) for outcome in
             (kept.OK, kept.FAILED, kept.STOPPED, kept.UNAVAILABLE)}
    print(", ".join(f"{number} {outcome}" for outcome, number in count.items()))
    if not could:
        return gpu.UNAVAILABLE
    return 1 if count[kept.FAILED] else 0


def next_wave(options):
    sources = parts.read()
    chip, _, driver = gpu.name().partition(", ")
    results = kept.Results.load(options.folder)
    if options.known:
        for row in kept.Results.load(options.known).all():
            results.add(row)
    chosen = [row for row in table.all_rows() if row.always or re.search(options.rows, row.key)]
    due = plan.judged(chosen, results, sources, None if options.dry_run else driver,
                      lacks_here_alone if options.dry_run else lacks)
    if options.dry_run:
        return dry_run(options, due)
    return real_wave(options, due, Recorder(options.folder, results, sources, chip, driver))


def merge(options):
    """Rows of each folder into those of its device, and the costs and the machine of the newest."""
    for folder in options.folders:
        rows = list(kept.Results.load(folder).all())
        for device in {row.device for row in rows}:
            place = page.FOLDER / kept.folder_name(device)
            results = kept.Results.load(place)
            for row in rows:
                if row.device == device:
                    results.add(row)
            results.save(place)
            for name in ("costs.json", "machine.json"):
                if (folder / name).exists():
                    shutil.copy(folder / name, place)
        print(f"{folder}: {len(rows)} rows merged")
    return write_page(options)


def write_page(options):
    text = page.text()
    if not getattr(options, "check", False):
        page.PAGE.write_text(text)
        return 0
    if page.PAGE.exists() and page.PAGE.read_text() == text:
        return 0
    print(f"{page.PAGE.relative_to(parts.ROOT)} is outdated; run scripts/gpu_check.sh page")
    return 1


def manifest(options):
    rows = [row for file in page.FOLDER.glob(f"*/{kept.FILE}") for row in kept.Results.load(file.parent).all()]
    revisions = {row.revision for row in rows if not row.sources}
    options.file.write_text(json.dumps(parts.read().manifest(revisions), indent=1, sort_keys=True) + "\n")
    return 0


def compile_kernels(options):
    folder = kernels.prepare(options.folder, options.seconds)
    if folder is not None and options.copy:
        shutil.copytree(folder, options.copy)
    return 0


def main():
    parser = argparse.ArgumentParser(prog="python3 -m lib.waves", description=__doc__)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("next")
    command.add_argument("folder", type=pathlib.Path)
    command.add_argument("seconds", type=float)
    command.add_argument("--known", type=pathlib.Path, help="another folder of kept rows")
    command.add_argument("--logs", type=pathlib.Path, default=parts.ROOT / "build" / "gpu-logs")
    command.add_argument("--rows", default="", help="only rows whose keys match this regular expression")
    command.add_argument("--dry-run", action="store_true")
    command.set_defaults(run=next_wave)
    command = commands.add_parser("merge")
    command.add_argument("folders", type=pathlib.Path, nargs="+")
    command.set_defaults(run=merge)
    command = commands.add_parser("page")
    command.add_argument("--check", action="store_true")
    command.set_defaults(run=write_page)
    command = commands.add_parser("manifest")
    command.add_argument("file", type=pathlib.Path)
    command.set_defaults(run=manifest)
    command = commands.add_parser("kernels")
    command.add_argument("folder", type=pathlib.Path)
    command.add_argument("seconds", type=float)
    command.add_argument("--copy", type=pathlib.Path, help="a new folder, for a bundle")
    command.set_defaults(run=compile_kernels)
    options = parser.parse_args()
    return options.run(options)


if __name__ == "__main__":
    sys.exit(main())
