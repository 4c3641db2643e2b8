#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that headers declare and nothing in the product calls.

usage: uncalled.py ROOT

A function that only tests call belongs to the tests, or is dead. The check
goes by names: a name is called if it occurs anywhere but where a function of
that name is declared or defined: in C++, in a macro, in code that a generator prints, or in
TableGen. So it misses dead functions that share a name with others, and reports
no live one. Left out are overrides, which the overridden class calls, and
include/ashlar/Api, which is for programs of others.
"""

import collections
import os
import re
import sys

FOLDERS = ("lib", "include", "dialects", "tools")
PUBLIC = "include/ashlar/Api/"
# Comments, then everything whose braces and names do not count.
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|\w+|[^\s\w]')
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
SCOPES = {"namespace", "class", "struct", "union", "extern"}
# Names before the parentheses of a declaration that are not the declared one.
NOT_NAMES = {"if", "for", "while", "switch", "return", "sizeof", "decltype",
             "alignas", "noexcept", "static_assert", "requires", "operator",
             "defined", "__attribute__"}


def words(text):
    return re.findall(r"\w+", text)


class Names:
    """Declared and used names of the product."""

    def __init__(self):
        self.used = collections.Counter()
        self.declared = {}

    def statement(self, tokens, header):
        """A statement outside of function bodies: the name before the first
        parenthesis is declared, all others are used."""
        declared = None
        for index, token in enumerate(tokens):
            if token == "=":
                break
            if token == "(":
                name = tokens[index - 1] if index else ""
                if re.fullmatch(r"[A-Za-z_]\w*", name) and \
                        name not in NOT_NAMES:
                    declared = index - 1
                    if header and "override" not in tokens and \
                            not name.isupper():
                        self.declared.setdefault(name, header)
                break
        for index, token in enumerate(tokens):
            if index != declared:
                self.used.update(words(token))

    def directives(self, text):
        """custom<Name> of an assembly format calls two functions."""
        for name in re.findall(r"\bcustom<(\w+)>", text):
            self.used.update(["parse" + name, "print" + name])

    def source(self, text, header):
        for directive in DIRECTIVE.findall(text):
            self.used.update(words(directive))
        statement, scopes = [], []
        for token in TOKEN.findall(DIRECTIVE.sub("", text)):
            inside = "body" in scopes
            if token == "{":
                # The braces of a class, or those of a function or a value.
                outer = any(t in SCOPES for t in statement) and \
                    "(" not in statement and "=" not in statement
                scopes.append("scope" if outer else "body")
            elif token == "}" and scopes:
                scopes.pop()
            if inside:
                self.used.update(words(token))
            elif token in "{};":
                self.statement(statement, header)
                statement = []
            elif token == ":" and statement and \
                    statement[-1] in ("public", "private", "protected"):
                statement = []
            else:
                statement.append(token)


def main(root):
    names = Names()
    for top in FOLDERS:
        for folder, _, files in os.walk(os.path.join(root, top)):
            for file in sorted(files):
                path = os.path.join(folder, file)
                if not file.endswith((".cpp", ".h", ".inc", ".td")):
                    continue
                with open(path, encoding="utf-8", errors="replace") as stream:
                    text = COMMENT.sub(" ", stream.read())
                names.directives(text)
                where = os.path.relpath(path, root)
                if file.endswith(".td"):
                    names.used.update(words(text))
                else:
                    names.source(text, where if file.endswith(".h") else None)
    found = [f"{where}: nothing but tests calls '{name}'"
             for name, where in names.declared.items()
             if not names.used[name] and not where.startswith(PUBLIC)]
    print("\n".join(sorted(found) + [f"uncalled: {len(found)} findings"]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
