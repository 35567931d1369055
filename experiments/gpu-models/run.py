# SPDX-License-Identifier: Apache-2.0
"""Every model on a GPU against the f64 interpreter, in each precision, with the bound that the check estimates.

Without a GPU nothing is run, and the experiment says why. $EGRET_EXPERIMENT_SECONDS limits a run; the same command
goes on with the rows that are left.
"""
import concurrent.futures
import os
import pathlib
import sys
import tempfile
import threading

from lib import egret, gpu, models, results, settings

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["model", "precision", "max_error", "bound", "passed", "why"]
WORKERS = max(1, (os.cpu_count() or 1) // 2)  # the interpreter takes most of the time
MISMATCH = 6  # the exit code where the check fails


def checked(path, precision, flags):
    """One row's values: what `egret run --check` says, or why it did not run."""
    try:
        report = egret.call("run", path, "--backend", "cuda", "--check", "--precision", precision, "--threads", 2, *flags,
                            accept=(0, MISMATCH))
    except egret.EgretError as error:
        return {"passed": "False", "why": str(error).splitlines()[-1]}
    return {"max_error": f"{report['max_error']:.3g}", "bound": f"{report['bound']:.3g}",
            "passed": report["passed"]}


def take_rows(rows, table, bind, turn):
    """Fills in rows, of which other threads take some too; `turn`: the lock of both."""
    while True:
        with turn:
            precision, model = next(rows, (None, None))
        if model is None:
            return
        with tempfile.TemporaryDirectory() as folder, models.located(model, folder) as path:
            row = None if path is None else checked(path, precision, models.bind_flags(bind.get(model, {})))
        with turn:
            if row is None:
                print(f"  {model}: left out, there is no such file")
                continue
            table.add(model=model, precision=precision, **row)
            print(f"  {model} {precision}: error {row.get('max_error', '-')}, bound {row.get('bound', '-')}"
                  f"{'' if row['passed'] is True else ', FAILED ' + row.get('why', '')}", flush=True)


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = {**forms, **forms[mode]}
    reason = gpu.why_not()
    if reason is not None:
        print("nothing run:", reason)
        return 0
    table = results.Table("gpu-models", mode, COLUMNS, ["model", "precision"],
                          {"egret": egret.version(), "device": gpu.name()})
    missing = settings.WithinTime((precision, model) for precision in config["precisions"] for model in config["models"]
                                  if not table.has(model=model, precision=precision))
    rows, turn = iter(missing), threading.Lock()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for done in [pool.submit(take_rows, rows, table, config["bind"], turn) for _ in range(WORKERS)]:
            done.result()
    if not missing.left:
        table.finish()
    failed = sum(row["passed"] != "True" for row in table.rows)
    return results.judge(HERE / "expected.json", mode, {"failed": failed})


if __name__ == "__main__":
    sys.exit(main())
