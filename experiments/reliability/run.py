# SPDX-License-Identifier: Apache-2.0
"""The gates of reliability that need nothing but the programs: kills, missing memory and disk, spoilt databases,
malformed files, equal bytes with any number of threads. Each runs for a given time, and goes on with other cases when it
is run again."""
import collections
import functools
import pathlib
import random
import sys
import tempfile
import time

import faults
import hostile
from lib import egret, models, results, settings

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["gate", "batch", "cases", "wrong", "seconds", "outcomes", "first_wrong", "egret"]


def batch_of(cases, seconds):
    """The row of as many cases as fit into the time. Each is what is wrong, and what happened."""
    start = time.monotonic()
    count, wrong, outcomes, first = 0, 0, collections.Counter(), ""
    while count == 0 or time.monotonic() - start < seconds:
        try:
            problem, happened = next(cases)
        except StopIteration:
            break
        count += 1
        outcomes[happened] += 1
        if problem:
            wrong += 1
            first = first or problem
            print(f"WRONG: {problem}", file=sys.stderr)
    return {"cases": count, "wrong": wrong, "seconds": f"{time.monotonic() - start:.0f}",
            "outcomes": "; ".join(f"{name} {number}" for name, number in sorted(outcomes.items())), "first_wrong": first}


class Place:
    """A folder with the model. Gates share its jobs, whose runs without a fault take longest."""

    def __init__(self, name, folder):
        self.folder, self.model = folder, models.locate(name, folder)

    @functools.cache
    def job(self, measures=False):
        folder = self.folder / ("measured" if measures else "quick")
        folder.mkdir()
        job = faults.Job(self.model, folder, measures)
        job.reference()
        return job


def kills(place, draws):
    """Every tenth kill is followed by a run to the end, which must write what a run without kills does."""
    jobs = [place.job(), place.job(measures=True)]
    while True:
        for job in jobs:
            for _ in range(10):
                yield faults.killed(job, draws)
            yield job.recovers(), "run to the end"


def without_memory(place, draws):
    job = place.job()
    least = least_that(faults.loads, 1 << 26)
    most = least_that(lambda limit: faults.clean_run(job, limit), least)
    while True:
        yield faults.without_memory(job, draws, least, most)


def least_that(suffices, low):
    """Bytes of address space, to within a tenth. SUFFICES: whether so many do."""
    high = low
    while not suffices(high):
        low, high = high, 2 * high
    while high > 1.1 * low:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


def without_disk(place, draws):
    job, library = place.job(measures=True), faults.preloaded(place.folder)
    while True:
        for kind in ("write", "open"):
            yield faults.without_disk(job, draws, library, kind, 40)


def spoilt_databases(place, draws):
    job = place.job(measures=True)
    while True:
        yield faults.spoilt_database(job, draws)


def hostile_files(place, draws):
    whole = pathlib.Path(place.model).read_bytes()
    path = place.folder / "hostile.onnx"
    while True:
        kind, content = hostile.altered(whole, draws)
        path.write_bytes(content)
        problem, happened = hostile.outcome(path)
        if problem:
            kept = pathlib.Path(tempfile.gettempdir()) / f"hostile-{draws.randrange(10**9)}.onnx"
            kept.write_bytes(content)
            problem = f"{kind}, {kept}: {problem}"
        yield problem, happened


def threads(place, draws):
    """The files of a run with any number of threads are those of a run with two."""
    job = place.job()
    while True:
        count = draws.choice([1, 2, 8])
        job.reset()
        code, error = job.run(flags=["--threads", str(count)])
        same = code == 0 and all(path.read_bytes() == new for path, new in job.new.items())
        yield "" if same else f"with {count} threads: code {code}, other bytes {error[-200:]}", f"{count} threads"


GATES = {"kills": kills, "without memory": without_memory, "without disk": without_disk,
         "spoilt databases": spoilt_databases, "hostile files": hostile_files, "threads": threads}


def main():
    parser = settings.parser(__doc__)
    parser.add_argument("--seconds", type=float, help="of each gate; default: as config.toml has them")
    parser.add_argument("--batch", type=int, help="number of the cases, which are random; default: the next one")
    parser.add_argument("gates", nargs="*", help=f"{', '.join(GATES)}; default: all")
    arguments = parser.parse_args()
    mode, forms = arguments.mode, settings.config_of(HERE)
    config = {**forms, **forms[mode]}
    table = results.Table("reliability", results.on_this_processor(mode), COLUMNS, ["gate", "batch"], {}, grows=True)
    with tempfile.TemporaryDirectory() as name:
        place = Place(config["model"], pathlib.Path(name))
        for gate in arguments.gates or config.get("gates", GATES):
            batches = [int(row["batch"]) for row in table.rows if row["gate"] == gate]
            batch = arguments.batch if arguments.batch is not None else max(batches, default=0) + 1
            row = batch_of(GATES[gate](place, random.Random(f"{gate} {batch}")), arguments.seconds or config["seconds"])
            table.add(gate=gate, batch=batch, egret=egret.version(), **row)
    table.finish()
    table.print()
    return results.judge(HERE / "expected.json", mode, {"wrong": sum(int(row["wrong"]) for row in table.rows)})


if __name__ == "__main__":
    sys.exit(main())
