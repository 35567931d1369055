#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/gate/gate.py fails where a count grows, and where a part of the backend is switched off.

    gate_test.py EGRET
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
import gate  # noqa: E402

MODEL = "mobilenet-v2"


class Growths(unittest.TestCase):
    row = {"model": "m", "backend": "cpu", **{column: "1000" for column in gate.TOLERANCES}}

    def test_equal_and_smaller_counts_pass(self):
        self.assertEqual(gate.growths(self.row, self.row), [])
        self.assertEqual(gate.growths(self.row, {**self.row, **{column: 1 for column in gate.TOLERANCES}}), [])

    def test_each_count_fails_by_itself_beyond_its_tolerance(self):
        for column, tolerance in gate.TOLERANCES.items():
            within = 1000 * (1 + tolerance)
            self.assertEqual(gate.growths(self.row, {**self.row, column: within}), [])
            found = gate.growths(self.row, {**self.row, column: within + 1})
            self.assertEqual([growth.column for growth in found], [column])
            self.assertIn(f"m: {column} grew from 1000", str(found[0]))

    def test_an_unknown_count_is_not_compared(self):
        self.assertEqual(gate.growths({**self.row, "instructions": ""}, self.row), [])
        self.assertEqual(gate.growths(self.row, {**self.row, "instructions": ""}), [])


class Table(unittest.TestCase):
    def test_each_plan_and_work_count_is_kept(self):
        for row in gate.read(gate.TABLE):
            for column in gate.COLUMNS:
                if column != "instructions":
                    self.assertNotEqual(row[column], "", f"{row['model']} {column}")
        self.assertTrue(any(row["instructions"] for row in gate.read(gate.TABLE)))


class Program(unittest.TestCase):
    def run_gate(self, *arguments):
        return subprocess.run([sys.executable, HERE / "gate.py", "--egret", EGRET, "--models", MODEL, *arguments],
                              capture_output=True, text=True, check=False)

    def test_without_fusion_it_fails_and_names_row_and_counts(self):
        done = self.run_gate("--without", "fusion")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stdout, rf"{MODEL}: kernels grew from \d+ to \d+")
        self.assertRegex(done.stdout, rf"{MODEL}: bytes grew")
        self.assertIn("--rewrite", done.stdout)

    def test_a_table_is_rewritten_only_when_asked_and_then_passes(self):
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder) / "table.csv"
            shutil.copy(gate.TABLE, table)
            rows = gate.read(table)
            for row in rows:
                row["kernels"] = "1"
            gate.write(table, rows)
            before = table.read_text()
            self.assertEqual(self.run_gate("--table", table).returncode, 1)
            self.assertEqual(table.read_text(), before)
            self.assertEqual(self.run_gate("--table", table, "--rewrite").returncode, 0)
            self.assertEqual(self.run_gate("--table", table).returncode, 0)
            others = [row["kernels"] for row in gate.read(table) if row["model"] != MODEL]
            self.assertEqual(set(others), {"1"})

    def test_an_unknown_model_is_an_error(self):
        done = self.run_gate("--models", "no-such-model")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no row of no-such-model", done.stderr)


if __name__ == "__main__":
    EGRET = sys.argv.pop()
    unittest.main()
