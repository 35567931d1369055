#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/make_reference.py turns help and docstrings into pages, and misses no option and no name."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
import make_reference  # noqa: E402

HELP = """usage: egret stir [OPTIONS] POT

Stir a pot.

More of it, for
<two> lines.

Arguments:
  POT                       The pot

Options [stir]:
  -s, --speed=TIME          Time of a turn; at least 1
                            ms | or more [2s]
  --a-flag-that-is-quite-long=FILE
                            A file
  --[no-]lid                Keep the lid on [true]

TIME is a number.
"""


class Verbs(unittest.TestCase):
    def setUp(self):
        self.page = make_reference.verb_page("stir", HELP)

    def test_usage_and_text(self):
        self.assertTrue(self.page.startswith("# egret stir\n\n```\negret stir [OPTIONS] POT\n```\n"))
        self.assertIn("More of it, for &lt;two> lines.\n", self.page)
        self.assertIn("TIME is a number.\n", self.page)

    def test_options_are_rows_with_their_defaults(self):
        self.assertIn("## Options: stir\n", self.page)
        self.assertIn("| `-s, --speed=TIME` | Time of a turn; at least 1 ms \\| or more | `2s` |\n", self.page)
        self.assertIn("| `--a-flag-that-is-quite-long=FILE` | A file |  |\n", self.page)
        self.assertIn("| `--[no-]lid` | Keep the lid on | `true` |\n", self.page)

    def test_arguments_are_rows(self):
        self.assertIn("| `POT` | The pot |\n", self.page)


class Links(unittest.TestCase):
    def test_pages_that_a_text_names_become_links(self):
        self.assertEqual(make_reference.linked("verbs/a.md", "see docs/costs.md, `docs/costs.md` and docs/no.md"),
                         "see [docs/costs.md](../../costs.md), `docs/costs.md` and docs/no.md")


class Python(unittest.TestCase):
    def test_every_function_and_class_of_the_package_has_an_entry_and_a_text(self):
        page = make_reference.python_page()
        known = make_reference.definitions()
        names = [name for name in make_reference.public_names() if name in known]
        self.assertGreater(len(names), 25)
        for name in names:
            self.assertIn(f"\n## {name}\n", page)
            self.assertTrue(make_reference.ast.get_docstring(known[name][0]), f"{name} has no docstring")

    def test_signatures_have_their_defaults(self):
        function = make_reference.ast.parse("def f(self, a: int, b=2, *, c: str = 'x', **d) -> int: ...").body[0]
        self.assertEqual(make_reference.signature(function), "f(a: int, b = 2, *, c: str = 'x', **d) -> int")


class Operators(unittest.TestCase):
    def test_headings_move_down_and_code_stays(self):
        text = make_reference.without_fences_changed("# a\n```\n# b\n```\n")
        self.assertEqual(text.count("\u200b#"), 1)


if __name__ == "__main__":
    unittest.main()
