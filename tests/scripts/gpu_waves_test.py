#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""experiments/lib/waves: which rows a wave on a GPU runs, in which order, and what it keeps (scripts/gpu_check.sh next)."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "experiments"))
sys.dont_write_bytecode = True
from lib.waves import __main__ as commands, kept, machines, page, parts, plan, rows as table, wave  # noqa: E402

NOW = parts.Sources({part: "new" for part in parts.PARTS}, "rev2", {"rev1": {part: "old" for part in parts.PARTS}})
STAND_INS = ROOT / "build" / "release" / "fake_cuda" / "libfake_cuda.so"


def row(key, seconds=10, group="correctness", **more):
    return table.Row(key, group, seconds, more.pop("parts", ("cuda",)), ("tests", key), **more)


def measured(key, outcome=kept.OK, seconds=10, date="2026-01-02", driver="580", sources=None, **more):
    sources = {"cuda": "new"} if sources is None else sources
    return kept.Kept(key, outcome, seconds, more.pop("revision", "rev2"), "NVIDIA H200", driver, date, sources, **more)


def judged(rows, results=(), **more):
    return plan.judged(rows, kept.Results(results), NOW, **more)


class Run:
    """A simulated wave and its events."""

    def __init__(self, due, seconds, cores=6, takes=None):
        self.events, self.ended = [], {}
        ran = wave.Wave(machines.Simulated(takes), seconds, cores, self.on_end, self.events.append)
        self.could = ran.run(due)

    def on_end(self, row, outcome, seconds, values, note):
        self.ended[row.key] = (outcome, seconds)

    def of(self, kind):
        return [event.row.key for event in self.events if event.kind == kind]

    def at(self, key, kind="starts"):
        return next(event.at for event in self.events if event.row.key == key and event.kind == kind)

    def reason(self, key):
        return next(event.text for event in self.events if event.row.key == key and event.kind == "left out")


class States(unittest.TestCase):
    def state(self, *results, driver="580", **more):
        due, = judged([row("a", **more)], results, driver=driver)
        return due.state, due.reason

    def test_a_row_that_was_never_measured_is_missing(self):
        self.assertEqual(self.state()[0], plan.MISSING)

    def test_a_row_is_fresh_until_one_of_its_parts_changes(self):
        self.assertEqual(self.state(measured("a"))[0], plan.FRESH)
        self.assertEqual(self.state(measured("a", sources={"cuda": "new", "rules": "old"}))[0], plan.FRESH)
        state, reason = self.state(measured("a", sources={"cuda": "old"}, revision="rev1"))
        self.assertEqual((state, reason), (plan.STALE, "cuda changed since rev1"))

    def test_without_digests_the_revision_decides(self):
        self.assertEqual(self.state(measured("a", sources={}, revision="rev1"))[0], plan.STALE)
        self.assertEqual(self.state(measured("a", sources={}, revision="unheard-of"))[0], plan.STALE)

    def test_a_part_that_the_row_did_not_have_then_is_a_change(self):
        self.assertEqual(self.state(measured("a"), parts=("cuda", "zoo"))[1], "zoo changed since rev2")

    def test_another_driver_makes_a_row_stale(self):
        self.assertEqual(self.state(measured("a"), driver="590")[0], plan.STALE)
        self.assertEqual(self.state(measured("a"), driver=None)[0], plan.FRESH)  # not known in a dry run

    def test_how_it_ended_last_counts(self):
        before = measured("a", date="2026-01-01")
        self.assertEqual(self.state(before, measured("a", kept.FAILED, note="exit code 1"))[1],
                         "failed at rev2: exit code 1")
        self.assertEqual(self.state(before, measured("a", kept.STOPPED))[0], kept.STOPPED)
        self.assertEqual(self.state(measured("a", kept.FAILED, date="2026-01-01"), measured("a"))[0], plan.FRESH)


