# SPDX-License-Identifier: Apache-2.0
"""Runs due rows on a machine until the time is over.

Rows begin in the order of their value. A row that waits for processors, or for a GPU without busy programs, may be
overtaken only by rows that end before it could begin (backfilling as in EASY, Lifka 1995). Rows in the background have
processors of their own. A row whose estimate exceeds the time left is left out, and shorter ones take its place.
"""
import dataclasses

from lib.waves import kept, plan, rows as table

BACKGROUND_CORES = 4


@dataclasses.dataclass
class Event:
    at: float            # seconds since the wave began
    kind: str            # "starts", "ends" or "left out"
    row: table.Row
    text: str = ""


@dataclasses.dataclass
class Running:
    due: plan.Due
    cores: int
    began: float
    expected: float      # its end, by its estimate


class Pool:
    """Processors, and the rows that use them."""

    def __init__(self, cores):
        self.cores, self.running = max(1, cores), {}

    def cores_of(self, row):
        return min(row.cores, self.cores)

    def free(self):
        return self.cores - sum(each.cores for each in self.running.values())


def _conflict(row, other):
    return {row.device, other.device} == {table.TIMED, table.BUSY}


class Wave:
    """machine: of machines.py. on_end: called with (row, outcome, seconds, values, note) as each row ends."""

    def __init__(self, machine, seconds, cores, on_end, say=lambda event: None):
        self.machine, self.seconds, self.on_end, self.say = machine, seconds, on_end, say
        self.fore, self.back = Pool(cores - BACKGROUND_CORES), Pool(min(BACKGROUND_CORES, cores))
        self.ended = False

    def run(self, due):
        """due: in the order of value. Returns whether the machine could run rows at all."""
        waiting = {self.fore: [], self.back: []}
        for each in due:
            if each.state == plan.FRESH:
                self._leave_out(each, each.reason)
            elif each.lacks:
                self._leave_out(each, each.lacks)
            else:
                waiting[self.back if each.row.background else self.fore].append(each)
        while True:
            for pool, rows in waiting.items():
                self._begin(pool, rows)
            if not self.fore.running and not self.back.running:
                break
            self._end_one()
            if self.ended:
                for rows in waiting.values():
                    for each in rows:
                        self._leave_out(each, "the machine runs no rows")
                    rows.clear()
        return not self.ended

    def _leave_out(self, due, why):
        self.say(Event(self.machine.now(), "left out", due.row, why))

    def _all_running(self):
        return [*self.fore.running.values(), *self.back.running.values()]

    def _may_begin(self, pool, row, running):
        """With these rows running."""
        used = sum(each.cores for each in running if each.due.row.background == row.background)
        return used + pool.cores_of(row) <= pool.cores and not any(_conflict(row, each.due.row) for each in running)

    def _earliest(self, pool, row):
        """When the row could begin if all running rows end as expected."""
        running, now = sorted(self._all_running(), key=lambda each: each.expected), self.machine.now()
        while running and not self._may_begin(pool, row, running):
            now = running.pop(0).expected
        return now

    def _begin(self, pool, waiting):
        """Begins the rows that may; `waiting` keeps those that may later."""
        before = None  # the time from which the first row that waits could run
        for due in list(waiting):
            now, row = self.machine.now(), due.row
            if now + due.seconds > self.seconds:
                self._leave_out(due, f"takes {due.seconds:.0f} s, {max(0, self.seconds - now):.0f} s are left")
                waiting.remove(due)
            elif self._may_begin(pool, row, self._all_running()) and (before is None or now + due.seconds <= before):
                waiting.remove(due)
                limit = min(plan.patience(due.seconds), self.seconds - now)
                pool.running[row.key] = Running(due, pool.cores_of(row), now, now + due.seconds)
                self.say(Event(now, "starts", row, due.reason))
                self.machine.start(row, due.seconds, limit)
            elif before is None:
                before = self._earliest(pool, row)

    def _end_one(self):
        row, outcome, values, note = self.machine.wait()
        pool = self.back if row.background else self.fore
        seconds = self.machine.now() - pool.running.pop(row.key).began
        self.say(Event(self.machine.now(), "ends", row, f"{outcome}: {note}" if note else outcome))
        self.on_end(row, outcome, seconds, values, note)
        # Without a GPU nothing else can be measured.
        self.ended = self.ended or (row.group == "probe" and outcome == kept.UNAVAILABLE)
