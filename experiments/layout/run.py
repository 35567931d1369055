# SPDX-License-Identifier: Apache-2.0
"""The source layout of the working tree, beside that of earlier commits: rooms, includes, classes, documents."""
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

from lib import results, settings

import layout

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
COLUMNS = ["tree", "folder", "rooms", "files", "largest_room", "includes", "crossing", "cycles", "lines", "class_lines",
           "longest_class", "class_file", "header_lines", "longest_header", "comment_share", "documents",
           "documents_over"]
NOW = "working tree"


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, check=False)


def revision():
    """The commit of the working tree; "with changes" when sources or documents differ from it."""
    found = git("rev-parse", "--short=12", "HEAD")
    if found.returncode != 0:
        return "unknown"
    changed = git("status", "--porcelain", "--", *layout.FOLDERS, "docs", "README.md", "NEWS.md").stdout.strip()
    return found.stdout.decode().strip() + (" with changes" if changed else "")


def check_prose():
    """scripts/check_prose.py as a module. All trees are measured by the working tree's."""
    spec = importlib.util.spec_from_file_location("check_prose", ROOT / "scripts" / "check_prose.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


def of_commit(commit, prose):
    """Rows of the commit, or None when this clone does not hold it."""
    archive = git("archive", "--format=tar", commit)
    if archive.returncode != 0:
        print(f"skipped: commit {commit} is not in this clone")
        return None
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        return layout.of_tree(pathlib.Path(folder), prose)


def markdown(titles, rows):
    print("| " + " | ".join(titles) + " |")
    print("|" + "---|" + "---:|" * (len(titles) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def print_tables(trees):
    """trees: name -> rows. Values of several trees stand in one cell, in the order of the trees."""
    by_folder = {name: {row["folder"]: row for row in rows} for name, rows in trees.items()}

    def joined(folder, show):
        cells = [show(rows[folder]) if folder in rows else "--" for rows in by_folder.values()]
        return " → ".join(cells)

    def crossing(row):
        return f"{row['crossing'] / row['includes']:.0%}" if row["includes"] else "--"

    def number(column):
        return lambda row: f"{row[column]:,}"

    shown = [("rooms", number("rooms")), ("files", number("files")), ("largest room", number("largest_room")),
             ("includes inside", number("includes")), ("across rooms", crossing), ("cycles", number("cycles")),
             ("lines", number("lines"))]
    print(f"\nEach cell: {' → '.join(trees)}.\n")
    folders = [folder for folder in [*layout.FOLDERS, "all"] if any(folder in rows for rows in by_folder.values())]
    markdown(["folder", *(title for title, _ in shown)],
             [[f"`{folder}/`" if folder != "all" else folder, *(joined(folder, show) for _, show in shown)]
              for folder in folders])

    whole = [("longest class, lines", lambda row: f"{row['class_lines']} (`{row['longest_class']}`)"),
             ("its file", lambda row: f"`{row['class_file']}`"),
             ("longest header, lines", lambda row: f"{row['header_lines']} (`{row['longest_header']}`)"),
             ("comment lines of `.cc` files", lambda row: f"{float(row['comment_share']):.1%}"),
             ("documents over the prose goals", lambda row: f"{row['documents_over']} of {row['documents']}")]
    markdown(["whole tree", *trees],
             [[title, *(show(rows["all"]) for rows in by_folder.values())] for title, show in whole])


def main():
    mode, forms = settings.read(__doc__, HERE)
    prose = check_prose()
    trees = {commit: rows for commit in forms[mode]["before"] if (rows := of_commit(commit, prose))}
    trees[NOW] = layout.of_tree(ROOT, prose)

    table = results.Table("layout", mode, COLUMNS, ["tree", "folder"], {"revision": revision()}, of_host=False)
    table.rows.clear()  # the working tree may have changed since an interrupted run
    for name, rows in trees.items():
        for row in rows:
            table.add(tree=name, **row)
    table.finish()
    print_tables(trees)

    whole = trees[NOW][-1]
    return results.judge(HERE / "expected.json", mode, {
        name: whole[name] for name in ("cycles", "largest_room", "class_lines", "documents_over")})


if __name__ == "__main__":
    sys.exit(main())
