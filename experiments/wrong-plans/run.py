# SPDX-License-Identifier: Apache-2.0
"""Wrong distributed programs: faults seeded into the models of ranks, which `egret verify-plan` must find.

`egret plan --rank-models` writes the models. ONNX's reference evaluator runs all ranks in lockstep and shows that a
fault changes the outputs; one that does not is left out. Besides, Llamas in the form of Megatron-LM's ranks are
verified at their published sizes.
"""
import json
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

import numpy
import onnx

import faults
import lockstep
import megatron
from lib import egret, results, settings, small_models

HERE = pathlib.Path(__file__).resolve().parent
COUNTS = ["sites", "harmless", "not_run", "found", "wrong_node", "wrong_values", "wrong_interface", "undecided", "refused",
          "missed"]
COLUMNS = ["program", "fault", *COUNTS, "example", "egret"]
PROVEN, BAD_INPUT, UNDECIDED, WRONG = 0, 3, 5, 6  # exit codes


def classifier(folder):
    """Logits, and the softmax of them all."""
    m = small_models.Model("classifier")
    h = m.apply("Relu", [m.linear(m.input("x", [8, 64]), "up", 64, 128)])
    m.save(folder, m.apply("Softmax", [m.linear(h, "down", 128, 32)], axis=-1), [8, 32])


def build(model, folder):
    if model.startswith("zoo:"):
        egret.call("zoo", model[4:], "-o", folder / f"{model[4:]}.onnx")
        return folder / f"{model[4:]}.onnx"
    (classifier if model == "classifier" else getattr(small_models, model))(folder)
    return folder / f"{model}.onnx"


def planned(plan, folder):
    """The sequential model, and the models of the ranks."""
    source = build(plan["model"], folder)
    mesh = ",".join(f"{name}={size}" for name, size in plan["mesh"].items())
    egret.call("plan", source, "--mesh", mesh, "-o", folder / "plan.json", "--rank-models", folder / "ranks",
               *plan["flags"])
    if "--train" in plan["flags"]:
        loss = plan["flags"][plan["flags"].index("--loss") + 1]
        egret.call("grad", source, "--loss", loss, "-o", folder / "step.onnx")
        source = folder / "step.onnx"
    count = int(numpy.prod(list(plan["mesh"].values())))
    return source, [onnx.load(folder / "ranks" / f"rank{rank}.onnx") for rank in range(count)]


def drawn(model, seed):
    draws = numpy.random.default_rng(seed)
    inputs = {}
    for one in model.graph.input:
        shape = [dim.dim_value for dim in one.type.tensor_type.shape.dim]
        integers = one.type.tensor_type.elem_type != onnx.TensorProto.FLOAT
        inputs[one.name] = (draws.integers(0, 4, shape) if integers
                            else draws.standard_normal(shape).astype(numpy.float32))
    return inputs


def answer_to(words):
    """The column of the verdict, and the answer or the error."""
    done = subprocess.run([egret.PROGRAM, "verify-plan", *words, "--json"], capture_output=True, text=True, timeout=600,
                          check=False)
    answer = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    reason = answer.get("reason") or answer.get("verdict") or done.stderr.strip()
    if done.returncode == WRONG and answer.get("verdict") == "different":
        return "wrong_values", f"output '{answer['output']}' differs by {answer['difference']:.3g}"
    if done.returncode == WRONG:
        return ("wrong_node" if "on random inputs output" in reason else "wrong_interface"), reason
    return {PROVEN: "missed", UNDECIDED: "undecided", BAD_INPUT: "refused"}[done.returncode], reason


def verify(ranks, source, folder):
    place = folder / "wrong"
    place.mkdir(exist_ok=True)
    for old in place.glob("*.onnx"):
        old.unlink()
    for rank, model in enumerate(ranks):
        onnx.save(model, place / f"rank{rank}.onnx")
    return answer_to([place, source])


def row_of(name, verdicts, folder, **counts):
    """A row of what became of the programs with a fault."""
    row = {"fault": name, **dict.fromkeys(COUNTS, 0), **counts}
    for column, _ in verdicts:
        row[column] += 1
    row["found"] = sum(row[column] for column in ("wrong_node", "wrong_values", "wrong_interface", "undecided", "refused"))
    return {**row, "example": verdicts[0][1].replace(str(folder), "") if verdicts else ""}


