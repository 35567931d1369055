#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how hard the prose of the documentation is to read.

    scripts/check_prose.py [--list] [FILE.md ...]      README.md, NEWS.md and the pages of docs/ by default

Three habits make technical text hard to follow, and all three can be counted:

1. openings: sentences that begin with "What", "Who", "Where" or "Of". The subject is then a clause,
   and the reader meets the verb late. At most 2 in 100 sentences.
2. clauses: the words what, where, who, whose, whom, whatever and wherever. They often stand in place
   of the noun that names the thing. At most 6 in 100 sentences.
3. long: sentences of more than 35 words. At most 5 in 100 sentences.

A sentence ends at a full stop, a question mark or an exclamation mark that white space follows. A list
item and a table cell end one too; a cell of fewer than five words is a label and no sentence, although
its clauses count. Code blocks, headings, HTML comments, the rule below a table's header and the
targets of links are skipped. Inline code and addresses count as one word.

Prints one row per file and the total. Exits with 1 when the total, or a file of at least 20 sentences,
is over a goal (marked with *); --list then prints the sentences at fault, "file:line: text".
"""

import argparse
import dataclasses
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FEWEST_SENTENCES = 20   # shares of shorter files say little
FEWEST_CELL_WORDS = 5
LONGEST = 35            # words

ABBREVIATIONS = {"e.g.", "i.e.", "vs.", "cf.", "al.", "fig.", "sec.", "no.", "approx."}
OPENING = re.compile(r"\W*(what|who|where|of)\b", re.IGNORECASE)
CLAUSE = re.compile(r"\b(what|where|who|whom|whose|whatever|wherever)\b", re.IGNORECASE)
SENTENCE_END = re.compile(r"[.!?][\"')\]*]*(?=\s)")

FENCE = re.compile(r"\s*(```+|~~~+)")
LIST_ITEM = re.compile(r"(\s*)([-*+]|\d+[.)])(\s+)")
HEADING = re.compile(r" {0,3}#{1,6}(\s|$)")
LINK_DEFINITION = re.compile(r" {0,3}\[[^\]]+\]:\s")
CODE = "\ue000"         # stands for inline code: one word, and no letters that could match


@dataclasses.dataclass(frozen=True)
class Sentence:
    line: int
    text: str           # inline code and link targets removed
    source: str         # as written, on one line

    def words(self):
        return sum(1 for word in self.text.split() if re.search(rf"[\w{CODE}]", word))

    def clauses(self):
        return len(CLAUSE.findall(self.text))


@dataclasses.dataclass(frozen=True)
class Block:
    """A paragraph, a list item or a table cell: pieces of text with the line of each."""
    pieces: list        # of (line, text)
    is_cell: bool = False


@dataclasses.dataclass
class Figures:
    """Counts of one file, or of several: shares are in percent of the sentences."""
    sentences: int = 0
    openings: int = 0
    clauses: int = 0
    long: int = 0

    def add(self, other):
        for field in dataclasses.fields(self):
            name = field.name
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def share(self, measure):
        return 100 * getattr(self, measure) / self.sentences if self.sentences else 0.0


# Measure -> most per 100 sentences, and whether a sentence contributes to it.
GOALS = {
    "openings": (2, lambda sentence: bool(OPENING.match(sentence.text))),
    "clauses": (6, lambda sentence: sentence.clauses() > 0),
    "long": (5, lambda sentence: sentence.words() > LONGEST),
}


def without_comments(text):
    """HTML comments become spaces, so that line numbers stay. Code blocks keep theirs."""
    def blank(match):
        if match.group(1):
            return match.group()
        return re.sub(r"[^\n]", " ", match.group())
    return re.sub(r"(^```.*?^```|`[^`\n]+`)|<!--.*?-->", blank, text, flags=re.DOTALL | re.MULTILINE)


def blocks(text):
    """Yields the blocks of prose in a Markdown text."""
    open_fence = None
    after_blank = True      # an indented line after a blank one is code
    in_code = False
    margin = 0              # column where the text of the current list item begins
    pieces = []
    for number, line in enumerate(without_comments(text).splitlines(), 1):
        fence = FENCE.match(line)
        if open_fence:
            if fence and fence.group(1).startswith(open_fence):
                open_fence = None
            continue
        blank = not line.strip()
        indent = len(line) - len(line.lstrip())
        code = not blank and indent >= margin + 4 and (after_blank or in_code)
        if not blank and not code and indent < margin and after_blank:
            margin = 0
            code = indent >= 4
        item = LIST_ITEM.match(line) if not code else None
        table = line.lstrip().startswith("|")
        ends = (blank or code or fence or item or table or HEADING.match(line)
                or LINK_DEFINITION.match(line))
        if ends and pieces:
            yield Block(pieces)
            pieces = []
        if fence:
            open_fence = fence.group(1)
        elif item:
            margin = item.end()
            pieces = [(number, line[item.end():].strip())]
        elif table and not code:
            for cell in cells(line):  # the rule below a header has no words, and so no sentence
                yield Block([(number, cell)], is_cell=True)
        elif not ends:
            pieces.append((number, re.sub(r"^\s*(>\s?)+", "", line).strip()))
        if not blank:
            in_code = bool(code)
        after_blank = blank or bool(fence) or bool(HEADING.match(line))
    if pieces:
        yield Block(pieces)


def cells(row):
    """The cells of a table's row; a | in inline code or behind a backslash divides none."""
    masked = re.sub(r"`[^`]*`|\\\|", lambda match: "x" * len(match.group()), row.strip())
    bounds = [at for at, letter in enumerate(masked) if letter == "|"] + [len(masked)]
    found = [row.strip()[begin + 1:end].strip() for begin, end in zip(bounds, bounds[1:])]
    return [cell for cell in found if cell]


