#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the reference pages of the documentation, from the tables of the program.

    scripts/make_reference.py FOLDER

The program (EGRET, or build/release/bin/egret) prints its verbs with their options, operators, rules and
exit codes. The classes and functions of the Python package come from the text of python/egret/.
"""

import ast
import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_links  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python" / "egret"


def program():
    return os.environ.get("EGRET", str(ROOT / "build/release/bin/egret"))


def egret(*arguments):
    done = subprocess.run([program(), *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, "COLUMNS": "100"})
    if done.returncode != 0:
        raise SystemExit(f"egret {' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def cell(text):
    """Text in a table's cell."""
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))


def entries(lines):
    """(left, right) of the two columns of help: an entry begins after two blanks, and goes on further right."""
    found = []
    for line in lines:
        if re.match(r" {2}\S", line):
            left, _, right = line.strip().partition("  ")
            found.append([left, right.strip()])
        elif line.strip() and found:
            found[-1][1] += " " + line.strip()
    return found


def blocks(text):
    return [block.split("\n") for block in re.split(r"\n\n+", text.strip("\n"))]


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def inline(text):
    """Help as Markdown: what looks like HTML is not."""
    return text.replace("<", "&lt;") if "`" not in text else text


def verb_page(name, text):
    """A page from the help of a verb."""
    out = [f"# egret {name}\n"]
    for block in blocks(text):
        head = block[0]
        if head.startswith("usage: "):
            out.append("```\n" + head.removeprefix("usage: ") + "\n```\n")
        elif head == "Arguments:":
            out.append("## Arguments\n")
            out.append(table(["argument", "meaning"], [[f"`{a}`", cell(inline(b))] for a, b in entries(block[1:])]))
        elif head.startswith("Options ["):
            section = head.removeprefix("Options [").removesuffix("]:")
            out.append(f"## Options: {section}\n")
            rows = []
            for flag, meaning in entries(block[1:]):
                default = re.search(r"^(.*?)\s*\[([^\[\]]*)\]$", meaning)
                meaning, default = default.groups() if default else (meaning, "")
                rows.append([f"`{flag}`", cell(inline(meaning)), f"`{default}`" if default else ""])
            out.append(table(["option", "meaning", "default"], rows))
        else:
            out.append(" ".join(inline(line.strip()) for line in block) + "\n")
    return "\n".join(out)


def overview():
    """Verbs and environment of the list of verbs."""
    parts = {}
    for block in blocks(egret("help")):
        if block[0] in ("Verbs:", "Environment:"):
            parts[block[0].rstrip(":")] = entries(block[1:])
    return parts


def exit_codes_page():
    rows = [line.split(None, 1) for line in egret("help", "exit-codes").splitlines()]
    rows = [row for row in rows if len(row) == 2 and row[0].isdigit()]
    return ("# Exit codes\n\nAll verbs use these codes. `egret help exit-codes` prints them.\n\n"
            + table(["code", "meaning"], [[code, cell(meaning)] for code, meaning in rows]))


def environment_page(rows):
    return ("# Environment variables\n\n`egret help` prints them. Each option of a verb has a variable, too: its page "
            "shows the option, and the variable has the same name in capital letters.\n\n"
            + table(["variable", "meaning"], [[f"`{name}`", cell(inline(meaning))] for name, meaning in rows]))


def operators_page():
    """The definitions of all operators: `egret ops NAME` prints each."""
    names = [row["name"] for row in json.loads(egret("ops", "--json"))["operators"]]
    out = ["# Operators\n", f"Egret has {len(names)} operators. `egret ops` lists them, and `egret ops NAME` prints an "
           "entry of this page.\n"]
    for name in names:
        page = egret("ops", name).strip("\n")
        out.append(re.sub(r"^(#+) ", r"#\1 ", without_fences_changed(page), flags=re.MULTILINE) + "\n")
    return "\n".join(out)


def without_fences_changed(page):
    """Code lines that begin with # keep it: only headings outside of fences have a blank behind the mark."""
    inside = False
    lines = []
    for line in page.split("\n"):
        if line.startswith("```"):
            inside = not inside
        lines.append(("\u200b" if inside and line.startswith("#") else "") + line)
    return "\n".join(lines)


def onnx_page():
    return ("# ONNX operators\n\n`egret ops --markdown` prints this table. Other operators stay in a model as they are "
            "(see *Models as they come*).\n\n" + egret("ops", "--markdown"))


def language_page():
    text = egret("help", "rules")
    text = text[text.index("explains a verb.\n") + len("explains a verb.\n"):].strip("\n")
    return f"# Rule language, on one page\n\n`egret help rules` prints this page.\n\n```\n{text}\n```\n"


def rules_page():
    return ("# Rules\n\n`egret rules list` prints the rules that come with Egret, and `egret rules show NAME` "
            "prints one. The limit of a proof says beyond which ranks the rule does not run.\n\n"
            + table(["rule", "status", "limit", "file", "about"],
                    [[f"`{rule['name']}`", rule["status"], cell(inline(rule.get("limit", ""))), rule.get("file", ""),
                      cell(inline(rule.get("doc", "")))] for rule in json.loads(egret("rules", "list", "--json"))["rules"]]))


# The Python package


def public_names():
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            return [element.value for element in node.value.elts]
    raise SystemExit("python/egret/__init__.py has no __all__")