def rows_of(plan, config, folder):
    """A row for each fault."""
    source, ranks = planned(plan, folder)
    mesh = plan["mesh"]
    sequential = onnx.load(source)
    inputs = drawn(sequential, config["seed"])
    expected = lockstep.run([sequential], {}, inputs)[0]
    shapes = lockstep.shapes_of(ranks, mesh, inputs)
    if not lockstep.agree(ranks, mesh, inputs, expected, shapes):
        raise RuntimeError(f"{plan['model']}: the ranks do not compute the model, says the reference evaluator")
    # Without a fault, as they are written and as faults are written: the types of inner values are left out.
    controls = [verify(ranks, source, folder), verify(faults.copies(ranks), source, folder)]
    yield {"fault": "none", "sites": 2, "found": 0, "missed": sum(column != "missed" for column, _ in controls),
           "example": "; ".join(reason for _, reason in controls)}
    draws = random.Random(config["seed"])
    for name, fault in faults.FAULTS.items():
        sites = list(fault(ranks, mesh))
        draws.shuffle(sites)
        effects, verdicts = [], []
        for wrong in sites[:config["sites"]]:
            effects.append(lockstep.effect(wrong, mesh, inputs, expected, shapes))
            if effects[-1] != "harmless":
                verdicts.append(verify(wrong, source, folder))
        if effects:
            yield row_of(name, verdicts, folder, sites=len(effects), harmless=effects.count("harmless"),
                         not_run=effects.count("not_run"))
    # What the next step reads is no output of this one, so no run of it shows the fault.
    sites = list(faults.carried(json.loads((folder / "plan.json").read_text())))
    draws.shuffle(sites)
    verdicts = []
    for wrong in sites[:config["sites"]]:
        (folder / "wrong.json").write_text(json.dumps(wrong))
        verdicts.append(answer_to([folder / "wrong.json"]))
    if verdicts:
        yield row_of(faults.CARRIED, verdicts, folder, sites=len(verdicts))


def llama_row(name, ranks, folder):
    """The processor seconds and memory of a Llama's proof."""
    source, rank = megatron.write(name, ranks, folder)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(["/usr/bin/env", "time", "-f", "%M", egret.PROGRAM, "verify-plan", rank, source, "--mesh",
                           f"tp={ranks}", "--json"], capture_output=True, text=True, check=False, timeout=3600)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    answer = json.loads(done.stdout)
    return {"model": name, "ranks": ranks, "verdict": answer["verdict"], "nodes": answer.get("nodes", ""),
            "exchanges": answer.get("exchanges", ""), "seconds": f"{seconds:.2f}",
            "mbytes": f"{int(done.stderr.split()[-1]) / 1024:.0f}"}


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = {**forms, **forms[mode]}
    manifest = {"seed": config["seed"]}
    table = results.Table("wrong-plans", mode, COLUMNS, ["program", "fault"], manifest, of_host=False)
    work = settings.WithinTime(config["plans"])
    for plan in work:
        mesh = ",".join(f"{name}={size}" for name, size in plan["mesh"].items())
        training = " training" if "--train" in plan["flags"] else ""
        program = f"{plan['model']}{training} {mesh}"
        if table.has(program=program):
            continue
        with tempfile.TemporaryDirectory() as folder:
            table.add_all([{"program": program, "egret": egret.version(), **dict.fromkeys(COUNTS, 0), **row}
                           for row in rows_of(plan, config, pathlib.Path(folder))])
    if work.left:
        return 0
    table.finish()
    table.print()
    faulty = [row for row in table.rows if row["fault"] != "none"]
    values = {"plans": len({row["program"] for row in table.rows}),
              "correct_refused": sum(int(row["missed"]) for row in table.rows if row["fault"] == "none"),
              "kinds": len({row["fault"] for row in faulty if int(row["found"]) > 0}),
              "wrong": sum(int(row["sites"]) - int(row["harmless"]) for row in faulty),
              "missed": sum(int(row["missed"]) for row in faulty)}
    if config["llama"]:
        large = results.Table("wrong-plans", f"{mode}-llama", ["model", "ranks", "verdict", "nodes", "exchanges",
                                                               "seconds", "mbytes", "egret"], ["model", "ranks"], manifest,
                              of_host=False)
        with tempfile.TemporaryDirectory() as folder:
            for name, ranks in config["llama"]:
                if not large.has(model=name, ranks=ranks):
                    large.add(egret=egret.version(), **llama_row(name, ranks, pathlib.Path(folder)))
        large.finish()
        large.print()
        values["llamas_proven"] = sum(row["verdict"] == "proven" for row in large.rows)
    return results.judge(HERE / "expected.json", mode, values)


if __name__ == "__main__":
    sys.exit(main())
