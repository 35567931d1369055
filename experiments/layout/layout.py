# SPDX-License-Identifier: Apache-2.0
"""Measures the source layout of a tree: rooms, includes between them, and the longest classes and headers."""
import dataclasses
import pathlib
import re

FOLDERS = ["base", "ir", "egraph", "verifier", "cost", "rules", "extract", "parallel", "backends", "frontends",
           "runtime", "zoo", "driver", "tools"]
SOURCES = {".h", ".cc", ".cu"}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
CLASS_HEAD = re.compile(r"(?:class|struct)\s+(?:alignas\([^)]*\)\s*|\[\[[^\]]*\]\]\s*)*(\w+)")


@dataclasses.dataclass(frozen=True)
class Source:
    name: str  # from the root of the tree
    text: str

    @property
    def room(self):
        return self.name.rsplit("/", 1)[0]

    def lines(self):
        return self.text.splitlines()


def sources(root, folder):
    paths = sorted(path for path in (root / folder).rglob("*") if path.suffix in SOURCES)
    return [Source(path.relative_to(root).as_posix(), path.read_text(errors="replace")) for path in paths]


def inner_includes(files, folder):
    """(room, included room) for each include of a file in the same folder. Generated headers have no room."""
    return [(file.room, header.rsplit("/", 1)[0]) for file in files for header in INCLUDE.findall(file.text)
            if header.startswith(folder + "/") and not header.endswith(".pb.h")]


def cycles(includes):
    """The strongly connected components with more than one room, each as a sorted tuple."""
    edges = {}
    for room, other in includes:
        edges.setdefault(room, set()).add(other)

    def reached(start):
        found, pending = set(), [start]
        while pending:
            for other in edges.get(pending.pop(), set()) - found:
                found.add(other)
                pending.append(other)
        return found

    reach = {room: reached(room) for room in edges}
    components = {tuple(sorted({room} | {other for other in reach[room] if room in reach.get(other, ())}))
                  for room in edges}
    return sorted(component for component in components if len(component) > 1)


def classes(file):
    """(lines, name) of each class that begins and ends at column 0."""
    lines = file.lines()
    for begin, line in enumerate(lines):
        head = CLASS_HEAD.match(line)
        if not head:
            continue
        # A head may take several lines; a semicolon before the brace makes it a declaration.
        opening = next((at for at in range(begin, len(lines)) if re.search(r"[{;]", lines[at])), None)
        if opening is None or ";" in lines[opening].split("{")[0] or "}" in lines[opening]:
            continue
        end = next((at for at in range(opening + 1, len(lines)) if lines[at].startswith("}")), None)
        if end is not None:
            yield end - begin + 1, head.group(1)


def of_folder(files, folder):
    rooms = [file.room for file in files]
    includes = inner_includes(files, folder)
    return {"folder": folder,
            "rooms": len(set(rooms) - {folder}),
            "files": len(files),
            "largest_room": max(rooms.count(room) for room in rooms),
            "includes": len(includes),
            "crossing": sum(room != other for room, other in includes),
            "cycles": len(cycles(includes)),
            "lines": sum(len(file.lines()) for file in files)}


def of_tree(root, prose):
    """One row for each folder that the tree has, and the row "all". prose: the module scripts/check_prose.py."""
    by_folder = {folder: found for folder in FOLDERS if (found := sources(root, folder))}
    rows = [of_folder(files, folder) for folder, files in by_folder.items()]
    files = [file for found in by_folder.values() for file in found]
    total = {column: sum(row[column] for row in rows)
             for column in ("rooms", "files", "includes", "crossing", "cycles", "lines")}

    class_lines, class_name, class_file = max((lines, name, file.name) for file in files for lines, name in classes(file))
    header = max((file for file in files if file.name.endswith(".h")), key=lambda file: len(file.lines()))
    code = [line.strip() for file in files if file.name.endswith(".cc") for line in file.lines()]
    documents = [path for path in (root / "README.md", root / "NEWS.md", *sorted((root / "docs").glob("*.md")))
                 if path.exists()]
    over = [path for path in documents if prose.excesses(prose.measure(path.read_text())[0])]
    return [*rows, {"folder": "all", **total, "largest_room": max(row["largest_room"] for row in rows),
                    "class_lines": class_lines, "longest_class": class_name, "class_file": class_file,
                    "header_lines": len(header.lines()), "longest_header": header.name,
                    "comment_share": f"{sum(line.startswith('//') for line in code) / len(code):.4f}",
                    "documents": len(documents), "documents_over": len(over)}]
