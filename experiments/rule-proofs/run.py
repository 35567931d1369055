# SPDX-License-Identifier: Apache-2.0
"""Proofs of rules as certificates: how many are replayed without a solver, their size, the time of checking, and how
many altered certificates are rejected. And the rules as theorems: how many of them Coq shows."""
import copy
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import coq
from lib import egret, results, settings

HERE = pathlib.Path(__file__).resolve().parent
CHECK = egret.PROGRAM.with_name("egret-check-rule")
COLUMNS = ["rule", "verdict", "families", "kinds", "complete", "any_rank", "contradictions", "of_solver", "bytes",
           "check_s", "mutants", "rejected", "error", "theorems", "coq", "coq_s", "coq_error", "egret"]
CHUNK = 8  # rules that are verified at once: a run that is ended loses one chunk


def check(lines, folder):
    """The answers, one for each of the certificates."""
    path = folder / "checked.jsonl"
    path.write_text("".join(line + "\n" for line in lines))
    done = subprocess.run([CHECK, "--json", path], capture_output=True, text=True, timeout=3600, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()]


def with_other_number(number, draws):
    return number + draws.choice([-2, -1, 1, 2, 5])


def mutated(document, draws):
    """The certificate with one thing altered, and what that is. Not all alterations matter: an unused summand does
    not exist, but another instance of the same family proves the same."""
    made = copy.deepcopy(document)
    kinds = ["dropped family", "dropped kind", "claim", "hash", "rule"]
    if made["contradictions"]:
        kinds += ["dropped contradiction"] * 2 + ["factor"] * 4 + ["fact"] * 4 + ["step"] * 2
    if any(kind["runs"] for kind in made["kinds"]):
        kinds += ["dropped run"] * 2
    kind = draws.choice(kinds)
    if kind == "dropped family":
        made["families"].pop(draws.randrange(len(made["families"])))
    elif kind == "dropped kind":
        if not made["kinds"]:
            return None, None
        made["kinds"].pop(draws.randrange(len(made["kinds"])))
    elif kind == "dropped run":
        one = draws.choice([one for one in made["kinds"] if one["runs"]])
        one["runs"].pop(draws.randrange(len(one["runs"])))
    elif kind == "claim":
        claim = made["claim"]
        key = draws.choice(["families", "kinds", "complete", "rank"])
        claim[key] = with_other_number(claim[key], draws)
    elif kind == "hash":
        made["hash"] = ("1" if made["hash"][0] == "0" else "0") + made["hash"][1:]
    elif kind == "rule":
        # A rule with its sides exchanged, or without a condition, has another hash.
        made["rule"] = made["rule"].replace("=>", "=> relu(", 1) + ")" if draws.random() < 0.5 \
            else made["rule"].replace(" where ", " where 1 == 1 and ", 1)
        if made["rule"] == document["rule"]:
            return None, None
    else:
        name = draws.choice(list(made["contradictions"]))
        proof = made["contradictions"][name]
        sums = [step for step in proof["steps"] if step[0] == "sum" and len(step) > 1]
        if kind == "dropped contradiction":
            del made["contradictions"][name]
        elif kind == "step":
            inner = [step for step in proof["steps"] if step[0] in ("truth", "apart", "bound")]
            if not inner:
                return None, None
            step = draws.choice(inner)
            place = draws.choice([-1, -2] if step[0] == "bound" else [1, -1, -2])
            step[place] = with_other_number(step[place], draws)
        elif not sums:
            return None, None
        elif kind == "factor":
            # Positive multiples of a sum of one summand stay true.
            step = draws.choice(sums)
            summand = step[draws.randrange(1, len(step))]
            summand[0] = -1 if summand[0] != -1 else -2
        else:
            step = draws.choice(sums)
            summand = step[draws.randrange(1, len(step))]
            summand[1][0] = with_other_number(summand[1][0], draws)
    return kind, made


