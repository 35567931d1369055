#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/check_prose.py finds sentences as a reader does, counts each measure and judges by the goals."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
import check_prose  # noqa: E402

PLAIN = "The planner reads the file. "


def figures(text):
    return check_prose.measure(text)[0]


def long_sentence(words):
    return " ".join(["word"] * words) + ". "


class Sentences(unittest.TestCase):
    def expect(self, count, text):
        found = [s.text for block in check_prose.blocks(text) for s in check_prose.sentences(block)]
        self.assertEqual(figures(text).sentences, count, found)

    def test_full_stops_question_and_exclamation_marks_end_one(self):
        self.expect(3, "It runs. Does it? It does!\n")

    def test_wrapped_lines_are_one_sentence_and_paragraphs_end_one(self):
        self.expect(2, "The planner reads\nthe file\n\nand writes it\n")

    def test_numbers_abbreviations_and_file_names_end_none(self):
        self.expect(1, "Version 1.31.1 of a tool, e.g. the one of docs/cuda.md, takes 0.5 s vs. 0.6 s here.\n")

    def test_full_stops_in_code_and_in_targets_end_none(self):
        self.expect(1, "Run `a. B. c` and see [the page](x. y.md) for more.\n")

    def test_a_stop_before_a_closing_parenthesis_ends_one(self):
        self.expect(2, "(The cache is empty.) The planner fills it.\n")

    def test_a_sentence_may_begin_with_code_or_in_lower_case(self):
        self.expect(3, "It runs. `egret` stops. egret stops.\n")

    def test_list_items_are_sentences(self):
        self.expect(4, "The folders:\n- one thing\n  that goes on\n* another\n1. a third\n")

    def test_cells_of_tables_are_sentences_unless_they_are_labels(self):
        self.expect(2, "| step | file |\n|:---|---|\n| The planner reads a file. It stops. | `a | b` |\n")

    def test_a_divider_in_code_divides_no_cell(self):
        self.expect(1, "| the flag `a|b` sets the mode | x |\n")

    def test_code_blocks_are_skipped(self):
        self.expect(2, "One.\n\n```sh\nIt runs. It stops.\n```\n~~~\nIt runs.\n~~~\n\n    It runs.\n\n    It stops.\n\nTwo.\n")

    def test_a_fence_ends_with_as_many_marks(self):
        self.expect(0, "````\n```\nIt runs.\n````\n")

    def test_an_indented_paragraph_of_a_list_item_is_no_code(self):
        self.expect(2, "- one thing\n\n  It goes on.\n")
        self.expect(2, "10. one thing\n\n    It goes on.\n")

    def test_code_in_a_list_item_is_skipped(self):
        self.expect(1, "- one thing\n\n      It runs.\n")

    def test_text_after_a_list_is_prose_again(self):
        self.expect(2, "10. one thing\n\nThe end.\n")
        self.expect(1, "100.  one thing\n\n    It runs.\n")  # less than the item's indent: code

    def test_headings_comments_and_link_definitions_are_skipped(self):
        self.expect(1, "# What is it? Who?\n<!-- It runs.\nIt stops. -->\nOne.\n\n[ref]: where/it/is.md\n")

    def test_a_comment_shown_in_code_hides_nothing(self):
        self.expect(2, "The mark `<!--` opens one. It ends. \n\n```\n<!-- -->\n```\n")

    def test_lines_are_those_of_the_first_words(self):
        text = "# Title\n\nOne\ntwo. Three\nfour.\n\n- five\n"
        lines = [s.line for block in check_prose.blocks(text) for s in check_prose.sentences(block)]
        self.assertEqual(lines, [3, 4, 7])


