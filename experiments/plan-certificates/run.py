# SPDX-License-Identifier: Apache-2.0
"""Certificates of plans on meshes of 2 to 8 devices: whether they are accepted, how long checking takes beside planning,
and how many altered plans and certificates are rejected."""
import collections
import json
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

import numpy
from lib import egret, mutants, results, settings
from lib import small_models as models

HERE = pathlib.Path(__file__).resolve().parent
CHECK = egret.PROGRAM.with_name("egret-check-plan")
COLUMNS = ["model", "mesh", "verdict", "nodes", "laws", "law_steps", "exchanges", "rings", "steps", "rule_steps",
           "folds", "code_steps", "bytes", "plan_s", "check_s", "share", "mutants", "rejected", "named",
           *mutants.PLAN_KINDS, "egret"]


def processor_seconds():
    """Of all processes that have ended: other processes do not disturb it."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def check(*files):
    """The exit code, the JSON or the error, and the processor seconds."""
    start = processor_seconds()
    done = subprocess.run([CHECK, "--json", *files], capture_output=True, text=True, timeout=3600, check=False)
    seconds = processor_seconds() - start
    return done.returncode, json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip(), seconds


def altered(model, plan, certificate, folder, config):
    """How many mutants were rejected, and named what is wrong; and their kinds."""
    draws = random.Random(1)
    kinds, rejected, named = collections.Counter(), 0, 0
    files = folder / "altered_plan.json", folder / "altered.json"
    start = processor_seconds()
    while kinds.total() < config["mutants"] and processor_seconds() - start < config["mutant_seconds"]:
        kind, *documents = mutants.mutated_plan(plan, certificate, draws)
        kinds[kind] += 1
        for file, document in zip(files, documents):
            file.write_text(json.dumps(document))
        code, text, _ = check(model, *files)
        if code == mutants.REJECTED:
            rejected += 1
            named += mutants.NAMED.search(text) is not None
        if code != mutants.REJECTED or not mutants.NAMED.search(text):
            print(f"{model.name}: a mutant ({kind}) ended with code {code}: {text}", file=sys.stderr)
    return kinds, rejected, named


def row_of(folder, name, mesh, config):
    model, plan, certificate = folder / f"{name}.onnx", folder / "plan.json", folder / "certificate.json"
    devices = int(numpy.prod([int(axis.split("=")[1]) for axis in mesh.split(",")]))
    start = processor_seconds()
    try:
        egret.call("plan", model, "--machine", "local", "--mesh", mesh, "-o", plan, "--certificate", certificate,
                   *models.flags(name, devices))
    except egret.EgretError as error:
        return {"verdict": error.stderr.strip().splitlines()[-1]}
    seconds = processor_seconds() - start
    code, answer, checked = check(model, plan, certificate)
    if code != 0:
        return {"verdict": answer}
    kinds, rejected, named = altered(model, json.loads(plan.read_text()), json.loads(certificate.read_text()), folder,
                                     config)
    return {"verdict": "accepted", **{column: answer[column] for column in COLUMNS[3:12]},
            "bytes": certificate.stat().st_size, "plan_s": f"{seconds:.2f}", "check_s": f"{checked:.2f}",
            "share": f"{checked / seconds:.4f}", "mutants": kinds.total(), "rejected": rejected, "named": named,
            **{kind: kinds[kind] for kind in mutants.PLAN_KINDS}}


def plans_of(config):
    """Models and meshes."""
    plans = [(name, mesh) for name in config["models"] for mesh in config["meshes"]]
    plans += [(name, mesh) for name in config["one_axis"] for mesh in config["meshes"] if "," not in mesh]
    return plans + [(name, mesh) for name in config["zoo"] for mesh in config["zoo_meshes"]]


def write(name, folder, config):
    if name in config["zoo"]:
        egret.run("zoo", name, "--sequence", config["sequence"], "-o", folder / f"{name}.onnx")
    else:
        models.WRITE[name](folder)


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = {**forms, **forms[mode]}
    table = results.Table("plan-certificates", results.on_this_processor(mode), COLUMNS, ["model", "mesh"],
                          {"machine": "local"})
    work = settings.WithinTime(plans_of(config))
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for name, mesh in work:
            if table.has(model=name, mesh=mesh):
                continue
            if not (folder / f"{name}.onnx").exists():
                write(name, folder, config)
            table.add(model=name, mesh=mesh, egret=egret.version(), **row_of(folder, name, mesh, config))
    if work.left:
        return 0
    table.finish()
    table.print()
    return results.judge(HERE / "expected.json", mode, mutants.figures_of(table.rows))


if __name__ == "__main__":
    sys.exit(main())
