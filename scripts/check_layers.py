#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks who includes whom.

1. A folder's sources include only themselves and the folders in DEPS of its egret_library(). A
   subfolder with a CMakeLists.txt of its own is a program with DEPS of its own (egret_program).
2. DEPS are within the first table of docs/architecture.md, which is the rule.
3. Rooms: a folder's subfolders are those of the second table (and of ROOMS in its CMakeLists.txt).
   A file includes of its own folder only its own room and the rooms in that row. The rows have no
   cycle, and a room has at most 40 source files.
4. A header of a third party, or one that few files may use, appears only in the files that own it
   (OWNERS below).
5. A trusted program (TRUSTED) reaches, through includes and the sources beside headers, no file
   but those of its row; its own part has at most so many lines of code.
6. Sources open with the licence line, headers have #pragma once, none exceeds 600 lines.

Prints one line per violation, "file:line: what", and exits with 1 when there is one.
Other roots than this repository may be given for tests: check_layers.py [ROOT]. With --trusted it
prints what the trusted programs consist of.
"""

import pathlib
import re
import sys

LICENCE = "// SPDX-License-Identifier: Apache-2.0"
MOST_LINES = 600
MOST_FILES = 40

# Header prefix -> the only places that may include it. Public headers that show a third-party type
# on purpose (Boost's containers) are not listed.
OWNERS = {
    "toml++/": ["base/formats/toml.cc"],
    "boost/json": ["base/formats/json_stream.cc"],
    "CLI/": ["tools/frame/command_line.cc"],
    "sqlite3.h": ["cost/"],
    "oneapi/dnnl/": ["backends/cpu/"],
    "dnnl": ["backends/cpu/"],
    "google/protobuf/": ["frontends/"],
    "zip.h": ["frontends/wire/"],
    "z3": ["extract/", "verifier/"],
    "cvc5/": ["verifier/"],
    "coin/": ["extract/"],
    "highs/": ["extract/"],
    "mpi.h": ["runtime/mpi/"],
    "nanobind/": ["python/src/"],
    "Python.h": ["python/src/"],
    # Compiles rules that nobody has admitted; others use rules/tensors/admitted_rules.h.
    "rules/tensors/compile.h": ["rules/", "tests/"],
    "nccl.h": ["tests/backends/"],
    "cuda.h": ["tests/backends/"],
    "nvrtc.h": ["tests/backends/"],
    "cublas": ["tests/backends/"],
    "cudnn": ["tests/backends/"],
    "gtest/": ["tests/"],
    "gmock/": ["tests/"],
    "rapidcheck": ["tests/"],
    "benchmark/": ["tests/"],
}

# Program -> what may be among the files that it reaches; which of them are its own part, and how
# many lines of code that part may have, without comments and empty lines.
TRUSTED = {
    "tools/egret_check/egret_check.cc": {
        "may_reach": [
            "base/",
            "ir/",
            "frontends/",
            "verifier/replay/",
            "verifier/index/polynomial.",
            "verifier/index/proven_sizes.",
            "verifier/index/size_facts.",
            "verifier/index/size_range.",
            "rules/language/",
            "rules/records/",
            "rules/replay/",
            "rules/tensors/binding.",
            "rules/tensors/fixed_width.",
            "rules/tensors/graph_sink.",
            "tools/egret_check/",
        ],
        "own": ["verifier/replay/", "rules/replay/", "tools/egret_check/"],
        "most_lines": 1500,
    },
    # Without a solver, but with what the verifier proves families with.
    "tools/egret_check/egret_check_rule.cc": {
        "may_reach": [
            "base/",
            "ir/",
            "rules/language/",
            "rules/records/",
            "rules/tensors/binding.",
            "rules/tensors/graph_rewriting.",
            "rules/tensors/graph_sink.",
            "rules/testing/",
            "rules/traces/",
            "rules/proving/",
            "rules/proofs/",
            "verifier/index/",
            "verifier/algebra/",
            "verifier/equality/",
            "verifier/solver/query.",
            "verifier/solver/solver.",
            "verifier/solver/solver_memory.",
            "verifier/solver/solver_session.",
            "verifier/contradictions/",
            "tools/egret_check/",
        ],
        "own": ["verifier/contradictions/", "rules/proofs/", "tools/egret_check/"],
        "most_lines": 1500,
    },
}

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')
LIBRARY = re.compile(r"egret_(?:library|bindings)\(\s*(\w+)([^)]*)\)")
PROGRAM = re.compile(r"egret_program\(\s*(\w+)([^)]*)\)")


def words_after(keyword, text):
    words = text.split()
    found = set()
    if keyword in words:
        for word in words[words.index(keyword) + 1 :]:
            if word.isupper():
                break
            found.add(word)
    return found


def declared_deps(root):
    """Folder -> DEPS of its egret_library(); "folder/program" -> DEPS of its programs."""
    deps = {}
    for file in sorted([*root.glob("*/CMakeLists.txt"), *root.glob("*/*/CMakeLists.txt")]):
        folder = file.parent.relative_to(root).as_posix()
        if folder.split("/")[0] in ("build", "tests"):
            continue
        text = re.sub(r"#[^\n]*", "", file.read_text())
        calls = PROGRAM if "/" in folder else LIBRARY
        found = [words_after("DEPS", rest) for _, rest in calls.findall(text)]
        if found:
            deps[folder] = set().union(*found)
    return deps


def allowed_deps(root):
    """Folder -> folders it may include, from the table between the "layers" marks."""
    text = (root / "docs" / "architecture.md").read_text()
    table = text.split("<!-- layers -->")[1].split("<!-- /layers -->")[0]
    allowed = {}
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        name = re.match(r"`(\w+)/`", cells[0])
        if name:
            allowed[name.group(1)] = set(re.findall(r"`(\w+)`", cells[-1]))
    return allowed


def rooms_of(root):
    """Room -> rooms of its folder that it may include, from the table between the "rooms" marks."""
    text = (root / "docs" / "architecture.md").read_text()
    if "<!-- rooms -->" not in text:
        return {}
    table = text.split("<!-- rooms -->")[1].split("<!-- /rooms -->")[0]
    rooms = {}
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        name = re.match(r"`([\w/]+)/`", cells[0])
        if name:
            rooms[name.group(1)] = set(re.findall(r"`([\w/]+)/`", cells[-1]))
    return rooms


def check_rooms(root, deps, rooms):
    """Violations of the table of rooms itself, of ROOMS, and of the rooms' size."""
    where = "docs/architecture.md:1"
    for room in sorted(rooms):
        reached, pending = set(), [room]
        while pending:
            for other in rooms.get(pending.pop(), ()):
                if other not in rooms:
                    yield f"{where}: {room} may include {other}, which has no row of its own"
                elif other not in reached:
                    reached.add(other)
                    pending.append(other)
        if room in reached:
            yield f"{where}: {room} may include itself by way of other rooms"
    for folder in sorted(deps):
        if "/" in folder or not any(room.startswith(folder + "/") for room in rooms):
            continue
        file = f"{folder}/CMakeLists.txt"
        text = re.sub(r"#[^\n]*", "", (root / file).read_text())
        built = {
            f"{folder}/{room}"
            for name, rest in LIBRARY.findall(text)
            for room in words_after("ROOMS", rest)
        }
        apart = {other for other in deps if other.startswith(folder + "/")}
        programs = {f"{folder}/programs"}  # each file is a program of its own
        for room in sorted(built - set(rooms)):
            yield f"{file}:1: {room} has no row in the table of rooms of docs/architecture.md"
        listed = {room for room in rooms if room.startswith(folder + "/")}
        for room in sorted(listed - built - apart - programs):
            yield f"{file}:1: ROOMS lacks {room}, which has a row in docs/architecture.md"
    for room in sorted(rooms):
        count = sum(1 for path in (root / room).glob("*") if path.suffix in (".h", ".cc", ".cu"))
        if count > MOST_FILES:
            yield f"{room}:1: {count} source files in one room; a room has at most {MOST_FILES}"