class Measures(unittest.TestCase):
    def test_openings(self):
        self.assertEqual(figures("What runs is it. Who knows. Where it is. Of two, one.\n").openings, 4)
        self.assertEqual(figures("- what runs\n- **Where** it is\n").openings, 2)
        self.assertEqual(figures("Often it runs. Whatever. It is where it is. Offsets. `What` is code.\n").openings, 0)

    def test_every_clause_word_counts(self):
        text = "The one whose name says what it is, where it is, who, whom, whatever and wherever.\n"
        self.assertEqual(figures(text).clauses, 7)
        self.assertEqual(figures("He sees whatever *what* is, Where.\n").clauses, 3)

    def test_clause_words_in_code_targets_and_other_words_do_not_count(self):
        self.assertEqual(figures("`where` [somewhere](what.md) whole which whichever nowhere https://who.org/what\n").clauses, 0)

    def test_clauses_of_labels_count_and_labels_are_no_openings(self):
        found = figures("| what | where |\n|---|---|\n| The planner reads a file. | x |\n")
        self.assertEqual((found.sentences, found.clauses, found.openings), (1, 2, 0))

    def test_long_sentences_have_more_than_35_words(self):
        self.assertEqual(figures(long_sentence(35)).long, 0)
        self.assertEqual(figures(long_sentence(36)).long, 1)

    def test_code_is_one_word_and_a_dash_is_none(self):
        self.assertEqual(figures("`a b c d` - " + long_sentence(34)).long, 0)
        self.assertEqual(figures("`a b c d` - " + long_sentence(35)).long, 1)
        self.assertEqual(figures("[two words](a b c) " + long_sentence(34)).long, 1)


class Program(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.page = pathlib.Path(self.folder.name) / "page.md"

    def tearDown(self):
        self.folder.cleanup()

    def run_on(self, text, *arguments):
        self.page.write_text(text)
        script = ROOT / "scripts" / "check_prose.py"
        return subprocess.run([sys.executable, str(script), *arguments, str(self.page)],
                              capture_output=True, text=True)

    def expect(self, status, text):
        result = self.run_on(text)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stdout

    def test_goals_are_met_up_to_the_share(self):
        self.expect(0, PLAIN * 98 + "Of two. Of three.")
        self.expect(1, PLAIN * 97 + "Of two. Of three. Of four.")
        self.expect(0, PLAIN * 94 + "It is what it is. " * 6)
        self.expect(1, PLAIN * 93 + "It is what it is. " * 7)
        self.expect(0, PLAIN * 95 + long_sentence(36) * 5)
        self.expect(1, PLAIN * 94 + long_sentence(36) * 6)

    def test_a_short_file_counts_in_the_total_alone(self):
        other = pathlib.Path(self.folder.name) / "other.md"
        other.write_text(PLAIN * 100)
        short = PLAIN * 18 + "Of two."
        result = self.run_on(short, str(other))
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertEqual(self.run_on(PLAIN + short, str(other)).returncode, 1)
        other.write_text(PLAIN * 5)
        self.assertEqual(self.run_on(short, str(other)).returncode, 1)

    def test_the_table_is_aligned_and_marks_excesses(self):
        lines = self.expect(1, PLAIN * 24 + "Of two.").splitlines()
        self.assertEqual(len(lines), 4)
        self.assertRegex(lines[2], r"page\.md +25 +4\.0\* +0\.0 +0\.0$")
        self.assertRegex(lines[3], r"total +25 +4\.0\* +0\.0 +0\.0$")
        self.assertEqual(lines[2].index(" 25 ") + 3, lines[0].rindex("sentences") + len("sentences"))
        self.assertEqual(lines[3].index(" 25 "), lines[2].index(" 25 "))

    def test_list_prints_the_sentences_of_excesses(self):
        result = self.run_on("# Title\n\n" + PLAIN * 24 + "\nOf `two`. It is what it is.\n", "--list")
        self.assertIn("page.md:4: Of `two`.\n", result.stdout)
        self.assertNotIn("It is what it is", result.stdout)  # 1 in 26: within the goal

    def test_an_unreadable_file_is_an_error(self):
        result = self.run_on(PLAIN, str(self.page) + ".missing")
        self.assertEqual(result.returncode, 2)
        self.assertIn("missing", result.stderr)


if __name__ == "__main__":
    unittest.main()
