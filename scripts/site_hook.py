# SPDX-License-Identifier: Apache-2.0
"""A hook of mkdocs.yml: pages and pictures of the site that are not in docs/.

- The reference pages that scripts/make_reference.py wrote into build/reference.
- NEWS.md, CONTRIBUTING.md and the pages of experiments/ with their pictures and tables.

Pages link to each other as on GitHub, by paths in the repository. This hook turns such a link into one
between pages of the site. A link to a file that is no page (a header, a folder) becomes plain text, because
the site does not hold the sources. A link to nothing stays as it is, and MkDocs reports it.
"""

import pathlib
import posixpath
import re
import sys

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "build" / "reference"
sys.path.insert(0, str(ROOT / "scripts"))
import check_links  # noqa: E402

SINGLE = {"README.md": "index.md", "NEWS.md": "news.md", "CONTRIBUTING.md": "contributing.md"}
KEPT = {".md", ".svg", ".png", ".csv"}


def repository_paths():
    """Paths in the repository of the files outside of docs/ that the site holds."""
    yield from ("NEWS.md", "CONTRIBUTING.md")
    for path in sorted((ROOT / "experiments").rglob("*")):
        shown = path.suffix in KEPT and not path.name.startswith("smoke.") and "unfinished" not in path.parts
        if shown and path.is_file():
            yield path.relative_to(ROOT).as_posix()


def site_path(path):
    """The place in the site of a file of the repository."""
    if path in SINGLE:
        return SINGLE[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return path.removesuffix("README.md") + "index.md" if path.endswith("/README.md") else path


def title_of(page):
    return check_links.LINK.sub(r"\2", page.read_text().split("\n", 1)[0].lstrip("# ")).replace("`", "")


def filled(nav):
    """The navigation with the generated parts in the place of their marks."""
    if isinstance(nav, dict):
        return {name: filled(value) for name, value in nav.items()}
    if not isinstance(nav, list):
        return nav
    items = []
    for item in nav:
        if item == "reference/...":
            items += reference_nav()
        elif item == "experiments/...":
            pages = sorted(path for path in repository_paths()
                           if path.endswith(".md") and path.startswith("experiments/") and path.count("/") > 1)
            items += [{title_of(ROOT / path): site_path(path)} for path in pages]
        else:
            items.append(filled(item))
    return items


def reference_nav():
    single = sorted(REFERENCE.glob("*.md"))
    items = [{title_of(page): f"reference/{page.name}"} for page in single]
    verbs = sorted((REFERENCE / "verbs").glob("*.md"))
    return [{"Verbs": [{title_of(page): f"reference/verbs/{page.name}"} for page in verbs]}, *items]


def on_config(config):
    if not REFERENCE.is_dir():
        raise SystemExit("build/reference is missing; run scripts/build_docs.sh")
    config.nav = filled(config.nav)
    return config


def on_files(files, config):
    for path in repository_paths():
        files.append(File.generated(config, site_path(path), abs_src_path=str(ROOT / path)))
    for page in sorted(REFERENCE.rglob("*.md")):
        name = page.relative_to(REFERENCE).as_posix()
        files.append(File.generated(config, f"reference/{name}", abs_src_path=str(page)))
    return files


def source_of(page):
    """The path in the repository of a page, or None for a generated one."""
    path = pathlib.Path(page.file.abs_src_path)
    return None if path.is_relative_to(ROOT / "build") else path.relative_to(ROOT).as_posix()


def place_of(target, source, uri, files):
    """The link from the page at uri to the target of a link in the source; None for a file without a page."""
    path, mark, part = target.partition("#")
    goal = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    for place in (site_path(goal), site_path(goal + "/README.md")):
        if files.get_file_from_path(place) is not None:
            return posixpath.relpath(place, posixpath.dirname(uri) or ".") + mark + part
    return None if (ROOT / goal).exists() else target


def on_page_markdown(markdown, page, config, files):
    source = source_of(page)
    if source is None:
        return markdown
    parts, end = [], 0
    for link in check_links.LINK.finditer(check_links.without_code(markdown)):
        target = link.group(3)
        if target.startswith("#") or re.match(r"[a-zA-Z][\w+.-]*:", target):
            continue
        place = place_of(target, source, page.file.src_uri, files)
        if place is None:
            parts += [markdown[end:link.start()], markdown[link.start(2):link.end(2)]]
        else:
            parts += [markdown[end:link.start(3)], place, markdown[link.end(3):link.end()]]
        end = link.end()
    return "".join([*parts, markdown[end:]])