def theorem_of(stated, config, folder):
    """The columns of a rule as a theorem."""
    if "reason" in stated:
        return {"coq": "not stated", "coq_error": stated["reason"]}
    row = {"theorems": stated["statements"]}
    if not config["coq"]:
        return {**row, "coq": "no Coq"}
    if stated["statements"] > config["coq_statements"]:
        return {**row, "coq": "left out"}
    verdict, seconds, error = coq.check(folder, stated["file"], config["coq_seconds"])
    return {**row, "coq": verdict, "coq_s": f"{seconds:.1f}", "coq_error": error}


def row_of(line, config, folder):
    document = json.loads(line)
    answer = check([line], folder)[0]
    row = {"rule": document["rule"].split()[1], "families": len(document["families"]),
           "kinds": document["claim"]["kinds"], "complete": document["claim"]["complete"],
           "any_rank": int(document["claim"]["any_rank"]), "contradictions": len(document["contradictions"]),
           "of_solver": len(document["solver"]), "bytes": len(line), "check_s": f"{answer['seconds']:.3f}",
           "verdict": "accepted" if answer["accepted"] else "needs the solver" if answer["needs_solver"]
           else "rejected", "error": answer.get("error", "")}
    if not answer["accepted"]:
        return row
    draws = random.Random(row["rule"])
    mutants = []
    for _ in range(5 * config["mutants"]):
        kind, mutant = mutated(document, draws)
        if mutant is not None and len(mutants) < config["mutants"]:
            mutants.append((kind, json.dumps(mutant)))
    answers = check([text for _, text in mutants], folder)
    taken = [(kind, one) for (kind, _), one in zip(mutants, answers, strict=True) if one["accepted"]]
    for kind, one in taken:
        print(f"{row['rule']}: a mutant ({kind}) is accepted", file=sys.stderr)
    return {**row, "mutants": len(mutants), "rejected": len(mutants) - len(taken)}


def names_of(selection):
    return [rule["name"] for rule in egret.call("rules", "list", selection)["rules"] if rule["status"] != "dynamic"]


def rows_of(rules, config, folder):
    path, theorems = folder / "proofs.jsonl", folder / "theorems"
    egret.call("rules", "verify", ",".join(rules), "--certificates", path, accept=(0, 20, 30))
    lines = {json.loads(line)["rule"].split()[1]: line for line in path.read_text().splitlines()}
    stated = dict(zip(lines, coq.state(path, theorems), strict=True))
    if config["coq"]:
        coq.check(theorems, "Laws.v", 600)
    for rule in rules:
        if rule in lines:
            yield row_of(lines[rule], config, folder) | theorem_of(stated[rule], config, theorems)
        else:  # proven by other rules, member by member, or not at all
            yield {"rule": rule, "verdict": "no certificate"}


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = {**forms, **forms[mode], "coq": coq.version()}
    table = results.Table("rule-proofs", results.on_this_processor(mode), COLUMNS, ["rule"], {"coq": config["coq"]})
    rules = [rule for selection in config["selections"] for rule in names_of(selection) if not table.has(rule=rule)]
    rules = list(dict.fromkeys(rules))
    work = settings.WithinTime(rules[i:i + CHUNK] for i in range(0, len(rules), CHUNK))
    for chunk in work:
        with tempfile.TemporaryDirectory() as folder:
            for row in rows_of(chunk, config, pathlib.Path(folder)):
                table.add(egret=egret.version(), **row)
    if work.left:
        return 0
    table.finish()
    table.print()
    accepted = [row for row in table.rows if row["verdict"] == "accepted"]
    values = {"accepted": len(accepted),
              "rejected": sum(row["verdict"] == "rejected" for row in table.rows),
              "need_solver": sum(row["verdict"] == "needs the solver" for row in table.rows),
              "mutants": sum(int(row["mutants"]) for row in accepted),
              "mutants_accepted": sum(int(row["mutants"]) - int(row["rejected"]) for row in accepted)}
    if config["coq"]:
        values["theorems"] = sum(row["coq"] == "accepted" for row in table.rows)
    return results.judge(HERE / "expected.json", mode, values)


if __name__ == "__main__":
    sys.exit(main())
