#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the commands in the documentation exist: verbs, their subcommands and their options.

    scripts/check_commands.py [FILE.md ...]      by default the pages of scripts/check_links.py, without NEWS

A command is inline code or a line of a code block that begins with `egret`; what starts it (mpirun, variables,
a path) may stand before. Its verb must be one of `egret help`, and its options those of `egret help VERB`.
Inline code that begins with -- must be an option of some verb, or of OTHERS (but pages of experiments may name
options of their scripts). Words in capital letters stand for
anything. The program is EGRET, or build/release/bin/egret.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_links  # noqa: E402
import make_reference  # noqa: E402

# Options of other programs that pages name alone.
OTHERS = {"--allow-run-as-root", "--oversubscribe", "--timeout", "--preset", "--try", "--portable", "--full", "--smoke", "--component",
          "--plots", "--check", "--peers", "--cuda", "--list", "--list-tests", "--workload", "--help", "--serve"}

START = re.compile(r"(?:^|[|;&(]\s*)(?:[A-Z_]+=\S+\s+|\S*/)*(?:mpirun\s+(?:-\S+\s+\S+\s+)*(?:\S*/)?)?egret\s+(?=[a-z])")
END = re.compile(r"\s#|\s?[|;<>]|\s&&|`|\s\.\.\.$|\)$")
FENCED = re.compile(r"^(`{3,})(?P<language>[\w+-]*)[^\n]*\n(?P<body>.*?)^\1$", re.MULTILINE | re.DOTALL)


def fragments(text):
    """Yields (line, code) of inline code and of the lines of code blocks, with continued lines joined."""
    for match in FENCED.finditer(text):
        if match["language"] in ("", "sh", "console"):
            first = text.count("\n", 0, match.start("body")) + 1
            body = re.sub(r"\\\n\s*", lambda m: " " * len(m.group()), match["body"])
            for number, line in enumerate(body.split("\n"), first):
                yield number, line
    outside = FENCED.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    for number, line in enumerate(outside.split("\n"), 1):
        if line.startswith("    ") and not re.match(r"\s*([-*+]|\d+[.)])\s", line):
            yield number, line.strip()
    for match in check_links.INLINE_CODE.finditer(outside):
        yield outside.count("\n", 0, match.start()) + 1, match.group(2)


class Program:
    """Verbs with their options."""

    def __init__(self, pages):
        """pages: verb to its help."""
        self.options = {}
        for verb, text in pages.items():
            flags = set(re.findall(r"^ {2}(?:-\w, )?--(\S+?)(?:[ =]|$)", text, re.MULTILINE))
            switches = {flag.removeprefix("[no-]") for flag in flags}
            self.options[verb] = switches | {f"no-{flag}" for flag in switches} | {"help"}
        self.groups = {verb.split()[0] for verb in self.options if " " in verb}

    @classmethod
    def installed(cls):
        verbs = [name for name, _ in make_reference.overview()["Verbs"]]
        return cls({verb: make_reference.egret("help", *verb.split()) for verb in verbs})

    def has_option(self, flag):
        return any(flag in options for options in self.options.values())

    def fault_of(self, words):
        """The reason that this command is none; words: those after `egret`."""
        if words[0] in self.groups and len(words) > 1 and " ".join(words[:2]) in self.options:
            verb, rest = " ".join(words[:2]), words[2:]
        elif words[0] in self.options:
            verb, rest = words[0], words[1:]
        elif words[0] in self.groups:
            shown = len(words) == 1 or not re.fullmatch(r"[a-z]+", words[1])
            return None if shown else f"egret {' '.join(words[:2])}: no such verb"
        else:
            return f"egret {words[0]}: no such verb"
        for word in rest:
            flag = re.match(r"--([a-z][\w-]*)", word)
            if flag and flag.group(1) not in self.options[verb]:
                return f"egret {verb}: no option --{flag.group(1)}"
        return None

    def faults(self, text, alone=True):
        """Yields (line, fault). alone: options without a command are checked, too."""
        for line, code in fragments(text):
            found = False
            for start in START.finditer(code):
                found = True
                unquoted = re.sub(r"'[^']*'|\"[^\"]*\"", "''", code[start.end():])  # may be other commands
                words = END.split(unquoted, maxsplit=1)[0].split()
                fault = self.fault_of(words) if words else None
                if fault:
                    yield line, fault
            flag = re.match(r"(--)([a-z][\w-]*)", code)
            if alone and not found and flag and not self.has_option(flag.group(2)) and flag.group() not in OTHERS:
                yield line, f"{flag.group()}: no verb has this option"


def main():
    if any(name.startswith("-") for name in sys.argv[1:]):
        raise SystemExit(__doc__)
    pages = [pathlib.Path(name).resolve() for name in sys.argv[1:]]
    pages = pages or [page for page in check_links.default_pages() if page.name != "NEWS.md"]
    program = Program.installed()
    count = 0
    for page in pages:
        for line, fault in sorted(set(program.faults(page.read_text(encoding="utf-8"), "experiments" not in page.parts))):
            name = page.relative_to(check_links.ROOT) if page.is_relative_to(check_links.ROOT) else page
            print(f"{name}:{line}: {fault}")
            count += 1
    print(f"{len(pages)} pages, {count} faults")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