class Order(unittest.TestCase):
    def test_groups_are_in_the_order_of_their_value(self):
        rows = [row(group, group=group) for group in reversed(table.GROUPS)]
        self.assertEqual([due.row.group for due in judged(rows)], table.GROUPS)

    def test_the_rows_of_waves_begin_with_correctness(self):
        keys = [due.row.key for due in judged(table.all_rows())]
        self.assertEqual(keys[:3], ["probe", "tests/attention", "check/gpt2/bf16"])
        self.assertLess(keys.index("tests/regions/7"), keys.index("inference/bert-base/x1/bf16/egret"))
        self.assertLess(keys.index("inference/gpt2/x16/tf32/compile"), keys.index("profile/rates/bf16"))
        self.assertLess(keys.index("inference/gpt2/x1/tf32/compile"), keys.index("inference/bert-base/x16/bf16/egret"))
        self.assertEqual(len(keys), len(set(keys)))

    def test_each_row_has_a_known_group_known_parts_and_work(self):
        from lib.waves import work
        for each in table.all_rows():
            self.assertIn(each.group, table.GROUPS)
            self.assertLessEqual(set(each.parts), set(parts.PARTS), each.key)
            self.assertIn(each.work[0], work.WORK)

    def test_a_stopped_row_follows_its_group_and_a_failed_one_all(self):
        rows = [row("failed"), row("stopped"), row("new"), row("later", group="inference")]
        due = judged(rows, [measured("failed", kept.FAILED), measured("stopped", kept.STOPPED)])
        self.assertEqual([each.row.key for each in due], ["new", "stopped", "later", "failed"])

    def test_a_failure_whose_sources_changed_is_as_valuable_as_before(self):
        rows = [row("failed"), row("new")]
        due = judged(rows, [measured("failed", kept.FAILED, sources={"cuda": "old"})])
        self.assertEqual([each.row.key for each in due], ["failed", "new"])


class Estimates(unittest.TestCase):
    def estimate(self, *results):
        return plan.estimate(row("a", 10), kept.Results(results))

    def test_the_guess_serves_until_a_duration_is_kept(self):
        self.assertEqual(self.estimate(), 10)
        self.assertEqual(self.estimate(measured("a", seconds=None)), 10)
        self.assertAlmostEqual(self.estimate(measured("a", seconds=40)), 44)
        self.assertAlmostEqual(self.estimate(measured("a", seconds=2)), 2.2)

    def test_a_failure_says_nothing_of_the_duration(self):
        self.assertEqual(self.estimate(measured("a", kept.FAILED, seconds=1)), 10)

    def test_a_row_that_was_stopped_takes_longer_than_that(self):
        self.assertEqual(self.estimate(measured("a", kept.STOPPED, seconds=60)), 90)
        self.assertEqual(self.estimate(measured("a", kept.OK, seconds=30, date="2026-01-01"),
                                       measured("a", kept.STOPPED, seconds=60)), 90)