def sources(root, folder, apart=()):
    """Sources below the folder, without those below the folders named in apart."""
    for pattern in ("*.h", "*.cc", "*.cu"):
        for path in sorted((root / folder).rglob(pattern)):
            if not any(path.is_relative_to(root / other) for other in apart):
                yield path


def reached_from(root, start):
    """Files that a program consists of: what it includes, and the sources beside these headers."""
    reached, pending = {}, [(start, start)]
    while pending:
        name, includer = pending.pop()
        path = root / name
        if name in reached or not path.is_file():
            continue
        reached[name] = includer
        for line in path.read_text(errors="replace").splitlines():
            match = INCLUDE.match(line)
            if match and match.group(1) == '"':
                pending.append((match.group(2), name))
        if path.suffix == ".h":
            pending.append((str(pathlib.PurePosixPath(name).with_suffix(".cc")), name))
    return reached


def code_lines(path):
    """Lines that are neither empty nor a comment."""
    lines = (line.strip() for line in path.read_text(errors="replace").splitlines())
    return sum(1 for line in lines if line and not line.startswith("//"))


def check_trusted(root):
    for start, row in TRUSTED.items():
        reached = reached_from(root, start)
        for name, includer in sorted(reached.items()):
            if not any(name.startswith(place) for place in row["may_reach"]):
                yield f"{includer}:1: {start} may not reach {name} (TRUSTED)"
        own = [name for name in reached if any(name.startswith(place) for place in row["own"])]
        count = sum(code_lines(root / name) for name in own)
        if count > row["most_lines"]:
            yield f"{start}:1: its own part has {count} lines of code, of {row['most_lines']} allowed"


