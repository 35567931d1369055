#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/check_commands.py finds verbs and options that the program does not have."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
import check_commands  # noqa: E402

PROGRAM = check_commands.Program({
    "stir": "usage: egret stir [OPTIONS] POT\n\nOptions [stir]:\n  -s, --speed TIME          fast\n  --[no-]lid   on\n",
    "soup list": "usage: egret soup list\n\nOptions [list]:\n  --long\n",
})


def faults(text):
    return [fault for _, fault in PROGRAM.faults(text)]


class Commands(unittest.TestCase):
    def test_known_verbs_and_options_pass(self):
        self.assertEqual(faults("`egret stir --speed 2s --no-lid POT` and `egret soup list --long`, `egret soup`\n"), [])
        self.assertEqual(faults("```sh\negret stir a | egret soup list --long  # --short\n```\n"), [])
        self.assertEqual(faults("    mpirun -n 4 build/bin/egret stir pot --lid\n"), [])

    def test_unknown_verbs_are_faults(self):
        self.assertEqual(faults("`egret cook`\n"), ["egret cook: no such verb"])
        self.assertEqual(faults("`egret soup eat`\n"), ["egret soup eat: no such verb"])

    def test_unknown_options_are_faults_with_their_line(self):
        self.assertEqual(list(PROGRAM.faults("a\n\n```sh\negret stir pot \\\n  --spede=2\n```\n")),
                         [(4, "egret stir: no option --spede")])
        self.assertEqual(faults("    egret stir pot --long\n"), ["egret stir: no option --long"])
        self.assertEqual(faults("`egret soup list | egret stir --long`\n"), ["egret stir: no option --long"])

    def test_options_alone_belong_to_some_verb(self):
        self.assertEqual(faults("`--speed 2s` and `--long`\n"), [])
        self.assertEqual(faults("`--spede`\n"), ["--spede: no verb has this option"])

    def test_placeholders_and_other_programs_are_no_commands(self):
        self.assertEqual(faults("`egret VERB --help`, `egret-tensors`, `git stir --spede`\n"), [])


if __name__ == "__main__":
    unittest.main()
