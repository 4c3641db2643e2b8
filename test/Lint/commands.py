# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Commands in console blocks: too long or too far-reaching to run, but what they name has
to exist: programs, scripts, their options, presets."""

import functools
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

OPTION = re.compile(r"^--?[a-zA-Z][\w-]*")
PACKAGES = os.path.join(os.path.dirname(__file__), "..", "..", "tools", "python")
SYSTEM = {"cd", "cmake", "cpack", "pip", "podman", "git", "env"}
# Programs of the fuzz preset have a twin without a fuzzer in every build.
FUZZERS = re.compile(r"^build-fuzz/fuzz/fuzz-(\w+)$")


@functools.lru_cache(maxsize=None)
def help_of(path):
    """Where the names of a program's options are: its own text, and that of what it passes
    its arguments on to, another program or a package. A binary has the names among its bytes."""
    with open(path, "rb") as stream:
        text = stream.read().decode("latin-1")
    for called in re.findall(r"^.*?(/usr/lib/llvm-\d+/bin/lit) ", text[:20_000], re.M):
        text += subprocess.run([called, "--help"], text=True, capture_output=True, timeout=60).stdout
    for package in sorted(set(re.findall(r"^\s*from ashlar\.(\w+)", text[:20_000], re.M))):
        for module in sorted(glob.glob(os.path.join(PACKAGES, "ashlar", package, "*.py"))):
            with open(module, encoding="utf-8") as stream:
                text += stream.read()
    return text


def words_of(line):
    """The commands of a line, each as its words without assignments before it."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="&|;<>")
    lexer.whitespace_split = True
    command = []
    for word in lexer:
        if set(word) <= set("&|;<>"):
            yield command
            command = []
        elif command or not re.match(r"^\w+=", word):
            command.append(word)
    yield command


def presets(root):
    with open(os.path.join(root, "CMakePresets.json"), encoding="utf-8") as stream:
        text = json.load(stream)
    return {entry["name"] for kind in ("configurePresets", "buildPresets") for entry in text.get(kind, [])}


def located(root, build, program):
    """Path of a program of the project, or None."""
    if match := FUZZERS.match(program):
        program = f"build/fuzz/replay-{match[1]}"
    if program.startswith("build/"):
        return os.path.join(build, program.removeprefix("build/"))
    return os.path.join(root, program) if "/" in program else None


def wrong(root, build, command):
    """What is wrong with a command, or ''."""
    if command and command[0] in ("/usr/bin/python3", "python3"):
        command = command[1:]
    if not command:
        return ""
    program, arguments = command[0], command[1:]
    if program == "cmake":
        unknown = [a for flag, a in zip(arguments, arguments[1:])
                   if flag == "--preset" and a not in presets(root)]
        return f"no preset is called '{unknown[0]}'" if unknown else ""
    path = located(root, build, program) if not os.path.isabs(program) else program
    if path is None:
        return "" if program in SYSTEM or shutil.which(program) else f"no program '{program}'"
    if not os.path.exists(path):
        # Verilator and the fuzzers may be absent from a build.
        return "" if program.startswith(("build/rtl/", "build-fuzz/")) else f"no file '{program}'"
    if os.path.isabs(program) or FUZZERS.match(program) or "/unittests/" in path:
        return ""
    text = help_of(path)
    for argument in arguments:
        name = OPTION.match(argument)
        if name and not re.search(re.escape(name[0].lstrip("-")) + r"\b", text):
            return f"'{program}' has no option '{name[0]}'"
        if "/" in argument and not name and argument.startswith(("tools/", "test/", "docs/")) \
                and not os.path.exists(os.path.join(root, argument)):
            return f"no file '{argument}'"
    return ""


def check(root, build, page, block):
    """(number of commands, findings) of a console block."""
    lines = re.sub(r"\\\n\s*", " ", block.text).splitlines()
    commands = [line[2:].partition("  #")[0] for line in lines if line.startswith("$ ")]
    findings = []
    for line in commands:
        for command in words_of(line):
            if problem := wrong(root, build, command):
                findings.append(f"{page}:{block.line}: {line.strip()}: {problem}")
    return len(commands), findings


if __name__ == "__main__":
    sys.exit("commands.py is part of docs.py")