def plain(text):
    """The visible text of a sentence, with CODE for inline code and addresses."""
    text = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", CODE, text)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", " ", text)
    text = re.sub(r"\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])", r"\1", text)
    text = re.sub(r"<?https?://[^\s>)]+>?", CODE, text)
    return re.sub(r"(?<!\w)_+|_+(?!\w)|\*+", "", text)


def ends_a_sentence(text, end):
    if text[:end].endswith("..."):
        return text[end:].lstrip()[:1].isupper()
    word = text[:end].split()[-1].lstrip("(\"'")
    return word.lower() not in ABBREVIATIONS


def sentences(block):
    """Yields the sentences of a block. Inline code is masked first: its full stops end none."""
    text, starts = "", []
    for line, piece in block.pieces:
        starts.append((len(text), line))
        text += piece + " "
    masked = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)|\]\([^)]*\)",
                    lambda match: CODE * len(match.group()), text)
    begin = 0
    ends = [match.end() for match in SENTENCE_END.finditer(masked)
            if ends_a_sentence(masked, match.end())]
    for end in [*ends, len(text)]:
        source = text[begin:end]
        first = begin + len(source) - len(source.lstrip())
        if source.strip():
            line = max(entry for entry in starts if entry[0] <= first)[1]
            yield Sentence(line, plain(source.strip()), source.strip())
        begin = end


def measure(text):
    """The figures of a Markdown text, and for each measure the sentences that contribute to it."""
    figures, faults = Figures(), {name: [] for name in GOALS}
    for block in blocks(text):
        found = list(sentences(block))
        is_label = block.is_cell and sum(s.words() for s in found) < FEWEST_CELL_WORDS
        for sentence in found:
            figures.clauses += sentence.clauses()
            if not is_label and sentence.words():
                figures.sentences += 1
            for name, (_, contributes) in GOALS.items():
                if contributes(sentence) and not (is_label and name != "clauses"):
                    faults[name].append(sentence)
    figures.openings = len(faults["openings"])
    figures.long = len(faults["long"])
    return figures, faults


def excesses(figures, fewest=FEWEST_SENTENCES):
    """The measures that are over their goals."""
    if figures.sentences < fewest:
        return []
    return [name for name, (most, _) in GOALS.items() if figures.share(name) > most]


def row(name, width, figures, over):
    def share(measure_name):
        return f"{figures.share(measure_name):.1f}{'*' if measure_name in over else ' '}"
    return (f"{name:<{width}}  {figures.sentences:>9}  {share('openings'):>11}"
            f"  {share('clauses'):>11}  {share('long'):>7}")


def shown_name(path):
    try:
        return path.resolve().relative_to(ROOT).as_posix()
    except ValueError:
        return path.as_posix()


def main():
    parser = argparse.ArgumentParser(description="Measures how hard the prose of the docs is to read.")
    parser.add_argument("--list", action="store_true", help="print the sentences behind each excess")
    parser.add_argument("files", nargs="*", type=pathlib.Path, metavar="FILE.md")
    arguments = parser.parse_args()
    files = arguments.files or [ROOT / "README.md", ROOT / "NEWS.md", *sorted((ROOT / "docs").rglob("*.md"))]

    total, measured = Figures(), []
    for path in files:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            print(f"{path}: cannot be read: {error}", file=sys.stderr)
            return 2
        figures, faults = measure(text)
        total.add(figures)
        measured.append((shown_name(path), figures, faults))

    width = max(len("total"), *(len(name) for name, _, _ in measured))
    goals = {name: f"<= {most}" for name, (most, _) in GOALS.items()}
    print(f"{'per 100 sentences':<{width}}  {'sentences':>9}  {'openings':>10}   {'clauses':>10}   {'long':>6}")
    print(f"{'goal':<{width}}  {'':>9}  {goals['openings']:>10}   {goals['clauses']:>10}   {goals['long']:>6}")
    total_over = excesses(total, fewest=1)
    for name, figures, _ in measured:
        print(row(name, width, figures, excesses(figures)).rstrip())
    print(row("total", width, total, total_over).rstrip())

    failed = bool(total_over)
    for name, figures, faults in measured:
        over = excesses(figures)
        failed = failed or bool(over)
        for measure_name in GOALS if arguments.list else ():
            if measure_name not in over and measure_name not in total_over:
                continue
            if faults[measure_name]:
                print(f"\n{name}: {measure_name} {figures.share(measure_name):.1f}")
            for sentence in faults[measure_name]:
                print(f"{name}:{sentence.line}: {sentence.source}")
    if failed:
        named = [name for name, figures, _ in measured if excesses(figures)] or ["total"]
        print(f"over a goal: {', '.join(named)} (--list prints the sentences)", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