def check_file(path, name, folder, may_include, folders, rooms):
    """Violations of one file; may_include None: anything goes (tests)."""
    lines = path.read_text(errors="replace").splitlines()
    room = name.rsplit("/", 1)[0]
    if may_include is not None and room != folder and folder_has_rooms(folder, rooms) and room not in rooms:
        yield f"{name}:1: {room} has no row in the table of rooms of docs/architecture.md"
    if not lines or lines[0].strip() != LICENCE:
        yield f"{name}:1: the first line must be {LICENCE!r}"
    if path.suffix == ".h" and "#pragma once" not in lines:
        yield f"{name}:1: a header needs #pragma once"
    if len(lines) > MOST_LINES:
        yield f"{name}:{MOST_LINES}: longer than {MOST_LINES} lines; split it"
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, header = match.groups()
        for prefix, owners in OWNERS.items():
            if header.startswith(prefix) and not any(name.startswith(o) for o in owners):
                yield f"{name}:{number}: only {' '.join(owners)} may include <{header}>"
        if quote == "<":
            continue
        top = header.split("/")[0]
        if header.startswith(".") or "/" not in header:
            if not header.endswith(".pb.h"):
                yield f'{name}:{number}: "{header}" must be named from the root of the repository'
        elif top in folders and top != folder and may_include is not None:
            if top not in may_include:
                yield f"{name}:{number}: {folder} may not include {top} (see docs/architecture.md)"
        elif top == folder and room in rooms and not header.endswith(".pb.h"):  # generated
            other = header.rsplit("/", 1)[0]
            if other != room and other not in rooms[room]:
                yield f"{name}:{number}: {room} may not include {other} (see docs/architecture.md)"


def folder_has_rooms(folder, rooms):
    return any(room.startswith(folder + "/") for room in rooms)


def check(root):
    deps = declared_deps(root)
    rooms = rooms_of(root)
    yield from check_rooms(root, deps, rooms)
    allowed = allowed_deps(root)
    folders = set(allowed)
    for folder, found in sorted(deps.items()):
        where = f"{folder}/CMakeLists.txt:1"
        top = folder.split("/")[0]
        if top not in allowed:
            yield f"{where}: {folder} has no row in the table of docs/architecture.md"
            continue
        for dep in sorted(found - allowed[top] - {top}):
            yield f"{where}: DEPS {dep} is not allowed by docs/architecture.md"
    for folder in sorted(deps):
        top = folder.split("/")[0]
        apart = [other for other in deps if other.startswith(folder + "/")]
        may_include = deps[folder] & (allowed.get(top, set()) | {top})
        for path in sources(root, folder, apart):
            name = path.relative_to(root).as_posix()
            yield from check_file(path, name, top, may_include, folders, {} if "/" in folder else rooms)
    yield from check_trusted(root)
    for path in sources(root, "tests"):
        name = path.relative_to(root).as_posix()
        yield from check_file(path, name, "tests", None, folders, {})


def trusted_lines(root):
    """Prints the lines of code that the trusted programs consist of, by place."""
    for start, row in TRUSTED.items():
        reached = set(reached_from(root, start))
        for folder in ("base", "ir", "frontends"):  # libraries, linked as a whole
            reached |= {path.relative_to(root).as_posix() for path in sources(root, folder)}
        counts = {}
        for name in sorted(reached):
            place = next((p for p in row["may_reach"] if name.startswith(p)), name)
            files, lines = counts.get(place, (0, 0))
            counts[place] = (files + 1, lines + code_lines(root / name))
        for place in row["may_reach"]:
            files, lines = counts.get(place, (0, 0))
            print(f"{place:32} {files:4} files {lines:6} lines")
        total = sum(lines for _, lines in counts.values())
        own = sum(lines for place, (_, lines) in counts.items() if place in row["own"])
        print(f"{start}: {total} lines, of which {own} are its own part")


def main():
    if sys.argv[1:] == ["--trusted"]:
        return trusted_lines(pathlib.Path(__file__).parents[1])
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1])
    violations = list(check(root))
    for violation in violations:
        print(violation)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
