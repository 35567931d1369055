#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a test program of the C++ blocks of a Markdown page, so that a page cannot go stale.

    scripts/extract_examples.py PAGE.md OUTPUT.cc SUITE

Each section (## heading) with ```cpp blocks becomes TEST(SUITE, Heading): its blocks in order are
the body, so later ones may use what earlier ones declare. A block after the line `<!-- file -->`
(function and class definitions) stands before all tests instead. #include lines go to the top.
Compilers and failing assertions name lines of the page.
"""

import pathlib
import re
import sys

FILE_SCOPE = "<!-- file -->"


def blocks(lines):
    """Yields (heading, at file scope, number of the first line, lines) of each block."""
    heading, scope, start, body = "", False, None, []
    for number, line in enumerate(lines, 1):
        if start is not None:
            if line.strip() == "```":
                yield heading, scope, start, body
                scope, start, body = False, None, []
            else:
                body.append(line)
        elif line.startswith("## "):
            heading = line[3:].strip()
        elif line.strip() == FILE_SCOPE:
            scope = True
        elif line.strip() == "```cpp":
            start = number + 1
    if start is not None:
        raise SystemExit(f"line {start - 1}: the block is not closed")


def camel_case(heading):
    return "".join(word[:1].upper() + word[1:] for word in re.findall(r"[A-Za-z0-9]+", heading))


def program(page, suite):
    name = page.as_posix()
    includes, definitions, tests = [], [], {}
    for heading, at_file_scope, start, body in blocks(page.read_text().splitlines()):
        code = []
        for offset, line in enumerate(body):
            if line.startswith("#include"):
                includes.append(line)
                line = ""
            code.append(line)
        part = [f'#line {start} "{name}"', *code]
        if at_file_scope:
            definitions += part
        else:
            tests.setdefault(heading, []).extend(part)
    out = [f"// Generated from {page.name} by scripts/extract_examples.py.", "#include <gtest/gtest.h>"]
    out += sorted(set(includes))
    out += definitions
    out += ["namespace {", "using namespace egret;", "using namespace egret::egraph;"]
    for heading, code in tests.items():
        out += [f"TEST({suite}, {camel_case(heading)}) {{", *code, "}"]
    return "\n".join([*out, "}  // namespace", ""])


def main():
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    page, output, suite = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    output.write_text(program(page, suite))


if __name__ == "__main__":
    main()
