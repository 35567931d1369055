# SPDX-License-Identifier: Apache-2.0
"""docs/discovered_rules.md: the rules of the generator's runs over operators that TASO's generator has not.

    python3 discovered.py > ../../docs/discovered_rules.md
"""
import pathlib
import re
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE.parent / "results" / "generator"
# What TASO's generator has; a rule that has more is beyond it.
TASO = {"matmul", "add", "mul", "relu", "concat", "slice", "transpose", "eye", "fill"}
WORDS = re.compile(r"\b([a-z_]+)(?=[({])")
NOT_OPERATORS = {"dim", "rank", "compose", "index_of", "inverse", "same_type", "is_float", "dtype", "range", "real"}


def beyond(text):
    operators = set(WORDS.findall(text)) - NOT_OPERATORS
    windows = "strides" in text or "kernel" in text
    return bool(operators - TASO) or windows


def main():
    runs = tomllib.loads((HERE / "config.toml").read_text())["full"]["runs"]
    print("# Rules that the generator found beyond TASO's operators\n")
    print("Made by `experiments/generator/discovered.py` from the rules that `experiments/run_all --full generator`")
    print("keeps. Each is proven for all sizes and attributes that its conditions admit; a rule and its other")
    print("direction count once.\n")
    for run in runs:
        path = RESULTS / f"{run['name']}.rules"
        if run["name"] == "taso" or not path.exists():
            continue
        rules = re.split(r"^(?=rule )", path.read_text(), flags=re.MULTILINE)[1:]
        chosen = [r.strip() for r in rules if beyond(r) and not r.split("\n")[0].strip().endswith("-reversed")]
        print(f"## {run['name']}: {len(chosen)} rules\n\n    egret rules generate {' '.join(run['arguments'])} -o DIR\n")
        print("```\n" + "\n\n".join(chosen) + "\n```\n")


if __name__ == "__main__":
    main()
