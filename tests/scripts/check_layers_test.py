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
        self.put("ir/CMakeLists.txt", "egret_library(ir DEPS base)\n")
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

    def with_rooms(self, upper="`ir/low/`", lower="", built="low high"):
        rows = f"| `ir/low/` | x | {lower} |\n| `ir/high/` | x | {upper} |\n"
        head = "<!-- rooms -->\n| room | holds | may include |\n|---|---|---|\n"
        self.put("docs/architecture.md", TABLE + head + rows + "<!-- /rooms -->\n")
        self.put("ir/CMakeLists.txt", f"egret_library(ir DEPS base ROOMS {built})\n")

    def test_an_include_of_a_lower_room_is_allowed(self):
        self.with_rooms()
        self.put("ir/high/d.cc", LICENCE + '#include "ir/low/e.h"\n#include "base/b.h"\n')
        self.put("ir/low/e.h", LICENCE + "#pragma once\n")
        self.expect()

    def test_an_include_of_a_higher_room_is_found(self):
        self.with_rooms()
        self.put("ir/low/d.cc", LICENCE + '#include "ir/high/e.h"\n')
        self.expect("ir/low/d.cc:2: ir/low may not include ir/high")

    def test_a_room_without_a_row_is_found(self):
        self.with_rooms()
        self.put("ir/other/d.cc", LICENCE)
        self.expect("ir/other/d.cc:1: ir/other has no row")

    def test_rooms_and_their_build_agree(self):
        self.with_rooms(built="low cellar")
        self.expect("ir/cellar has no row", "ROOMS lacks ir/high")

    def test_rooms_that_include_each_other_are_found(self):
        self.with_rooms(lower="`ir/high/`")
        self.expect("ir/high may include itself", "ir/low may include itself")

    def test_a_crowded_room_is_found(self):
        self.with_rooms()
        for i in range(41):
            self.put(f"ir/low/f{i}.cc", LICENCE)
        self.expect("ir/low:1: 41 source files in one room")

    def test_a_trusted_program_reaches_no_other_files(self):
        self.put("docs/architecture.md", TABLE.replace("<!-- /layers -->", "| `tools/` | x | `base` `cost` |\n<!-- /layers -->"))
        self.put("tools/CMakeLists.txt", "egret_library(tools DEPS base cost)\n")
        self.put("tools/egret_check/egret_check.cc", LICENCE + '#include "base/b.h"\n')
        self.put("base/b.h", LICENCE + "#pragma once\n")
        self.put("base/b.cc", LICENCE + '#include "base/b.h"\n')
        self.assertEqual(check(self.root).stdout, "")
        self.put("cost/c.h", LICENCE + "#pragma once\n")
        self.put("tools/egret_check/egret_check.cc", LICENCE + '#include "cost/c.h"\n')
        self.expect("egret_check.cc:1: tools/egret_check/egret_check.cc may not reach cost/c.h")
        # A source without a header of its own name, which implements a header that is reached.
        self.put("tools/egret_check/egret_check.cc", LICENCE + '#include "base/b.h"\n')
        self.put("base/other.cc", LICENCE + '#include "base/b.h"\n#include "tools/x.h"\n')
        self.put("tools/x.h", LICENCE + "#pragma once\n")
        self.assertIn("base/other.cc:1: tools/egret_check/egret_check.cc may not reach tools/x.h", check(self.root).stdout)
        (self.root / "base/other.cc").unlink()
        part = LICENCE + "#pragma once\n" + "int x;\n" * 590
        self.put("tools/egret_check/a.h", part)
        self.put("tools/egret_check/b.h", part)
        includes = '#include "tools/egret_check/a.h"\n#include "tools/egret_check/b.h"\n'
        self.put("tools/egret_check/egret_check.cc", LICENCE + includes)
        self.assertEqual(check(self.root).stdout, "")
        self.put("tools/egret_check/egret_check.cc", LICENCE + includes + "int x;\n" * 590)
        self.expect("its own part has 1774 lines of code, of 1500 allowed")

    def test_only_rules_may_compile_rules_that_nobody_admitted(self):
        self.put("ir/d.cc", LICENCE + '#include "rules/tensors/compile.h"\n')
        self.expect("only rules/ tests/ may include <rules/tensors/compile.h>")


if __name__ == "__main__":
    unittest.main()
