#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/run_examples.py runs the blocks of a page and finds outputs that differ from those shown."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
import run_examples  # noqa: E402


class Comparison(unittest.TestCase):
    def expect_equal(self, shown, printed):
        run_examples.compare(shown.splitlines(), printed.splitlines())

    def expect_fault(self, shown, printed):
        with self.assertRaises(run_examples.Fault):
            self.expect_equal(shown, printed)

    def test_numbers_units_and_widths_may_differ(self):
        self.expect_equal("model  -----\n12 ms  1.5e-3", "model     --------\n1,204.5 us  7")
        self.expect_equal("time 3 s", "time   0.25   ms")

    def test_a_comma_after_a_number_is_no_part_of_it(self):
        self.expect_equal("egret 0.1.0 (..., Release)", "egret 0.1.0 (b3d8863c37d5, Release)")

    def test_words_may_not_differ(self):
        self.expect_fault("status improved", "status unchanged")
        self.expect_fault("12 ms", "12 nodes")

    def test_missing_and_further_lines_are_faults(self):
        self.expect_fault("a", "a\nb")
        self.expect_fault("a\nb", "a")
        self.expect_fault("", "a")

    def test_dots_alone_stand_for_lines(self):
        self.expect_equal("a\n...\nd", "a\nb\nc\nd")
        self.expect_equal("...\nb\n...", "a\nb\nc")
        self.expect_equal("a\n...", "a")
        self.expect_fault("a\n...\nd", "a\nb")
        self.expect_fault("...\nb\n...\na\n...", "a\nb")
        self.expect_fault("a\n...\na", "a")

    def test_dots_in_a_line_stand_for_text(self):
        self.expect_equal("check ... passed", "check 3 of 4 passed")
        self.expect_fault("check ... passed", "check 3 of 4 failed")

    def test_first_words_stand_in_order(self):
        run_examples.compare_first_words(["a 1", "c 3"], ["a x", "b y", "c z"])
        with self.assertRaises(run_examples.Fault):
            run_examples.compare_first_words(["c 3", "a 1"], ["a x", "b y", "c z"])


class Pages(unittest.TestCase):
    def run_page(self, text):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            page.write_text(text)
            script = ROOT / "scripts" / "run_examples.py"
            return subprocess.run([sys.executable, str(script), str(page)], capture_output=True, text=True)

    def expect(self, text, code, part):
        done = self.run_page(text)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertIn(part, done.stdout)

    def test_blocks_share_a_folder_and_a_session(self):
        self.expect("```sh\necho one two >file\n```\n```python\nwords = open('file').read().split()\n```\n"
                    "It prints:\n\n```python\nprint(words)\n```\n\n```text\n['one', 'two']\n```\n",
                    0, "3 blocks ran, 1 outputs compared")

    def test_another_output_is_a_fault_with_its_line(self):
        self.expect("```sh\necho one\n```\n\n```text\ntwo\n```\n", 1, "page.md:6: these lines are shown:\ntwo")

    def test_a_failing_command_or_statement_is_a_fault(self):
        self.expect("```sh\nfalse\ntrue\n```\n", 1, "exit code 1, not 0")
        self.expect("```python\n\nassert 1 == 2\n```\n", 1, "line 3")

    def test_comments_mark_files_codes_and_blocks_that_are_not_run(self):
        self.expect("<!-- file: a/b -->\n```text\nhello\n```\n```sh\ncat a/b\n```\n```text\nhello\n```\n"
                    "<!-- exit: 3 -->\n```sh\nexit 3\n```\n<!-- not run: no network -->\n```sh\nfalse\n```\n",
                    0, "2 blocks ran, 1 outputs compared")
        self.expect("<!-- exit: 3 -->\n```sh\ntrue\n```\n", 1, "exit code 0, not 3")

    def test_experiments_are_those_of_the_repository(self):
        self.expect("```sh\nls experiments/run_all\n```\n```text\nexperiments/run_all\n```\n", 0, "1 outputs")

    def test_a_missing_package_skips_the_page(self):
        self.expect("<!-- needs: no_such_package -->\n```sh\nfalse\n```\n", 77, "skipped without no_such_package")


if __name__ == "__main__":
    unittest.main()