class Waves(unittest.TestCase):
    def test_rows_begin_in_order_and_within_the_time(self):
        run = Run(judged([row(name, 10, cores=2) for name in "abcd"]), 25)
        self.assertEqual(run.of("ends"), ["a", "b"])
        self.assertEqual(run.reason("c"), "takes 10 s, 5 s are left")

    def test_a_shorter_row_takes_the_place_of_one_that_does_not_fit(self):
        run = Run(judged([row("long", 100), row("short", 5)]), 20)
        self.assertEqual((run.of("ends"), run.of("left out")), (["short"], ["long"]))

    def test_rows_share_the_processors(self):
        run = Run(judged([row(name, 10, cores=2) for name in "abc"]), 60, cores=8)
        self.assertEqual([run.at(name) for name in "abc"], [0, 0, 10])

    def test_a_row_for_more_processors_than_there_are_runs_alone(self):
        run = Run(judged([row("wide", cores=64), row("next")]), 60)
        self.assertEqual([run.at("wide"), run.at("next")], [0, 10])

    def test_a_waiting_row_is_overtaken_only_by_rows_that_do_not_delay_it(self):
        run = Run(judged([row("first", 10, cores=1), row("wide", 10, cores=2), row("slow", 20, cores=1),
                          row("quick", 5, cores=1)]), 100)
        self.assertEqual([run.at(name) for name in ("quick", "wide", "slow")], [0, 10, 20])

    def test_timed_rows_and_busy_rows_never_overlap(self):
        run = Run(judged([row("tests", 30, cores=1, device=table.BUSY), row("check", 50, cores=1),
                          row("time", 10, cores=1, device=table.TIMED), row("sanitizer", 10, cores=1, device=table.BUSY)]),
                  200, cores=20)
        self.assertEqual([run.at(name) for name in ("tests", "check", "time", "sanitizer")], [0, 0, 30, 0])

    def test_rows_in_the_background_begin_in_the_first_second(self):
        run = Run(judged([row("tests", 30, cores=64), row("autotune", 50, background=True, cores=64),
                          row("second", 20, background=True, cores=4)]), 60, cores=16)
        self.assertEqual([run.at("tests"), run.at("autotune")], [0, 0])
        self.assertEqual(run.of("left out"), ["second"])

    def test_a_failing_row_does_not_stop_the_others(self):
        run = Run(judged([row("a", cores=2), row("b", cores=2)]), 60, takes={"a": (3, kept.FAILED)})
        self.assertEqual(run.ended, {"a": (kept.FAILED, 3), "b": (kept.OK, 10)})
        self.assertTrue(run.could)

    def test_a_row_over_its_time_is_stopped_and_the_others_go_on(self):
        run = Run(judged([row("a", cores=2), row("b", cores=2)]), 200, takes={"a": (1000, kept.OK)})
        self.assertEqual(run.ended, {"a": (kept.STOPPED, plan.patience(10)), "b": (kept.OK, 10)})

    def test_no_row_outlasts_the_wave(self):
        run = Run(judged([row("a", 20, cores=2)]), 22, takes={"a": (1000, kept.OK)})
        self.assertEqual(run.ended, {"a": (kept.STOPPED, 22)})

    def test_nothing_else_runs_where_the_probe_finds_no_gpu(self):
        rows = [row("probe", 5, "probe", always=True), row("a", 10), row("b", 10)]
        run = Run(judged(rows), 60, takes={"probe": (1, kept.UNAVAILABLE)})
        self.assertFalse(run.could)
        self.assertEqual(set(run.of("left out")), {"a", "b"})
        self.assertTrue(Run(judged(rows), 60, takes={"probe": (1, kept.FAILED)}).could)

    def test_fresh_rows_are_left_out_but_for_the_probe(self):
        rows = [row("probe", 5, "probe", always=True), row("a")]
        run = Run(judged(rows, [measured("probe"), measured("a")]), 60)
        self.assertEqual((run.of("ends"), run.reason("a")), (["probe"], "fresh, measured at rev2"))

    def test_rows_that_the_machine_cannot_run_are_left_out_with_the_reason(self):
        due = judged([row("a", needs="torch"), row("b")], lacks=lambda need: f"{need} is not installed")
        run = Run(due, 60)
        self.assertEqual((run.of("ends"), run.reason("a")), (["b"], "torch is not installed"))

    def test_with_all_missing_the_first_measurement_is_there_within_a_minute(self):
        run = Run(judged(table.all_rows()), 530, cores=16)
        first = min(event.at for event in run.events if event.kind == "ends" and event.row.group != "probe")
        self.assertLessEqual(first, 60)
        self.assertIn("inference/bert-base/x1/bf16/egret", run.ended)
        self.assertEqual(run.at("inference/bert-base/x1/bf16/autotune"), 0)
        self.assertLessEqual(max(event.at for event in run.events), 530)

    def test_in_240_seconds_correctness_is_whole_and_something_is_compared(self):
        run = Run(judged(table.all_rows()), 230, cores=16)
        missed = [key for key in run.of("left out") if key in
                  {each.key for each in table.all_rows() if each.group == "correctness"}]
        self.assertEqual(missed, [])
        self.assertLessEqual({f"inference/bert-base/x1/bf16/{name}" for name in ("egret", "eager", "compile")},
                             set(run.ended))

    def test_with_nothing_stale_only_the_probe_runs(self):
        results = [measured(each.key, sources={part: "new" for part in each.parts}) for each in table.all_rows()]
        self.assertEqual(list(Run(judged(table.all_rows(), results), 530, cores=16).ended), ["probe"])

    def test_when_emission_changed_what_depends_on_it_runs_again(self):
        sources = {part: "new" for part in parts.PARTS} | {"emission": "old"}
        results = [measured(each.key, seconds=1, sources=sources) for each in table.all_rows()]
        ended = set(Run(judged(table.all_rows(), results), 5000, cores=16).ended)
        self.assertEqual(ended, {each.key for each in table.all_rows() if "emission" in each.parts or each.always})
        self.assertNotIn("inference/bert-base/x1/bf16/compile", ended)  # PyTorch does not change with Egret


class Needs(unittest.TestCase):
    def test_fused_subgraphs_runs_if_it_is_there_and_takes_a_gpu(self):
        before = parts.ROOT
        with tempfile.TemporaryDirectory() as folder:
            parts.ROOT = pathlib.Path(folder)
            try:
                self.assertEqual(commands.lacks("fused-subgraphs"), "the experiment fused-subgraphs is absent")
                program = parts.ROOT / "experiments" / "fused-subgraphs" / "run.py"
                program.parent.mkdir(parents=True)
                program.write_text("print()\n")
                self.assertEqual(commands.lacks("fused-subgraphs"),
                                 "the experiment fused-subgraphs has no --backend cuda")
                program.write_text("choices=['cpu', 'cuda']\n")
                self.assertEqual(commands.lacks("fused-subgraphs"), "")
            finally:
                parts.ROOT = before

    def test_programs_and_packages_are_looked_for(self):
        self.assertEqual(commands.lacks("sh"), "")
        self.assertEqual(commands.lacks("no-such-program"), "no-such-program is not installed")


