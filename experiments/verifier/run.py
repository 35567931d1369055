# SPDX-License-Identifier: Apache-2.0
"""Proofs of the rules that come with Egret, for all sizes."""
import argparse
import pathlib
import statistics
import sys
import tomllib

from lib import egret, results

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["rule", "status", "method", "families", "queries", "seconds", "reason"]
VERDICTS = (10, 20, 30)  # exit codes: all proven, one refuted, one undecided


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", dest="mode", action="store_const", const="smoke", default="full")
    parser.add_argument("--full", dest="mode", action="store_const", const="full")
    mode = parser.parse_args().mode
    selection = tomllib.loads((HERE / "config.toml").read_text())[mode]["selection"]
    table = results.Table("verifier", mode, COLUMNS, ["rule"], {"egret": egret.version(), "selection": selection})
    if not table.rows:
        for rule in egret.call("rules", "verify", selection, accept=VERDICTS)["rules"]:
            table.add(rule=rule["name"], seconds=f"{rule['seconds']:.4f}",
                      **{column: rule[column] for column in ("status", "method", "families", "queries", "reason")})
    table.finish()
    table.print()
    status = [row["status"] for row in table.rows]
    seconds = [float(row["seconds"]) for row in table.rows]
    print(f"{status.count('proven')} of {len(status)} proven; median {statistics.median(seconds):.3f} s, "
          f"longest {max(seconds):.2f} s")
    return results.judge(HERE / "expected.json", mode, {
        "refuted": status.count("refuted"),
        "proven_share": status.count("proven") / len(status),
    })


if __name__ == "__main__":
    sys.exit(main())
