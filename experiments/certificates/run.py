# SPDX-License-Identifier: Apache-2.0
"""Certificates of optimized models: whether they are accepted, their size, how long checking takes beside optimizing,
and how many altered certificates are rejected."""
import collections
import json
import pathlib
import random
import resource
import subprocess
import sys

from lib import egret, models, mutants, results, settings

HERE = pathlib.Path(__file__).resolve().parent
CHECK = egret.PROGRAM.with_name("egret-check")
COLUMNS = ["model", "verdict", "operators", "after", "steps", "rules", "rule_steps", "folds", "code_steps",
           "size_facts", "bytes", "model_bytes", "optimize_s", "plain_s", "check_s", "share", "mutants", "rejected",
           "named", *mutants.KINDS, "egret"]


def processor_seconds():
    """Of all processes that have ended: other processes do not disturb it."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def check(before, after, certificate):
    """The exit code, the JSON or the error, and the processor seconds."""
    start = processor_seconds()
    done = subprocess.run([CHECK, "--json", before, after, certificate], capture_output=True, text=True, timeout=3600,
                          check=False)
    seconds = processor_seconds() - start
    return done.returncode, json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip(), seconds


def row_of(path, sizes, folder, config):
    after, certificate = folder / "optimized.onnx", folder / "certificate.json"
    flags = ["-o", after, "--threads", config["threads"], *config["flags"], *models.bind_flags(sizes)]
    egret.call("optimize", path, *flags)  # fills the database of costs
    start = processor_seconds()
    plain = egret.call("optimize", path, *flags)
    row = {"operators": plain["operators_before"], "after": plain["operators_after"],
           "plain_s": f"{processor_seconds() - start:.2f}", "model_bytes": path.stat().st_size}
    start = processor_seconds()
    try:
        egret.call("optimize", path, *flags, "--certificate", certificate)
    except egret.EgretError as error:
        return {**row, "verdict": error.stderr.strip().splitlines()[-1]}
    seconds = processor_seconds() - start
    code, answer, checked = check(path, after, certificate)
    if code != 0:
        return {**row, "verdict": answer}
    document = json.loads(certificate.read_text())
    draws = random.Random(1)
    made, rejected, named = collections.Counter(), 0, 0
    start = processor_seconds()
    while made.total() < config["mutants"] and processor_seconds() - start < config["mutant_seconds"]:
        kind, mutant = mutants.mutated(document, draws)
        if kind is None:
            break
        made[kind] += 1
        (folder / "mutant.json").write_text(json.dumps(mutant))
        code, text, _ = check(path, after, folder / "mutant.json")
        if code == mutants.REJECTED:
            rejected += 1
            named += mutants.NAMED.search(text) is not None
        else:
            print(f"{path.name}: a mutant ({kind}) ended with code {code}: {text}", file=sys.stderr)
    return {**row, "verdict": "accepted", **{name: answer[name] for name in
                                             ("steps", "rules", "rule_steps", "folds", "code_steps",
                                              "size_facts")},
            "bytes": certificate.stat().st_size, "optimize_s": f"{seconds:.2f}", "check_s": f"{checked:.2f}",
            "share": f"{checked / seconds:.4f}", "mutants": made.total(), "rejected": rejected, "named": named,
            **{kind: made[kind] for kind in mutants.KINDS}}


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = {**forms, **forms[mode]}
    table = results.Table("certificates", results.on_this_processor(mode), COLUMNS, ["model"],
                          {"threads": config["threads"]})
    work = settings.WithinTime(config["models"])
    for name, path, sizes, folder in models.without_row(table, config, work):
        table.add(model=name, egret=egret.version(), **row_of(path, sizes, folder, config))
    if work.left:
        return 0
    table.finish()
    table.print()
    return results.judge(HERE / "expected.json", mode, mutants.figures_of(table.rows))


if __name__ == "__main__":
    sys.exit(main())
