# SPDX-License-Identifier: Apache-2.0
"""Which rows are due, why, in which order, and how long each may take."""
import dataclasses

from lib.waves import kept, rows as table

MISSING, STALE, FRESH = "missing", "stale", "fresh"


@dataclasses.dataclass(frozen=True)
class Due:
    row: table.Row
    state: str        # MISSING, STALE, FRESH, or how it ended last if that is not kept.OK
    reason: str       # for people
    seconds: float    # estimate
    lacks: str = ""   # why this machine cannot run it


def state_of(row, results, sources, driver):
    """(state, reason) of a row; driver: of this machine, or None where it is not known."""
    last = results.last(row.key)
    if last is None:
        return MISSING, "never measured"
    changed = sources.changed(row.parts, last.sources, last.revision)
    if changed:
        return STALE, f"{', '.join(changed)} changed since {last.revision}"
    if driver and last.driver != driver:
        return STALE, f"measured with driver {last.driver or 'unknown'}"
    if last.outcome != kept.OK:
        return last.outcome, f"{last.outcome} at {last.revision}" + (f": {last.note}" if last.note else "")
    return FRESH, f"fresh, measured at {last.revision}"


def estimate(row, results):
    """Seconds: those of the newest measured row with a margin, and more than the time in which it was stopped."""
    good, last = results.good(row.key), results.last(row.key)
    seconds = row.seconds if good is None or good.seconds is None else max(1.0, 1.1 * good.seconds)
    if last is not None and last.outcome == kept.STOPPED and last.seconds is not None:
        seconds = max(seconds, 1.5 * last.seconds)
    return seconds


def patience(seconds):
    """The time after which a row with this estimate is stopped: a guess may be wrong by half."""
    return 1.5 * seconds + 20


def _rank(due):
    """Within a group, rows that were stopped follow. A failure with unchanged sources would repeat itself, so these
    rows are last of all."""
    if due.row.always:
        return (0, 0)
    if due.state in (kept.FAILED, kept.UNAVAILABLE):
        return (2, 0)
    return (1, table.GROUPS.index(due.row.group) * 2 + (due.state == kept.STOPPED))


def judged(rows, results, sources, driver=None, lacks=lambda need: ""):
    """All rows with their states, in the order in which they should run.

    lacks: the reason why a machine cannot run rows with this need, or "".
    """
    found = []
    for row in rows:
        state, reason = state_of(row, results, sources, driver)
        if row.always and state == FRESH:
            state, reason = STALE, "due in each wave"
        found.append(Due(row, state, reason, estimate(row, results), lacks(row.needs) if row.needs else ""))
    return sorted(found, key=_rank)
