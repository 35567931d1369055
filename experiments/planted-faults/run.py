# SPDX-License-Identifier: Apache-2.0
"""Faults planted in the rules, kernels and importers of Egret: which line of defence catches each, and the small model
that `egret reduce` finds for it."""
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

from lib import egret, models, results, settings

HERE = pathlib.Path(__file__).resolve().parent
BUILD = egret.PROGRAM.parents[1]
COLUMNS = ["fault", "kind", "file", "caught_by", "code", "message", "oracle_only", "nodes", "reduced", "operators",
           "checks", "reduce_s"]


def command_of(target):
    """The last command of the build for a target."""
    done = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", target], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


def program_with(fault, folder):
    """The path of an egret that has the fault: one source is compiled again, and linked before the libraries."""
    source = egret.ROOT / fault["file"]
    text = source.read_text()
    if text.count(fault["old"]) != 1:
        raise SystemExit(f"{fault['file']} does not have the text of '{fault['name']}' once")
    altered, made, program = folder / source.name, folder / "altered.o", folder / "egret"
    altered.write_text(text.replace(fault["old"], fault["new"]))
    library, rest = fault["file"].split("/", 1)
    target = f"{library}/CMakeFiles/egret_{library}.dir/{rest}.o"
    compiled = re.sub(r"-c \S+", f"-c {altered}", command_of(target).replace(target, str(made)))
    subprocess.run(compiled, shell=True, cwd=BUILD, check=True)
    linked = command_of("bin/egret")
    linked = linked.replace("-o bin/egret", f"{made} -o {program}")
    subprocess.run(linked, shell=True, cwd=BUILD, check=True)
    return program


def last_line(text):
    lines = [line for line in text.strip().splitlines() if line]
    return lines[-1][:300] if lines else ""


def caught(program, path, folder, flags, oracle):
    """The exit code and the message of an optimization."""
    command = [program, "optimize", path, "-o", folder / "made.onnx", *flags, "--oracle", oracle, "--engine-python",
               sys.executable]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    return done.returncode, last_line(done.stderr)


def line_of(message):
    """The line of defence that says this."""
    if "onnxruntime" in message:
        return "ONNX Runtime"
    if "not proven" in message or "untested" in message:
        return "the proof of rules"
    return "the output check"


def row_of(fault, path, folder, config):
    bind = models.bind_flags(config["bind"])
    flags = [*config["kernel_flags" if fault["kind"] == "kernel" else "flags"], *bind]
    program = egret.PROGRAM
    row = {"fault": fault["name"], "kind": fault["kind"], "file": fault.get("file", "")}
    if fault["kind"] == "rule":
        rules = folder / "planted.rules"
        rules.write_text(fault["rule"])
        refused = caught(program, path, folder, [*flags, "--rules", f"default,{rules}"], "none")
        row |= {"caught_by": line_of(refused[1]), "code": refused[0], "message": refused[1]}
        # The rest is about the fault where this line of defence is switched off.
        flags += ["--rules", str(rules), "--allow", "untested"]
    else:
        program = program_with(fault, folder)
    own = caught(program, path, folder, flags, "none")
    with_oracle = own if own[0] == 6 else caught(program, path, folder, flags, "onnxruntime")
    row["oracle_only"] = int(own[0] != 6 and with_oracle[0] == 6)
    if "caught_by" not in row:
        row |= {"caught_by": line_of(with_oracle[1]) if with_oracle[0] == 6 else "none", "code": with_oracle[0],
                "message": with_oracle[1]}
    else:
        row["caught_by"] += f", {line_of(with_oracle[1])}" if with_oracle[0] == 6 else ""
    if with_oracle[0] != 6:
        return row
    oracle = "onnxruntime" if row["oracle_only"] else "none"
    words = [program, "optimize", "{}", "-o", folder / "o.onnx", *(flag for flag in flags if flag not in bind),
             "--quiet", "--oracle", oracle, "--engine-python", sys.executable]
    if fault["kind"] == "kernel":
        words = [program, *config["kernel_check"]]
    check = " ".join(shlex.quote(str(word)) if word != "{}" else "{}" for word in words) + "; test $? -eq 6"
    small = folder / "small.onnx"
    start = time.monotonic()
    found = json.loads(subprocess.run([egret.PROGRAM, "reduce", path, "-o", small, "--json", "--check", check],
                                      capture_output=True, text=True, check=True).stdout)
    seconds = time.monotonic() - start
    listed = subprocess.run([egret.PROGRAM, "inspect", "--json", small], capture_output=True, text=True, check=True)
    return {**row, "nodes": found["nodes_before"], "reduced": found["nodes"], "checks": found["checks"],
            "operators": " ".join(re.findall(r'"name": "(\w+)"', listed.stdout))[:80], "reduce_s": f"{seconds:.1f}"}


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = {**forms, **forms[mode]}
    table = results.Table("planted-faults", results.on_this_processor(mode), COLUMNS, ["fault"],
                          {"egret": egret.version(), "model": config["model"]})
    for fault in forms["faults"][:forms[mode]["faults"]]:
        if table.has(fault=fault["name"]):
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            table.add(**row_of(fault, models.locate(config["model"], folder), folder, config))
    table.finish()
    table.print()
    reduced = [row for row in table.rows if row["reduced"]]
    return results.judge(HERE / "expected.json", mode, {
        "faults": len(table.rows), "kinds": len({row["kind"] for row in table.rows}),
        "not_caught": sum(row["caught_by"] == "none" or not row["reduced"] for row in table.rows),
        "largest": max((int(row["reduced"]) for row in reduced), default=0),
        "longest_s": max((float(row["reduce_s"]) for row in reduced), default=0)})


if __name__ == "__main__":
    sys.exit(main())
