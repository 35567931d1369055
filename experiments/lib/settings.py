# SPDX-License-Identifier: Apache-2.0
"""How an experiment is to be run: its smallest or its full form, and its config.toml."""
import argparse
import os
import time
import tomllib


def parser(description):
    """Of the flags that every experiment has; `mode` is the form, "smoke" or "full" (as without a flag)."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--smoke", dest="mode", action="store_const", const="smoke", default="full")
    made.add_argument("--full", dest="mode", action="store_const", const="full")
    return made


def config_of(folder):
    return tomllib.loads((folder / "config.toml").read_text())


def read(description, folder):
    """The form that the command line asks for, and config.toml."""
    return parser(description).parse_args().mode, config_of(folder)


class WithinTime:
    """The items, for $EGRET_EXPERIMENT_SECONDS: none is begun after that. `left` are those that were not, which is said."""

    def __init__(self, items):
        self.left = list(items)
        self.end = time.monotonic() + float(os.environ.get("EGRET_EXPERIMENT_SECONDS", "inf"))

    def __iter__(self):
        while self.left and time.monotonic() < self.end:
            yield self.left.pop(0)
        if self.left:
            print("the time is over; the same command goes on with what is left")
