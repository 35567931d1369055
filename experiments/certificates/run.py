# SPDX-License-Identifier: Apache-2.0
"""Certificates of optimized models: whether they are accepted, their size, how long checking takes beside optimizing,
and how many altered certificates are rejected."""
import copy
import json
import pathlib
import random
import re
import resource
import subprocess
import sys

from lib import egret, models, results, settings

HERE = pathlib.Path(__file__).resolve().parent
CHECK = egret.PROGRAM.with_name("egret-check")
COLUMNS = ["model", "verdict", "operators", "after", "steps", "rules", "rule_steps", "folds", "code_steps",
           "size_facts", "bytes", "model_bytes", "optimize_s", "plain_s", "check_s", "share", "mutants", "rejected",
           "named"]
REJECTED = 6
# How egret-check names the first thing that is wrong.
NAMED = re.compile(r"(step \d+ \(|output '|term \d+|symbol \d+|value '|'.*' of 'obligations')")


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


def mutated(document, draws):
    """The document with one thing altered, and what that is."""
    made = copy.deepcopy(document)
    steps, terms = made["steps"], len(made["terms"])
    kinds = ["output"] + (["side", "drop"] if steps else [])
    if any(step[0] == "rule" and step[5] for step in steps):
        kinds += ["substitution", "rule"]
    if any(step[0] == "rule" for step in steps) and len(made["rules"]) > 1:
        kinds.append("other rule")
    if any(step[0] == "rule" and step[6] for step in steps):
        kinds.append("condition")
    if any(step[0] == "fold" for step in steps):
        kinds.append("fold")
    if len({output["before"] for output in made["outputs"]}) > 1:
        kinds.append("swapped outputs")
    if made.get("obligations"):
        kinds.append("fact")
    kind = draws.choice(kinds)
    if kind == "fact":
        del made["obligations"][draws.choice(list(made["obligations"]))]
    elif kind == "swapped outputs":
        first = draws.choice(made["outputs"])
        second = draws.choice([one for one in made["outputs"] if one["before"] != first["before"]])
        for member in ("before", "after", "step"):
            first[member], second[member] = second[member], first[member]
    elif kind == "other rule":
        step = draws.choice([step for step in steps if step[0] == "rule"])
        step[1] = (step[1] + draws.randrange(1, len(made["rules"]))) % len(made["rules"])
    elif kind == "condition":
        # Other attributes of an operator of the rule's source, with which it need not hold.
        step = draws.choice([step for step in steps if step[0] == "rule" and step[6]])
        place = draws.randrange(len(step[6]))
        step[6][place] = (step[6][place] + draws.randrange(1, len(made["symbols"]))) % len(made["symbols"])
    elif kind == "output":
        output = draws.choice(made["outputs"])
        output["after"] = (output["after"] + draws.randrange(1, terms)) % terms
    elif kind == "side":
        step = draws.choice([step for step in steps if step[0] not in ("sym", "trans")] or [["cong", 0, 0]])
        place = {"cong": 1, "fold": 1, "code": 2, "rule": 3}[step[0]] + draws.randrange(2)
        step[place] = (step[place] + draws.randrange(1, terms)) % terms
    elif kind == "drop":
        # Whatever relied on the step relies on t = t.
        gone = draws.randrange(len(steps))
        steps.pop(gone)

        def renumber(number):
            return -1 if number == gone else number - (number > gone)
        for step in steps:
            first = {"sym": 1, "trans": 1, "cong": 3}.get(step[0], len(step))
            step[first:] = map(renumber, step[first:])
        for output in made["outputs"]:
            output["step"] = renumber(output["step"])
    elif kind == "fold":
        step = draws.choice([step for step in steps if step[0] == "fold"])
        others = [number for number, term in enumerate(made["terms"]) if number != step[2] and len(term) == 1]
        step[2] = draws.choice(others)
    else:
        step = draws.choice([step for step in steps if step[0] == "rule" and step[5]])
        if kind == "rule":
            rule = made["rules"][step[1]]
            rule["hash"] = ("1" if rule["hash"][0] == "0" else "0") + rule["hash"][1:]
        else:
            place = draws.randrange(len(step[5]))
            step[5][place] = (step[5][place] + draws.randrange(1, terms)) % terms
    return kind, made


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
    made = rejected = named = 0
    start = processor_seconds()
    while made < config["mutants"] and processor_seconds() - start < config["mutant_seconds"]:
        kind, mutant = mutated(document, draws)
        made += 1
        (folder / "mutant.json").write_text(json.dumps(mutant))
        code, text, _ = check(path, after, folder / "mutant.json")
        if code == REJECTED:
            rejected += 1
            named += NAMED.search(text) is not None
        else:
            print(f"{path.name}: a mutant ({kind}) ended with code {code}: {text}", file=sys.stderr)
    return {**row, "verdict": "accepted", **{name: answer[name] for name in
                                             ("steps", "rules", "rule_steps", "folds", "code_steps",
                                              "size_facts")},
            "bytes": certificate.stat().st_size, "optimize_s": f"{seconds:.2f}", "check_s": f"{checked:.2f}",
            "share": f"{checked / seconds:.4f}", "mutants": made, "rejected": rejected, "named": named}


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = {**forms, **forms[mode]}
    table = results.Table("certificates", results.on_this_processor(mode), COLUMNS, ["model"],
                          {"egret": egret.version(), "threads": config["threads"]})
    for name, path, sizes, folder in models.without_row(table, config):
        table.add(model=name, **{column: "" for column in COLUMNS[1:]} | row_of(path, sizes, folder, config))
    table.finish()
    table.print()
    accepted = [row for row in table.rows if row["verdict"] == "accepted"]
    return results.judge(HERE / "expected.json", mode, {
        "accepted": len(accepted),
        "not_accepted": len(table.rows) - len(accepted),
        "mutants": sum(int(row["mutants"]) for row in accepted),
        "mutants_accepted": sum(int(row["mutants"]) - int(row["rejected"]) for row in accepted),
        "mutants_unnamed": sum(int(row["rejected"]) - int(row["named"]) for row in accepted)})


if __name__ == "__main__":
    sys.exit(main())
