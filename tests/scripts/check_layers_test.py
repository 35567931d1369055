#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/check_layers.py accepts this repository and finds each kind of violation."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"
TABLE = """<!-- layers -->
| folder | holds | may include |
|---|---|---|
| `base/` | x | |
| `ir/` | x | `base` |
| `cost/` | x | `base` `ir` |
<!-- /layers -->
"""


def check(root):
    script = ROOT / "scripts" / "check_layers.py"
    return subprocess.run([sys.executable, str(script), str(root)], capture_output=True, text=True)


class CheckLayers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        self.put("docs/architecture.md", TABLE)
        self.put("base/CMakeLists.txt", "egret_library(base EXTERNAL Boost::headers)\n")
        self.put("ir/CMakeLists.txt", "egret_library(ir DEPS base SOURCES_IN . ops)\n")
        self.put("cost/CMakeLists.txt", "egret_library(cost DEPS base)\n")
        self.put("ir/a.cc", LICENCE + '#include "base/b.h"\n#include "ir/c.h"\n')

    def tearDown(self):
        self.folder.cleanup()

    def put(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def expect(self, *parts):
        result = check(self.root)
        self.assertEqual(result.returncode, 1 if parts else 0, result.stdout + result.stderr)
        self.assertEqual(len(result.stdout.splitlines()), len(parts), result.stdout)
        for part in parts:
            self.assertIn(part, result.stdout)

    def test_this_repository_keeps_its_rules(self):
        result = check(ROOT)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_a_clean_tree_passes(self):
        self.expect()

    def test_an_include_upwards_is_found(self):
        self.put("base/d.cc", LICENCE + '\n  # include "ir/c.h"\n')
        self.expect("base/d.cc:3: base may not include ir")

    def test_an_allowed_but_undeclared_include_is_found(self):
        self.put("cost/d.cc", LICENCE + '#include "ir/c.h"\n')
        self.expect("cost/d.cc:2: cost may not include ir")

    def test_deps_beyond_the_table_are_found(self):
        self.put("ir/CMakeLists.txt", "egret_library(ir DEPS base cost)\n")
        self.expect("ir/CMakeLists.txt:1: DEPS cost is not allowed")

    def test_a_folder_without_a_row_is_found(self):
        self.put("new/CMakeLists.txt", "egret_library(new DEPS base)\n")
        self.expect("new has no row")

    def test_a_program_in_a_subfolder_has_deps_of_its_own(self):
        self.put("cost/show/CMakeLists.txt", "egret_program(show SOURCES show.cc DEPS base ir)\n")
        self.put("cost/show/show.cc", LICENCE + '#include "ir/c.h"\n')
        self.expect()
        self.put("cost/show/CMakeLists.txt", "egret_program(show SOURCES show.cc DEPS base)\n")
        self.expect("cost/show/show.cc:2: cost may not include ir")

    def test_foreign_headers_belong_to_their_owner(self):
        self.put("ir/d.cc", LICENCE + "#include <toml++/toml.h>\n")
        self.expect("ir/d.cc:2: only base/formats/toml.cc may include <toml++/toml.h>")

    def test_headers_need_licence_and_pragma_and_a_sane_length(self):
        self.put("ir/d.h", "\n" * 700)
        self.expect("first line must be", "needs #pragma once", "longer than 600 lines")

    def test_includes_are_named_from_the_root(self):
        self.put("ir/d.cc", LICENCE + '#include "c.h"\n#include "../base/b.h"\n')
        self.expect('"c.h" must be named from the root', '"../base/b.h" must be named')


if __name__ == "__main__":
    unittest.main()
