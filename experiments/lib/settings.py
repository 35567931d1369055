# SPDX-License-Identifier: Apache-2.0
"""How an experiment is to be run: its smallest or its full form, and its config.toml."""
import argparse
import os
import time
import tomllib


def read(description, folder):
    """The form that the command line asks for ("smoke" or "full", as without a flag), and config.toml."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--smoke", dest="mode", action="store_const", const="smoke", default="full")
    parser.add_argument("--full", dest="mode", action="store_const", const="full")
    return parser.parse_args().mode, tomllib.loads((folder / "config.toml").read_text())


def end():
    """When to stop, by time.monotonic(): after $EGRET_EXPERIMENT_SECONDS, with the row that is being measured then."""
    return time.monotonic() + float(os.environ.get("EGRET_EXPERIMENT_SECONDS", "inf"))
