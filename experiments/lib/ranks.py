# SPDX-License-Identifier: Apache-2.0
"""The egret program as so many ranks of mpirun."""
import os
import subprocess

from lib import egret

ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def command(count, *arguments):
    return ["mpirun", "--oversubscribe", "-n", str(count), str(egret.PROGRAM), *map(str, arguments)]


def run(count, *arguments, timeout=600):
    """Raises where the ranks fail."""
    return subprocess.run(command(count, *arguments), check=True, capture_output=True, text=True, env=ENVIRONMENT,
                          timeout=timeout)