class KeptRows(unittest.TestCase):
    def saved(self, *rows):
        with tempfile.TemporaryDirectory() as folder:
            kept.Results(rows).save(folder)
            return kept.Results.load(folder), (pathlib.Path(folder) / kept.FILE).read_text().splitlines()

    def test_the_newest_of_each_row_is_kept_in_any_order(self):
        old, new = measured("a", date="2026-01-01"), measured("a", date="2026-01-02")
        for rows in ((old, new), (new, old)):
            results, lines = self.saved(*rows)
            self.assertEqual((results.last("a"), len(lines)), (new, 1))

    def test_a_failure_does_not_replace_what_was_measured(self):
        good = measured("a", date="2026-01-01", values={"optimized_ms": "0.5"})
        results, lines = self.saved(good, measured("a", kept.FAILED))
        self.assertEqual((results.good("a"), results.last("a").outcome, len(lines)), (good, kept.FAILED, 2))
        results, lines = self.saved(*results.all(), measured("a", date="2026-01-03"))
        self.assertEqual((results.good("a").date, len(lines)), ("2026-01-03", 1))

    def test_devices_have_folders(self):
        self.assertEqual(kept.folder_name("NVIDIA H100 80GB HBM3"), "nvidia-h100-80gb-hbm3")

    def test_merging_adds_the_rows_to_their_device_and_writes_the_page(self):
        with tempfile.TemporaryDirectory() as temporary:
            there, here = pathlib.Path(temporary) / "there", pathlib.Path(temporary) / "here"
            kept.Results([measured("inference/gpt2/x1/bf16/egret", values={"optimized_ms": "0.5"})]).save(there)
            kept.Results([measured("inference/gpt2/x1/bf16/eager", values={"torch_eager_ms": "1.0"})]).save(
                here / "nvidia-h200")
            before = page.FOLDER, page.PAGE
            page.FOLDER, page.PAGE = here, here / "README.md"
            try:
                commands.merge(type("Options", (), {"folders": [there]})())
                self.assertIn("| gpt2 | 1 | bf16 |  | 0.5 | 1.0 |  |  |  |  | 2.00 | rev2 |", page.text(here))
                self.assertEqual(page.PAGE.read_text(), page.text(here))
            finally:
                page.FOLDER, page.PAGE = before

    def test_the_page_of_the_kept_rows_is_current(self):
        self.assertEqual(page.PAGE.read_text(), page.text())


class Digests(unittest.TestCase):
    def git(self, folder, *arguments):
        subprocess.run(["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b", *arguments], check=True,
                       capture_output=True)

    def test_they_change_with_files_and_a_manifest_stands_for_the_history(self):
        with tempfile.TemporaryDirectory() as temporary:
            root = pathlib.Path(temporary)
            (root / "zoo").mkdir()
            (root / "zoo" / "a.cc").write_text("one\n")
            self.git(root, "init", "-q")
            self.git(root, "add", ".")
            self.git(root, "commit", "-qm", "first")
            first = parts.read(root)
            self.assertEqual(first.of_revision(first.revision), first.now)
            (root / "zoo" / "a.cc").write_text("two\n")
            second = parts.read(root)
            self.assertTrue(second.revision.endswith("+"))
            self.assertEqual(second.changed(["zoo", "cuda"], {}, first.revision), ["zoo"])
            self.assertEqual(second.changed(["zoo"], first.now, "unheard-of"), ["zoo"])
            (root / parts.MANIFEST).write_text(json.dumps(second.manifest([first.revision, "unheard-of"])))
            (root / "zoo" / "a.cc").unlink()
            bundle = parts.read(root)
            self.assertEqual((bundle.revision, bundle.changed(["zoo", "cuda"], {}, first.revision)),
                             (second.revision, ["zoo"]))
            self.assertIsNone(bundle.of_revision("unheard-of"))

    def test_all_parts_exist(self):
        absent = [path for paths in parts.PARTS.values() for path in paths if not (ROOT / path).exists()]
        self.assertLessEqual(set(absent), {"experiments/fused-subgraphs"})


