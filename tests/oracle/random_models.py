#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random models with open sizes through `egret optimize --quick`: none is refused, hardly any
has more nodes afterwards, and ONNX Runtime computes the same of both at three assignments of the sizes.

Usage: random_models.py EGRET [COUNT [FIRST [FOLDER]]]

Models have the seeds FIRST, FIRST + 1, ... FOLDER keeps the models that fail.
"""

import collections
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import oracle
import random_graphs


def verdict(egret: str, seed: int, keep) -> str:
    """"ok", "none: ..." if ONNX Runtime does not take the original, or what is wrong."""
    made = random_graphs.RandomModel(seed)
    with tempfile.TemporaryDirectory(prefix="egret-random-") as folder:
        before, after = pathlib.Path(folder, "before.onnx"), pathlib.Path(folder, "after.onnx")
        model = made.model()
        oracle.onnx.save(model, before)
        expected = {}
        for index in range(made.count):
            try:
                expected[index] = oracle.run(before, made.arrays(index))
            except Exception as error:
                reason = str(error)
        if not expected:
            return f"none: {reason[:200]}"
        text = compare(egret, made, model, before, after, expected)
        if text != "ok" and keep:
            pathlib.Path(keep).mkdir(parents=True, exist_ok=True)
            shutil.copy(before, pathlib.Path(keep, f"{seed}.onnx"))
            if after.exists():
                shutil.copy(after, pathlib.Path(keep, f"{seed}.after.onnx"))
        return text


def compare(egret, made, model, before, after, expected) -> str:
    command = [egret, "optimize", str(before), "-o", str(after), "--quick", "--quiet", "--threads", "1",
               "--cost-db", f"{before.parent}/costs"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode not in (0, 5) or not after.exists():  # 5: a limit of time on a busy machine
        return f"refused: exit {done.returncode}, {done.stderr.strip()[-300:]}"
    nodes = lambda graph: sum(1 for node in graph.node if node.op_type != "Constant")
    result = oracle.onnx.load(after)
    if nodes(result.graph) > nodes(model.graph):
        return f"grown: {nodes(model.graph)} nodes became {nodes(result.graph)}"
    for index, wanted in expected.items():
        try:
            got = oracle.run(after, made.arrays(index))
        except Exception as error:
            return f"not run: at {made.at[index]}: {str(error)[:300]}"
        wrong = [i for i, (a, b) in enumerate(zip(wanted, got)) if not oracle.agree(a, b)]
        if wrong:
            return f"wrong: outputs {wrong} differ at {made.at[index]}"
    return "ok"


if __name__ == "__main__":
    egret = sys.argv[1]
    count, first = (int(text) for text in (sys.argv[2:4] + ["100", "1"][len(sys.argv[2:4]):]))
    folder = sys.argv[4] if len(sys.argv) > 4 else None
    kinds = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        seeds = range(first, first + count)
        for seed, text in zip(seeds, pool.map(lambda seed: verdict(egret, seed, folder), seeds)):
            kinds[text.split(":")[0]] += 1
            if not text.startswith(("ok", "none")):
                print(f"seed {seed}: {text}", flush=True)
    print(", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items())))
    # Models that ONNX Runtime refuses show nothing; there must be few. Sizes of a value that is not
    # written yet are computed anew, which may take more nodes than the model had.
    failed = count - kinds["ok"] - kinds["none"] - kinds["grown"]
    sys.exit(1 if failed or kinds["none"] * 5 > count or kinds["grown"] * 30 > count else 0)
