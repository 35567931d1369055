# SPDX-License-Identifier: Apache-2.0
"""Failures. Each class has the meaning, and the number, of an exit code of the command line.

The message names the place (file, node, operator, option), the reason, and the remedy if there is one.
"""


class Error(Exception):
    """A failure that Egret reports."""

    exit_code = 1


class Internal(Error):
    """A bug in Egret."""

    exit_code = 1


class Usage(Error, ValueError):
    """An option or argument has a wrong name or value."""

    exit_code = 2


class BadInput(Error, ValueError):
    """A file, model, rule or array is malformed."""

    exit_code = 3


class Unsupported(Error, NotImplementedError):
    """The input is well-formed, but has an operator or feature that Egret lacks."""

    exit_code = 4


class Limit(Error):
    """A limit was reached, or memory ran out, before there was a result."""

    exit_code = 5


class Mismatch(Error):
    """A result failed verification."""

    exit_code = 6


class Unavailable(Error):
    """A device, backend, library or file is missing."""

    exit_code = 7


class RankFailed(Error):
    """A rank of a distributed run failed."""

    exit_code = 8


for _class in (
    Error,
    Internal,
    Usage,
    BadInput,
    Unsupported,
    Limit,
    Mismatch,
    Unavailable,
    RankFailed,
):
    _class.__module__ = "egret"