def definitions():
    """Name to definition and lines of its file, of all functions and classes of the package."""
    found = {}
    for path in sorted(PACKAGE.glob("*.py")):
        text = path.read_text()
        for node in ast.parse(text).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found.setdefault(node.name, (node, text.split("\n")))
    return found


def parameters(arguments):
    """The texts of the parameters, with the * before those that take names alone."""
    def one(argument, default=None):
        text = argument.arg + (f": {ast.unparse(argument.annotation)}" if argument.annotation else "")
        return text + (f" = {ast.unparse(default)}" if default is not None else "")

    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + arguments.defaults
    texts = [one(*pair) for pair in zip(positional, defaults) if pair[0].arg not in ("self", "cls")]
    if arguments.vararg:
        texts.append("*" + one(arguments.vararg))
    elif arguments.kwonlyargs:
        texts.append("*")
    texts += [one(*pair) for pair in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    return texts + (["**" + one(arguments.kwarg)] if arguments.kwarg else [])


def signature(node, name=None):
    texts = parameters(node.args)
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = f"{name or node.name}({', '.join(texts)}){returned}"
    if len(line) <= 90:
        return line
    return f"{name or node.name}(\n    " + ",\n    ".join(texts) + f",\n){returned}"


def documentation(node):
    """The docstring: its paragraphs, and lists of arguments and examples as they are."""
    text = ast.get_docstring(node)
    if not text:
        return ""
    out = []
    for block in re.split(r"\n\n+", text):
        lines = block.split("\n")
        plain = not any(re.match(r"\s|[a-z_]+(, [a-z_]+)*: ", line) for line in lines)
        out.append(inline(block) if plain else f"```text\n{textwrap.dedent(block)}\n```")
    return "\n\n".join(out) + "\n"


def is_decorated(node, name):
    return any(ast.unparse(decorator).split(".")[-1] == name for decorator in node.decorator_list)


def comment_of(node, lines):
    """The comment behind a field."""
    return lines[node.end_lineno - 1].partition("  # ")[2]


def shown_name(owner, method):
    """As the method is called: Rules(text), Rules.load(path), save(path)."""
    if method.name == "__init__":
        return owner.name
    return f"{owner.name}.{method.name}" if is_decorated(method, "classmethod") else method.name


def class_entry(node, lines):
    bases = [ast.unparse(base) for base in node.bases if ast.unparse(base) not in ("NamedTuple", "Protocol", "Exception")]
    out = [f"## {node.name}\n", f"Derived from `{'`, `'.join(bases)}`.\n" if bases else "", documentation(node)]
    members, methods = [], []
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and not one.target.id.startswith("_"):
            members.append([f"`{one.target.id}`", f"`{cell(ast.unparse(one.annotation))}`",
                            cell(inline(comment_of(one, lines)))])
        if not isinstance(one, ast.FunctionDef):
            continue
        described = ast.get_docstring(one)
        if is_decorated(one, "property") or is_decorated(one, "cached_property"):
            kind = f"`{ast.unparse(one.returns)}`" if one.returns else ""
            members.append([f"`{one.name}`", kind, cell(inline((described or "").split("\n\n")[0]))])
        elif not one.name.startswith("_") or (one.name == "__init__" and described):
            shown = signature(one, shown_name(node, one))
            methods.append(f"```python\n{shown}\n```\n\n{documentation(one)}")
    if members:
        out.append(table(["member", "type", "meaning"], members))
    return "\n".join(part for part in [*out, *methods] if part)


def python_page():
    known = definitions()
    out = ["# Python API\n", "The classes and functions of the package `egret`, from its docstrings. The options of "
           "`optimize` and `plan` are those of the verbs of the same names, with `_` for `-`.\n"]
    for name in public_names():
        if name not in known:
            continue  # a module, or a value
        node, lines = known[name]
        if isinstance(node, ast.ClassDef):
            out.append(class_entry(node, lines))
        else:
            out.append(f"## {name}\n\n```python\n{signature(node)}\n```\n\n{documentation(node)}")
    return "\n".join(out)


def linked(name, text):
    """The text with links in place of pages that it names: docs/costs.md."""
    up = "../" * (name.count("/") + 1)
    parts, end = [], 0
    for match in re.finditer(r"docs/(\w+)\.md", check_links.without_code(text)):
        if (ROOT / match.group()).exists():
            parts += [text[end:match.start()], f"[{match.group()}]({up}{match.group(1)}.md)"]
            end = match.end()
    return "".join([*parts, text[end:]])


def pages():
    """Yields (name, text) of all reference pages."""
    parts = overview()
    for name, _ in parts["Verbs"]:
        yield f"verbs/{name.replace(' ', '_')}.md", verb_page(name, egret("help", *name.split()))
    yield "environment.md", environment_page(parts["Environment"])
    yield "exit_codes.md", exit_codes_page()
    yield "onnx.md", onnx_page()
    yield "operators.md", operators_page()
    yield "python_api.md", python_page()
    yield "rule_language.md", language_page()
    yield "rules.md", rules_page()


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        raise SystemExit(__doc__)
    if not os.access(program(), os.X_OK):
        raise SystemExit(f"{program()} is missing; build it (cmake --build build/release), or set EGRET")
    folder = pathlib.Path(sys.argv[1])
    written = set()
    for name, text in pages():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(linked(name, text).rstrip("\n") + "\n")
        written.add(path)
    for path in folder.rglob("*.md"):
        if path not in written:
            path.unlink()
    print(f"{len(written)} reference pages")


if __name__ == "__main__":
    main()
