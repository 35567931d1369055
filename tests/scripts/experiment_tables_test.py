#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""experiments/lib/results.py keeps the rows of a table that grows, and replaces a row that is measured again."""

import fcntl
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

EXPERIMENTS = pathlib.Path(__file__).resolve().parents[2] / "experiments"
sys.path[:0] = [str(EXPERIMENTS), str(EXPERIMENTS / "contractions")]
import kinds  # noqa: E402  (of contractions)
from lib import results, turns  # noqa: E402  (from the folder of experiments)

COLUMNS = ["model", "seconds", "egret"]


class Tables(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        patch = mock.patch.object(results, "RESULTS", pathlib.Path(folder.name))
        patch.start()
        self.addCleanup(patch.stop)

    def table(self, grows, **manifest):
        return results.Table("an-experiment", "full", COLUMNS, ["model"], manifest, grows=grows)

    def finished(self, grows):
        table = self.table(grows, threads=1)
        table.add(model="a", seconds=1, egret="first")
        table.add(model="b", seconds=2, egret="first")
        table.finish()

    def test_a_finished_table_begins_anew(self):
        self.finished(grows=False)
        self.assertEqual(self.table(False, threads=1).rows, [])

    def test_an_unfinished_table_goes_on(self):
        self.table(False, threads=1).add(model="a", seconds=1)
        self.assertTrue(self.table(False, threads=1).has(model="a"))

    def test_a_table_that_grows_keeps_finished_rows_and_their_revisions(self):
        self.finished(grows=True)
        table = self.table(True, threads=1)
        table.add(model="c", seconds=3, egret="second")
        table.finish()
        again = self.table(True, threads=1)
        self.assertEqual([(row["model"], row["egret"]) for row in again.rows],
                         [("a", "first"), ("b", "first"), ("c", "second")])

    def test_a_row_that_is_measured_again_stays_in_its_place(self):
        self.finished(grows=True)
        table = self.table(True, threads=1)
        table.add(model="a", seconds=9, egret="second")
        self.assertEqual([tuple(row.values()) for row in table.rows], [("a", "9", "second"), ("b", "2", "first")])

    def test_rows_under_other_conditions_are_not_mixed(self):
        self.finished(grows=True)
        self.assertEqual(self.table(True, threads=2).rows, [])

    def test_columns_that_are_new_are_empty_in_kept_rows(self):
        self.finished(grows=True)
        table = results.Table("an-experiment", "full", [*COLUMNS, "date"], ["model"], {"threads": 1}, grows=True)
        self.assertEqual([row["date"] for row in table.rows], ["", ""])


class Turns(unittest.TestCase):
    def test_the_processor_is_locked_for_one_row(self):
        with tempfile.NamedTemporaryFile() as file, mock.patch.dict(os.environ, EGRET_MEASURE_TURNS=file.name):
            with open(file.name) as other:
                with turns.processor(), self.assertRaises(BlockingIOError):
                    fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


class Contractions(unittest.TestCase):
    def row(self, shapes, implementation="jit:avx512_core", kernel="Conv", **times):
        return {"kernel": kernel, "shapes": shapes, "implementation": implementation, "generated_ms": "3", "library_ms": "2",
                "reorders": "0.25", "generated_share": "0.5", "library_share": "0.75", **times}

    def test_each_kernel_is_of_one_kind(self):
        rows = [self.row("1x8 8x16", "own:row", "MatMul"), self.row("64x8 8x16", kernel="MatMul"),
                self.row("1x8x4x4 8x1x3x3 group 8"), self.row("1x8x4x4 8x4x3x3 group 2"),
                self.row("1x8x4x4 8x8x3x3", "jit_wino_4x3"), self.row("1x8x4x4 8x8x1x1"), self.row("1x8x4x4 8x8x3x3")]
        self.assertEqual(kinds.divided(rows), {name: [row] for name, row in zip(kinds.KINDS, rows)})

    def test_times_with_reorders_and_of_other_versions(self):
        rows = [self.row("1x8x4x4 8x8x1x1", **{"onednn_2.6_ms": "4", "onednn_3.13_ms": "2"}), self.row("1x8x4x4 8x8x1x1")]
        lines = kinds.table(rows).splitlines()
        self.assertEqual(lines[2], "| 1x1 convolutions | 2 | 1.50 | 1.50–1.50 | 0 | 1.12 | 0 | 0.50 | 0.75 |")
        self.assertEqual(lines[-1], "| all | 0.75 | 1 | – | 0 | 1.50 | 0 | – | 0.50 |")

    def test_the_page_has_the_kept_table(self):
        page = kinds.PAGE.read_text()
        self.assertEqual(kinds.page(page, kinds.table(kinds.kept_rows())), page, "experiments/contractions/kinds.py --write")


if __name__ == "__main__":
    unittest.main()
