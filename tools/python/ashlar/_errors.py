# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exceptions by class of error; `code` is the exit code that a tool would have."""


class Error(Exception):
    """What Ashlar refuses, in words."""

    code = 1


class InternalError(Error, RuntimeError):
    """A bug of Ashlar: please report it."""

    code = 1


class UsageError(Error, ValueError):
    """A wrong option, name or argument."""

    code = 2


class UnsupportedError(Error, NotImplementedError):
    """Well formed, but outside what is compiled or run."""

    code = 3


class MalformedError(Error, ValueError):
    """A file or an array that is not what it claims to be."""

    code = 4


class CapacityError(Error, MemoryError):
    """More memory or space than there is or was allowed."""

    code = 5


class MismatchError(Error, AssertionError):
    """Computed and expected results differ."""

    code = 6


CLASSES = {kind.code: kind for kind in (
    InternalError, UsageError, UnsupportedError, MalformedError, CapacityError,
    MismatchError)}


def raise_error(code, message):
    """Called by the extension."""
    raise CLASSES.get(code, InternalError)(message)
