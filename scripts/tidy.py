#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over the sources: all of them, or those that are named.

Most of clang-tidy's time goes into the headers of the standard library, Boost and GoogleTest, which
every source includes again. Sources of one folder that are compiled with the same options are
therefore joined, some at a time, into one unit. If two of them define the same name, the second is
checked apart.

Usage: scripts/tidy.py [--jobs N] [--join N] [--since COMMIT] [FILES]
Needs build/release/compile_commands.json (cmake --preset release). Ends with 1 if anything is found.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATABASE = ROOT / "build" / "release" / "compile_commands.json"
TOOL = os.environ.get("CLANG_TIDY", "clang-tidy-14")
FINDING = re.compile(r"^(/.*?):(\d+):(\d+): (warning|error): (.*)$")


def options_of(command):
    """The options of a compiler's command: without the compiler, the output and the source."""
    words = shlex.split(command)[1:]
    kept, skip = [], False
    for word in words[:-1]:
        if skip:
            skip = False
        elif word == "-o":
            skip = True
        elif word not in ("-c", "-Werror"):
            kept.append(word)
    return tuple(kept)


def sources(named):
    """The (source, options) of the compilation database that lie in this tree."""
    entries = json.loads(DATABASE.read_text())
    found = {}
    for entry in entries:
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        inside = path.is_relative_to(ROOT) and not path.is_relative_to(ROOT / "build")
        if inside and (not named or path in named):
            found.setdefault(path, options_of(entry["command"]))
    return sorted(found.items())


def units(found, join):
    """Groups of up to `join` sources of one folder and with the same options."""
    groups = {}
    for path, options in found:
        groups.setdefault((path.parent, options), []).append(path)
    for (_, options), paths in sorted(groups.items()):
        for at in range(0, len(paths), join):
            yield paths[at : at + join], options


def run(paths, options):
    """The findings of one unit, and the sources in which it does not compile."""
    with tempfile.TemporaryDirectory() as folder:
        unit = pathlib.Path(folder, "unit.cc")
        unit.write_text("".join(f'#include "{path}"\n' for path in paths))
        source = paths[0] if len(paths) == 1 else unit
        command = [TOOL, "--quiet", f"--config-file={ROOT / '.clang-tidy'}", str(source), "--"]
        command += [*options, "-Wno-unknown-warning-option"]
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    findings, broken = set(), set()
    for line in result.stdout.splitlines():
        match = FINDING.match(line)
        # Clang 14 rejects some views of the standard library that GCC 12 compiles; those errors lie in
        # the library's headers and do not stop the other checks.
        if not match or not pathlib.Path(match.group(1)).is_relative_to(ROOT):
            continue
        findings.add(line)
        if "[clang-diagnostic-error]" in line:
            broken.add(pathlib.Path(match.group(1)))
    if result.returncode < 0:
        findings.add(f"{source}: {TOOL} was ended by signal {-result.returncode}")
    return findings, broken


def findings_of(paths, options):
    """The findings of some sources. Sources that cannot be joined to others are tried apart."""
    findings, broken = run(paths, options)
    if len(paths) == 1 or not broken:
        return findings
    apart = [path for path in paths if path in broken]
    together = [path for path in paths if path not in broken]
    if not apart or not together:  # errors in headers, or in all sources
        apart, together = paths[: len(paths) // 2], paths[len(paths) // 2 :]
    return findings_of(together, options) | findings_of(apart, options)


def changed_since(commit):
    """The sources that differ from a commit."""
    command = ["git", "diff", "--name-only", "--diff-filter=d", commit]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in names.split() if name.endswith((".cc", ".cpp"))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", help="sources (default: all of the build)")
    parser.add_argument("--since", metavar="COMMIT", help="only sources that differ from a commit")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="units at a time")
    parser.add_argument("--join", type=int, default=8, help="sources joined into one unit")
    arguments = parser.parse_args()
    if not DATABASE.exists():
        sys.exit(f"{DATABASE} is missing: run cmake --preset release")
    names = arguments.files
    if arguments.since:
        names = names + changed_since(arguments.since)
        if not names:
            print("clang-tidy: no source has changed")
            return
    found = sources({pathlib.Path(name).resolve() for name in names})
    seen, done = set(), 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        jobs = {pool.submit(findings_of, *unit): unit for unit in units(found, arguments.join)}
        for job in concurrent.futures.as_completed(jobs):
            for line in sorted(job.result() - seen):
                print(line.replace(f"{ROOT}/", ""), flush=True)
            seen |= job.result()
            done += len(jobs[job][0])
            print(f"\r{done} of {len(found)} sources", end="", file=sys.stderr, flush=True)
    print(f"\nclang-tidy: {len(found)} sources, {len(seen)} findings", flush=True)
    sys.exit(1 if seen else 0)


if __name__ == "__main__":
    main()
