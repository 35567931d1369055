#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the links of the documentation, without a network.

    scripts/check_links.py [FILE.md ...]     by default README, NEWS, CONTRIBUTING, docs/ and experiments/

A relative link must name a file or a folder of the repository. A part behind # must be a heading of
that page, spelled as GitHub spells it, or an HTML anchor. A picture needs a text that describes it.
Addresses with a scheme (https:) are not opened. Code blocks and inline code contain no links.

Inline code that names a source file by its path (`rules/records/rule_limit.h`) must name one that
exists. The path begins with a folder of the root and ends in one of SOURCES. Capital letters stand for
any name (`tools/verbs/NAME.cc`) and are not checked. Pages of experiments may name files of earlier
versions.

Prints "file:line: fault" for each fault, and exits with 1 if there are any.
"""

import pathlib
import re
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCES = (".cc", ".h", ".cu", ".py", ".sh", ".def", ".rules", ".md", ".laws", ".toml", ".cmake")

FENCE = re.compile(r"\s*(```+|~~~+)")
HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
INLINE_CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
# A picture's mark, the text (which may hold a picture, and may break once at each line), the target.
LINK = re.compile(r"(!?)\[((?:[^\[\]\n]|\n(?!\s*\n)|!\[[^\]]*\]\([^)]*\)|\[[^\]]*\])*)\]"
                  r"\(\s*<?([^)\s>]*)>?(?:\s+\"[^\"]*\")?\s*\)")
DEFINITION = re.compile(r"^ {0,3}\[[^\]]+\]:\s+(\S+)", re.MULTILINE)
ANCHOR = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"|\{\s*#([\w-]+)\s*\}")
PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)+")
PLACEHOLDER = re.compile(r"(?:^|[/_])[A-Z]{4,}(?:[/_.]|$)")


def blank(text):
    """As long as the text, with the same line ends, and without its letters."""
    return re.sub(r"[^\n]", " ", text)


def prose(text):
    """The text with blanks in place of code blocks and HTML comments; each character keeps its place."""
    text = re.sub(r"<!--.*?-->", lambda match: blank(match.group()), text, flags=re.DOTALL)
    lines = []
    open_fence = None
    after_blank, in_code = True, False
    for line in text.split("\n"):
        fence = FENCE.match(line)
        if open_fence or fence:
            if open_fence and fence and fence.group(1).startswith(open_fence):
                open_fence = None
            elif not open_fence:
                open_fence = fence.group(1)
            lines.append(blank(line))
            continue
        indented = line.startswith("    ") and not re.match(r"\s*([-*+]|\d+[.)])\s", line)
        in_code = indented and (after_blank or in_code)
        after_blank = not line.strip()
        lines.append(blank(line) if in_code else line)
    return "\n".join(lines)


def slug(heading):
    """The anchor that GitHub gives to a heading, without the number that tells equal ones apart."""
    heading = LINK.sub(lambda match: match.group(2), heading)
    heading = re.sub(r"[`*]|(?<!\w)_|_(?!\w)", "", heading)
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(text):
    """All anchors of a page."""
    found, seen = set(), {}
    for line in prose(text).split("\n"):
        found.update(one or other for one, other in ANCHOR.findall(line))
        heading = HEADING.match(line)
        if not heading:
            continue
        name = slug(heading.group(2))
        count = seen.get(name, 0)
        seen[name] = count + 1
        found.add(f"{name}-{count}" if count else name)
    return found


def without_code(text):
    """The prose with blanks in place of inline code, too."""
    return INLINE_CODE.sub(lambda match: "x" * len(match.group()), prose(text))


def links(text):
    """Yields (line, target, is a picture, text) of the links of a page."""
    visible = without_code(text)
    for match in LINK.finditer(visible):
        picture, label, target = match.groups()
        line = visible.count("\n", 0, match.start()) + 1
        yield line, target, bool(picture), label
        for inner in LINK.finditer(label):  # a picture that is a link
            yield line, inner.group(3), True, inner.group(2)
    for match in DEFINITION.finditer(visible):
        yield visible.count("\n", 0, match.start()) + 1, match.group(1), False, ""


def named_paths(text, folders):
    """Yields (line, path) of the source files that inline code names."""
    for number, line in enumerate(prose(text).split("\n"), 1):
        for _, code in INLINE_CODE.findall(line):
            is_source = PATH.fullmatch(code) and code.split("/")[0] in folders and code.endswith(SOURCES)
            if is_source and not PLACEHOLDER.search(code):
                yield number, code


class Checker:
    def __init__(self, root=ROOT):
        self.root = root
        self.folders = {path.name for path in root.iterdir() if path.is_dir() and path.name != "build"}
        self.anchors = {}  # page -> its anchors

    def anchors_of(self, page):
        if page not in self.anchors:
            self.anchors[page] = anchors(page.read_text(encoding="utf-8"))
        return self.anchors[page]

    def fault_of(self, page, target):
        """The reason that a link of the page is broken, or None."""
        if re.match(r"[a-zA-Z][\w+.-]*:", target):
            return None
        path, _, part = target.partition("#")
        path = urllib.parse.unquote(path)
        if path.startswith("/"):
            return f"{target}: a link must be relative"
        goal = (page.parent / path).resolve() if path else page
        if path and not goal.is_relative_to(self.root.resolve()):
            return f"{target}: leads out of the repository"
        if not goal.exists():
            return f"{target}: no such file"
        if part and goal.suffix == ".md" and part not in self.anchors_of(goal):
            return f"{target}: no such heading"
        return None

    def faults(self, page):
        """Yields (line, fault) of a page."""
        text = page.read_text(encoding="utf-8")
        for line, target, is_picture, label in links(text):
            fault = self.fault_of(page, target)
            if fault:
                yield line, fault
            if is_picture and not label.strip():
                yield line, f"{target}: a picture needs a description"
        is_record = self.root / "experiments" in page.parents
        for line, path in [] if is_record else named_paths(text, self.folders):
            if not (self.root / path).exists():
                yield line, f"`{path}`: no such file"


def default_pages(root=ROOT):
    pages = [root / name for name in ("README.md", "NEWS.md", "CONTRIBUTING.md")]
    pages += sorted((root / "docs").rglob("*.md"))
    pages += sorted(path for path in (root / "experiments").rglob("*.md") if "unfinished" not in path.parts)
    return pages


def main():
    names = sys.argv[1:]
    if any(name.startswith("-") for name in names):
        raise SystemExit(__doc__)
    checker = Checker()
    count = pages = 0
    for page in [pathlib.Path(name).resolve() for name in names] or default_pages():
        pages += 1
        for line, fault in sorted(checker.faults(page)):
            name = page.relative_to(ROOT) if page.is_relative_to(ROOT) else page
            print(f"{name}:{line}: {fault}")
            count += 1
    print(f"{pages} pages, {count} faults")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
