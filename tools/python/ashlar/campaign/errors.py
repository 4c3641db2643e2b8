# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors that a user reads, with the exit codes of the other tools."""

import enum


class Exit(enum.IntEnum):
    """Exit codes by class (docs/UserGuide.md)."""

    OK = 0
    INTERNAL = 1
    USAGE = 2
    UNSUPPORTED = 3
    MALFORMED = 4
    CAPACITY = 5
    MISMATCH = 6


class Failure(Exception):
    """An error with its exit code; the text is one paragraph for the user."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def usage(text: str) -> Failure:
    """A wrong command line."""
    return Failure(Exit.USAGE, text)


def malformed(text: str) -> Failure:
    """A file that does not hold what it should."""
    return Failure(Exit.MALFORMED, text)
