# SPDX-License-Identifier: Apache-2.0
"""Certificates with one thing altered."""
import copy
import re

REJECTED = 6  # exit code of egret-check and egret-check-plan
# How they name the first thing that is wrong.
NAMED = re.compile(r"(step \d+ \(|output '|term \d+|symbol \d+|value '|'.*' of 'obligations'|node \d+|nodes, and|"
                   "of a plan with the hash)")
KINDS = ("substitution", "dropped_step", "other_rule", "rule_hash", "condition", "swapped_output", "other_output",
         "fold", "side", "fact")


def figures_of(rows):
    """What is judged of the rows of a table: certificates of correct results, and mutants of accepted ones."""
    accepted = [row for row in rows if row["verdict"] == "accepted"]
    return {"accepted": len(accepted),
            "not_accepted": len(rows) - len(accepted),
            "mutants": sum(int(row["mutants"]) for row in accepted),
            "mutants_accepted": sum(int(row["mutants"]) - int(row["rejected"]) for row in accepted),
            "mutants_unnamed": sum(int(row["rejected"]) - int(row["named"]) for row in accepted)}


def swap(record, first, second):
    record[first], record[second] = record[second], record[first]


def kinds_of(document):
    """Those that alter something of this certificate of a model."""
    steps = document["steps"]
    instances = [step for step in steps if step[0] == "rule"]
    has = {
        "substitution": any(step[5] for step in instances),
        "dropped_step": steps,
        "other_rule": instances and len(document["rules"]) > 1,
        "rule_hash": instances,
        "condition": any(step[6] for step in instances),
        "swapped_output": any(output["before"] != output["after"] for output in document["outputs"]),
        "other_output": len(document["terms"]) > 1,
        "fold": any(step[0] == "fold" for step in steps),
        "side": any(step[0] not in ("sym", "trans") for step in steps),
        "fact": document.get("obligations"),
    }
    return [kind for kind in KINDS if has[kind]]


def other(number, end, draws):
    return (number + draws.randrange(1, end)) % end


def drop_step(made, gone):
    """Whatever relied on the step relies on t = t."""
    made["steps"].pop(gone)

    def renumber(number):
        return -1 if number == gone else number - (number > gone)
    for step in made["steps"]:
        first = {"sym": 1, "trans": 1, "cong": 3}.get(step[0], len(step))
        step[first:] = map(renumber, step[first:])
    for output in made["outputs"]:
        output["step"] = renumber(output["step"])


def swap_outputs(made, draws):
    """Two outputs change places, or the two sides of one."""
    first = draws.choice([one for one in made["outputs"] if one["before"] != one["after"]])
    others = [one for one in made["outputs"] if one["before"] != first["before"]]
    if not others:
        return swap(first, "before", "after")
    second = draws.choice(others)
    for member in ("before", "after", "step"):
        first[member], second[member] = second[member], first[member]


def mutated(document, draws):
    """The certificate of a model with one thing altered, and what that is; None where there is nothing."""
    kinds = kinds_of(document)
    if not kinds:
        return None, None
    kind = draws.choice(kinds)
    made = copy.deepcopy(document)
    steps, terms = made["steps"], len(made["terms"])

    def one_of(name, holds=lambda step: True):
        return draws.choice([step for step in steps if step[0] == name and holds(step)])
    if kind == "substitution":
        step = one_of("rule", lambda step: step[5])
        if len(set(step[5])) > 1:  # flipped
            first, second = draws.sample(range(len(step[5])), 2)
            while step[5][first] == step[5][second]:
                first, second = draws.sample(range(len(step[5])), 2)
            swap(step[5], first, second)
        else:
            step[5][0] = other(step[5][0], terms, draws)
    elif kind == "dropped_step":
        drop_step(made, draws.randrange(len(steps)))
    elif kind == "other_rule":
        step = one_of("rule")
        step[1] = other(step[1], len(made["rules"]), draws)
    elif kind == "rule_hash":
        rule = made["rules"][one_of("rule")[1]]
        rule["hash"] = ("1" if rule["hash"][0] == "0" else "0") + rule["hash"][1:]
    elif kind == "condition":
        # Other attributes of an operator of the rule's source, with which it need not hold.
        step = one_of("rule", lambda step: step[6])
        place = draws.randrange(len(step[6]))
        step[6][place] = other(step[6][place], len(made["symbols"]), draws)
    elif kind == "swapped_output":
        swap_outputs(made, draws)
    elif kind == "other_output":
        output = draws.choice(made["outputs"])
        output["after"] = other(output["after"], terms, draws)
    elif kind == "fold":
        step = one_of("fold")
        step[2] = draws.choice([n for n, term in enumerate(made["terms"]) if n != step[2] and len(term) == 1])
    elif kind == "side":
        step = draws.choice([step for step in steps if step[0] not in ("sym", "trans")])
        place = {"cong": 1, "fold": 1, "code": 2, "rule": 3}[step[0]] + draws.randrange(2)
        step[place] = other(step[place], terms, draws)
    else:
        del made["obligations"][draws.choice(list(made["obligations"]))]
    return kind, made


PLAN_KINDS = ("other_law", "law_hash", "dropped_node", "reason", "placement", "attribute", "model_proof")


def mutated_plan(plan, document, draws):
    """A plan and its certificate with one thing altered in either, and what that is."""
    plan, document = copy.deepcopy(plan), copy.deepcopy(document)
    nodes, laws, program = document["nodes"], document["laws"], plan["program"]
    with_laws = [node for node in nodes if node[0] == "laws" and len(node) > 1]
    placed = [node for node in program if "inputs" in node and node["placement"].replace(":R", "") != node["placement"]
              or ":S" in node["placement"]]
    with_attributes = [node for node in program if node.get("attributes")]
    kinds = ["dropped_node", "reason"] + (["law_hash"] if laws else []) + (["placement"] if placed else [])
    kinds += ["other_law"] if with_laws and len(laws) > 1 else []
    kinds += ["attribute"] if with_attributes else []
    kinds += ["model_proof"] if kinds_of(document["model"]) else []
    kind = draws.choice(kinds)
    if kind == "other_law":
        node = draws.choice(with_laws)
        place = draws.randrange(1, len(node))
        node[place] = other(node[place], len(laws), draws)
    elif kind == "law_hash":
        law = draws.choice(laws)
        law["hash"] = ("1" if law["hash"][0] == "0" else "0") + law["hash"][1:]
    elif kind == "dropped_node":
        nodes.pop(draws.randrange(len(nodes)))
    elif kind == "reason":
        number = draws.randrange(len(nodes))
        nodes[number] = ["exchange", "all_reduce"] if nodes[number][0] != "exchange" else ["leaf"]
    elif kind == "placement":
        node = draws.choice(placed)
        node["placement"] = re.sub(r":(S\(\d+\)[^,]*|R)", lambda found: ":P(sum)" if found[1] != "R" else ":S(0)",
                                   node["placement"], count=1)
    elif kind == "attribute":
        node = draws.choice(with_attributes)
        node["attributes"].pop(draws.choice(list(node["attributes"])))
    else:
        document["model"] = mutated(document["model"], draws)[1]
    return kind, plan, document
