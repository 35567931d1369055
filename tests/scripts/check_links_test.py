#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/check_links.py accepts this repository and finds each kind of broken link."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
import check_links  # noqa: E402


class Links(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve() / "repository"
        self.put("docs/other.md", "# The other page\n\n## `plan` and its files\n\n## Twice\n\n## Twice\n")
        self.put("rules/rule.h", "")

    def put(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def faults(self, text, name="docs/page.md"):
        page = self.put(name, text)
        return [fault for _, fault in check_links.Checker(self.root).faults(page)]

    def expect_fault(self, text, part, **options):
        faults = self.faults(text, **options)
        self.assertEqual(len(faults), 1, faults)
        self.assertIn(part, faults[0])

    def test_files_folders_and_addresses_are_links(self):
        self.assertEqual(self.faults("[a](other.md), [b](../rules) and [c](https://no.such.host/x)\n"), [])

    def test_a_missing_file_is_a_fault_with_its_line(self):
        page = self.put("docs/page.md", "# Title\n\n[a](others.md)\n")
        self.assertEqual(list(check_links.Checker(self.root).faults(page)), [(3, "others.md: no such file")])

    def test_headings_are_spelled_as_on_github(self):
        self.assertEqual(self.faults("[a](other.md#plan-and-its-files) [b](other.md#twice) [c](other.md#twice-1)\n"), [])
        self.expect_fault("[a](other.md#twice-2)\n", "no such heading")
        self.expect_fault("[a](#below)\n\n## Bellow\n", "#below: no such heading")

    def test_a_heading_may_contain_a_link(self):
        self.assertEqual(self.faults("[a](#see-the-other)\n\n## See [the other](other.md)\n"), [])

    def test_html_anchors_count(self):
        self.assertEqual(self.faults('[a](#here)\n\n<a id="here"></a>\n'), [])

    def test_links_stay_in_the_repository(self):
        self.put("../outside.md", "")
        self.expect_fault("[a](../../outside.md)\n", "leads out of the repository")
        self.expect_fault("[a](/docs/other.md)\n", "must be relative")

    def test_code_contains_no_links(self):
        self.assertEqual(self.faults("`[a](x.md)`\n\n```\n[b](x.md)\n```\n\n    [c](x.md)\n"), [])

    def test_indented_items_of_lists_contain_links(self):
        self.expect_fault("- item\n\n    - [a](x.md)\n", "no such file")

    def test_the_text_of_a_link_may_continue_on_the_next_line(self):
        page = self.put("docs/page.md", "One\ntwo [three\nfour](x.md).\n\n[no\n\nlink](y.md)\n")
        self.assertEqual(list(check_links.Checker(self.root).faults(page)), [(2, "x.md: no such file")])

    def test_definitions_are_links(self):
        self.expect_fault("[a][one]\n\n[one]: x.md\n", "no such file")

    def test_pictures_exist_and_have_descriptions(self):
        self.put("docs/images/a.svg", "<svg/>")
        self.assertEqual(self.faults("![an e-graph](images/a.svg)\n"), [])
        self.expect_fault("![](images/a.svg)\n", "needs a description")
        self.expect_fault("[![an e-graph](images/b.svg)](other.md)\n", "no such file")

    def test_named_source_files_exist(self):
        self.assertEqual(self.faults("`rules/rule.h`, `rules/NAME.cc` and `made/elsewhere.cc`\n"), [])
        self.expect_fault("`rules/rules.h`\n", "no such file")
        self.assertEqual(self.faults("`rules/rules.h`\n", name="experiments/a/README.md"), [])


class Program(unittest.TestCase):
    def run_on(self, *pages):
        script = ROOT / "scripts" / "check_links.py"
        return subprocess.run([sys.executable, str(script), *map(str, pages)], capture_output=True, text=True)

    def test_the_repository_has_no_broken_link(self):
        done = self.run_on()
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_broken_link_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            page.write_text("[a](#nowhere)\n")
            done = self.run_on(page)
        self.assertEqual(done.returncode, 1)
        self.assertIn("page.md:1: #nowhere: no such heading", done.stdout)

    def test_the_page_of_experiments_lists_them_all(self):
        page = (ROOT / "experiments/README.md").read_text()
        for script in (ROOT / "experiments").glob("*/run.py"):
            self.assertIn(f"({script.parent.name}/README.md)", page)

    def test_pages_are_found_in_all_folders(self):
        names = {path.relative_to(ROOT).as_posix() for path in check_links.default_pages()}
        self.assertIn("README.md", names)
        self.assertIn("docs/architecture.md", names)
        self.assertIn("experiments/inference-cpu/README.md", names)


if __name__ == "__main__":
    unittest.main()