class Processes(unittest.TestCase):
    """Programs in place of a row's work."""

    def ended(self, program, limit=30):
        with tempfile.TemporaryDirectory() as folder:
            package = pathlib.Path(folder) / "lib" / "waves"
            package.mkdir(parents=True)
            (package / "work.py").write_text(program)
            machine = machines.Processes(pathlib.Path(folder) / "logs", dict(os.environ, PYTHONPATH=folder))
            machine.start(row("a/b"), 1, limit)
            _, *ended = machine.wait()
            self.assertTrue((pathlib.Path(folder) / "logs" / "a.b.txt").exists())
            return ended

    def test_values_are_read_and_codes_are_outcomes(self):
        self.assertEqual(self.ended("print('some words')\nprint('wave: {\"x\": 1}')"), [kept.OK, {"x": 1}, ""])
        self.assertEqual(self.ended("print('wave: {\"x\": 1}')\nprint('bad')\nraise SystemExit(6)"),
                         [kept.FAILED, {"x": 1}, "exit code 6, bad"])
        self.assertEqual(self.ended("raise SystemExit(7)")[0], kept.UNAVAILABLE)

    def test_a_row_is_stopped_with_what_it_started(self):
        program = ("import subprocess, time\nprint('wave: {\"x\": 1}', flush=True)\n"
                   "subprocess.Popen(['sleep', '60']).wait()\n")
        self.assertEqual(self.ended(program, 1)[:2], [kept.STOPPED, {"x": 1}])


    def test_an_interrupted_wave_ends_what_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            package = pathlib.Path(folder) / "lib" / "waves"
            package.mkdir(parents=True)
            (package / "work.py").write_text("import time\ntime.sleep(60)\n")
            machine = machines.Processes(pathlib.Path(folder) / "logs", dict(os.environ, PYTHONPATH=folder))
            machine.start(row("a"), 1, 60)
            process = machine.running[0][1]
            machine.close()
            self.assertEqual(process.poll(), -9)


class Script(unittest.TestCase):
    """scripts/gpu_check.sh as it is called."""

    def check(self, *arguments, **environment):
        return subprocess.run([ROOT / "scripts" / "gpu_check.sh", *arguments], capture_output=True, text=True,
                              env=dict(os.environ, **environment))

    def test_without_arguments_it_prints_its_use(self):
        done = self.check()
        self.assertEqual(done.returncode, 2)
        self.assertIn("scripts/gpu_check.sh next [--dry-run] [SECONDS] [FOLDER]", done.stdout)

    def test_a_dry_run_prints_a_schedule_within_the_time(self):
        for seconds in (60, 240, 540):
            done = self.check("next", "--dry-run", str(seconds))
            self.assertEqual(done.returncode, 0, done.stderr)
            events = [line.split() for line in done.stdout.split("\nleft out:")[0].splitlines()]
            self.assertEqual([event[3] for event in events[:2]], ["probe", "tests/attention"])
            self.assertLessEqual(max(float(event[0]) for event in events), seconds - commands.RESERVE)
            self.assertRegex(done.stdout, "fused-subgraphs +1 rows")

    def test_the_page_is_current(self):
        self.assertEqual(self.check("page", "--check").returncode, 0)

    def test_a_wave_runs_on_the_stand_ins(self):
        if not STAND_INS.exists():
            self.skipTest("there are no stand-ins in build/release")
        with tempfile.TemporaryDirectory() as folder:
            done = self.check("next", "200", folder, FAKE_CUDA="simulates", EGRET_CUDA_LIBRARIES=str(STAND_INS.parent),
                              GPU_CHECK_ROWS="^tests/attention$|^profile/rates/bf16$")
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            results = kept.Results.load(folder)
            self.assertEqual({key: results.last(key).outcome for key in results.keys()},
                             {"probe": kept.OK, "profile/rates/bf16": kept.OK, "tests/attention": kept.FAILED})
            self.assertEqual(results.last("tests/attention").values["passed"], 0)  # the stand-ins compute nothing
            self.assertGreater(float(results.last("profile/rates/bf16").values["flops_per_second"]), 1e12)
            self.assertTrue(results.last("probe").sources.keys() >= {"cuda", "emission"})
            self.assertEqual({file.name for file in pathlib.Path(folder).iterdir()},
                             {"waves.jsonl", "costs.json", "machine.json", "logs.tar.xz"})


if __name__ == "__main__":
    unittest.main()
