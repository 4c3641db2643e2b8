# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Command lines with the rules of the compiled tools (ashlar/Support/OptionTable.h).

`--name=value` and `--name value`, one or two dashes, `@FILE` for the arguments in a
file, `--` before arguments that only look like options. Errors are usage errors
that name the argument and what was expected.
"""

import os
import shlex
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from .errors import usage
from .spelling import did_you_mean

FORM_WIDTH = 32  # of --option=WHAT in --help
LINE_WIDTH = 80
OPTIONS, GENERAL = "options", "general options"
MOST_ARGUMENT_BYTES = 2**24


@dataclass(frozen=True)
class Option:
    """One option; `what` says what its value is, a switch has none."""

    name: str  # without dashes; of one letter it has one dash
    what: str
    words: str  # if they end with a colon, --help continues with the values
    group: str = OPTIONS
    values: tuple[str, ...] = ()  # all that there are, the default first
    number: bool = False  # the value is a whole number of at least `least`
    least: int = 1
    repeats: bool = False
    default: Any = None
    required: bool = False
    key: str = ""  # the attribute, if it is not the name

    @property
    def dashed(self) -> str:
        """As messages call it."""
        return ("-" if len(self.name) == 1 else "--") + self.name

    @property
    def attribute(self) -> str:
        return self.key or self.name.replace("-", "_")

    def form(self) -> str:
        """As --help shows it."""
        return self.dashed + (f"{' ' if len(self.name) == 1 else '='}{self.what}" if self.what else "")

    def help(self) -> str:
        if not self.words.endswith(":"):
            return self.words
        first, *rest = self.values
        return f"{self.words} " + listed([f"{first} (default)", *rest], 0)

    def read(self, text: str) -> Any:
        """The value in `text`, checked."""
        problem = ""
        if self.values and text not in self.values:
            problem = f"expected {listed(self.values)}{did_you_mean(text, self.values)}"
        elif self.number and not (text.isascii() and text.isdigit() and len(text) < 10
                                  and int(text) >= self.least):
            problem = f"expected a whole number of at least {self.least}"
        elif not text:
            problem = "expected a value"
        if problem:
            raise usage(f"option {self.dashed} is '{text}', {problem}")
        return int(text) if self.number else text


def listed(values: Sequence[str], most: int = 5) -> str:
    """"a, b or c"; lists that are longer say so first."""
    if most and len(values) > most:
        return "one of " + ", ".join(values)
    return ", ".join(values[:-1]) + " or " + values[-1]


@dataclass(frozen=True)
class Positional:
    """Arguments without a name: one file, or as many as there are."""

    attribute: str
    many: bool = False


def help_lines(form: str, text: str) -> str:
    """One option of --help."""
    lines = f"  {form:<{FORM_WIDTH}}"
    indent = "\n" + " " * (2 + FORM_WIDTH)
    if len(form) > FORM_WIDTH:
        lines += indent
    column = 2 + FORM_WIDTH
    for word in text.split():
        if column + 1 + len(word) > LINE_WIDTH:
            lines += indent
            column = 2 + FORM_WIDTH
        lines += " " + word
        column += 1 + len(word)
    return lines + "\n"


def file_arguments(path: str) -> list[str] | None:
    """The arguments in a file, which are quoted as a shell does; None if there is no such file."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
        raise usage(f"cannot take arguments from '{path}': it is a folder or a device, expected a file")
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(MOST_ARGUMENT_BYTES + 1)
        if len(text) > MOST_ARGUMENT_BYTES:
            raise usage(f"cannot take arguments from '{path}': it has more than {MOST_ARGUMENT_BYTES} characters")
        return shlex.split(text)
    except OSError as error:
        raise usage(f"cannot take arguments from '{path}': {error.strerror}") from None
    except ValueError as error:  # no UTF-8, or a quotation that does not end
        raise usage(f"cannot take arguments from '{path}': {error}") from None


def expand(arguments: Sequence[str], inside: tuple[str, ...] = ()) -> list[str]:
    """The arguments with those of files in the place of `@FILE`."""
    found: list[str] = []
    for argument in arguments:
        path = argument[1:]
        inner = file_arguments(path) if argument.startswith("@") and path else None
        if inner is None:
            found.append(argument)
        elif os.path.realpath(path) in inside:
            raise usage(f"cannot take arguments from a file: recursive expansion of: '{path}'")
        else:
            found += expand(inner, (*inside, os.path.realpath(path)))
    return found


class OptionTable:
    """The options and positional arguments of one command."""

    def __init__(self) -> None:
        self.options: list[Option] = []
        self.positionals: list[Positional] = []

    def find(self, name: str) -> Option | None:
        """The option that is called so, without dashes."""
        return next((option for option in self.options if option.name == name), None)

    def describe(self) -> str:
        """The option lines of --help, by group; general ones are last."""
        groups: dict[str, list[Option]] = {OPTIONS: []}
        for option in self.options:
            groups.setdefault(option.group, []).append(option)
        if general := groups.pop(GENERAL, None):
            groups[GENERAL] = general
        return "\n".join(
            f"{title}:\n" + "".join(help_lines(option.form(), option.help())
                                    for option in sorted(options, key=lambda option: option.name))
            for title, options in groups.items() if options)

    def unknown(self, argument: str) -> Exception:
        """Refuses an option that the command does not have, or a value of a switch."""
        spelling, equals, value = argument.partition("=")
        known = self.find(spelling.lstrip("-"))
        if known and equals and not known.what:
            return usage(f"option {known.dashed} takes no value, found '{value}'")
        names = [option.dashed for option in self.options if len(option.name) > 2]
        return usage(f"unknown option '{argument}', see --help{did_you_mean(spelling, names)}")

    def parse(self, arguments: Sequence[str]) -> SimpleNamespace:
        """What a command line says; not given are the defaults."""
        result = SimpleNamespace()
        for option in self.options:
            setattr(result, option.attribute, [] if option.repeats else False if not option.what else option.default)
        given: list[str] = []
        rest = expand(arguments)
        while rest:
            argument = rest.pop(0)
            if argument == "--":
                given += rest
                break
            if not argument.startswith("-") or argument == "-":
                given.append(argument)
                continue
            name, equals, text = argument.lstrip("-").partition("=")
            known = self.find(name)
            if not known or argument.startswith("---") or (equals and not known.what):
                raise self.unknown(argument)
            if not known.what:
                setattr(result, known.attribute, True)
                continue
            if not equals:
                if not rest:
                    raise usage(f"option {argument} lacks its value {known.what}")
                text = rest.pop(0)
            value = known.read(text)
            if known.repeats:
                getattr(result, known.attribute).append(value)
            else:
                setattr(result, known.attribute, value)
        self._place(result, given)
        return result

    def _place(self, result: SimpleNamespace, given: list[str]) -> None:
        """Gives positional arguments their names."""
        for argument in given:
            if argument.startswith("@"):
                raise usage(f"no file '{argument[1:]}' to take arguments from, expected one "
                            f"(./{argument} is a file of that name)")
        for positional in self.positionals:
            if positional.many:
                setattr(result, positional.attribute, given)
                return
            setattr(result, positional.attribute, given.pop(0) if given else None)
        if given:
            raise usage(f"unexpected argument '{given[0]}', see --help")
