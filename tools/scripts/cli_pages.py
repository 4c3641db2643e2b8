#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Man pages and shell completions from what the tools say with --help.

usage: cli_pages.py FOLDER VERSION TOOL...

Writes FOLDER/man/man1/NAME.1, FOLDER/bash-completion/completions/NAME and
FOLDER/zsh/vendor-completions/_NAME for every TOOL.
"""

import os
import re
import subprocess
import sys

COMMAND = re.compile(r"^  ([a-z]+)\s{2,}(\S+)\s{2,}(.*)$")  # name, tool, what it does
OPTION = re.compile(r"^  (-\S+(?: [A-Z][\w.|]*)?)(?:\s{2,}(.*))?$")
# A placeholder that lists its values: A|B|C|D, auto|off.
CHOICES = re.compile(r"^[\w-]+(\|[\w-]+)+$")


class Help:
    """--help in its parts: usage, what the tool does, options, the rest."""

    def __init__(self, tool):
        self.name = os.path.basename(tool)
        text = subprocess.run([tool, "--help"], capture_output=True, text=True,
                              check=True).stdout
        self.options, self.purpose, self.notes, self.commands = [], [], [], []
        self.usage = ""
        place = self.purpose
        for line in text.splitlines():
            option, command = OPTION.match(line), COMMAND.match(line)
            if line.startswith("usage: "):
                self.usage = line[len("usage: "):]
            elif option:
                self.options.append([option.group(1), option.group(2) or ""])
            elif self.options and line.startswith(" " * 8) and place is not self.notes:
                self.options[-1][1] += " " + line.strip()
            elif command and not self.options:
                self.commands.append(command.groups())
            elif re.match(r"^\S.*options:$|^options:$|^commands:$", line, re.I):
                continue
            elif line.strip():
                if self.options:
                    place = self.notes
                place.append(line.strip())
        if not self.usage or not self.options:
            sys.exit(f"cli_pages: {tool} --help has no usage or no options")

    def flags(self):
        """(--name, placeholder or empty, help)"""
        for form, text in self.options:
            name, mark, value = re.match(r"([^= ]+)([= ]?)(.*)", form).groups()
            yield name, value if mark else "", text


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in ".'" else text


def man_page(page, version):
    summary = " ".join(page.purpose).split(". ")[0].rstrip(".")
    summary = summary[0].lower() + summary[1:]
    lines = [f'.TH {page.name.upper()} 1 "" "Ashlar {version}" "Ashlar"',
             ".SH NAME", f"{roff(page.name)} \\- {roff(summary)}",
             ".SH SYNOPSIS", f".B {roff(page.usage)}",
             ".SH DESCRIPTION", roff(" ".join(page.purpose))]
    if page.commands:
        lines.append(".SH COMMANDS")
    for name, tool, text in page.commands:
        lines += [".TP", f".B {roff(name)}", roff(f"{text}; see {tool}(1)")]
    lines.append(".SH OPTIONS")
    for form, text in page.options:
        lines += [".TP", f".B {roff(form)}", roff(text)]
    lines += [".SH NOTES", *(part for note in page.notes
                             for part in (roff(note), ".br"))]
    lines += [".SH SEE ALSO", "The folder docs of the sources: UserGuide.md."]
    return "\n".join(lines) + "\n"


def values_of(value, text):
    """What may follow an option, as far as its placeholder or help lists it."""
    if CHOICES.match(value):
        choices = value.split("|")
        open_ended = any(len(c) > 1 and c.isupper() for c in choices)
        return [] if open_ended else choices
    found = re.match(r"^(?:[^:()]+: )?(\w[\w-]*)(?: \([^)]*\))?"
                     r"((?:, \w[\w-]*(?: \([^)]*\))?)*)"
                     r" or (\w[\w-]*)(?: \([^)]*\))?$", text)
    if not found or value.endswith(("FILE", "DIR", ".npz", ".json")):
        return []
    inner = re.sub(r"\([^)]*\)", "", found.group(2))
    middle = [w.strip() for w in inner.split(",") if w.strip()]
    return [found.group(1), *middle, found.group(3)]


def wants_file(value):
    return bool(re.search(r"FILE|DIR|\.onnx|\.npz|\.json|\.yaml", value))


def bash_completion(page):
    function = "_" + page.name.replace("-", "_")
    names, cases = [], []
    for name, value, text in page.flags():
        names.append(name + ("=" if value and name.startswith("--") else ""))
        choices = values_of(value, text)
        if choices:
            cases.append(f"    {name}) choices=\"{' '.join(choices)}\" ;;")
    body = "\n".join(cases) or "    *) ;;"
    first = ""
    if page.commands:
        tools = "\n".join(f"      {name}) tool={tool} ;;" for name, tool, _ in page.commands)
        first = f"""
  if [[ $COMP_CWORD == 1 && $word != -* ]]; then
    COMPREPLY=($(compgen -W "{' '.join(name for name, _, _ in page.commands)}" -- "$word"))
    return
  elif [[ $COMP_CWORD -gt 1 ]]; then
    local tool=
    case ${{COMP_WORDS[1]}} in
{tools}
    esac
    # The completion of the tool, without the name of the command.
    declare -F "_${{tool//-/_}}" > /dev/null || _completion_loader "$tool" 2> /dev/null
    if declare -F "_${{tool//-/_}}" > /dev/null; then
      COMP_WORDS=("$tool" "${{COMP_WORDS[@]:2}}") COMP_CWORD=$((COMP_CWORD - 1))
      "_${{tool//-/_}}"
      return
    fi
  fi"""
    return f"""# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Completion of {page.name} for bash, made from its --help.
{function}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} option= choices=
  COMPREPLY=(){first}
  # bash splits at '=': --option = word
  if [[ $word == = ]]; then
    option=${{COMP_WORDS[COMP_CWORD-1]}} word=
  elif [[ $COMP_CWORD -ge 2 && ${{COMP_WORDS[COMP_CWORD-1]}} == = ]]; then
    option=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  case $option in
{body}
  esac
  if [[ -n $choices ]]; then
    COMPREPLY=($(compgen -W "$choices" -- "$word"))
  elif [[ -z $option && $word == -* ]]; then
    COMPREPLY=($(compgen -W "{' '.join(names)}" -- "$word"))
    [[ ${{#COMPREPLY[@]}} == 1 && ${{COMPREPLY[0]}} == *= ]] && compopt -o nospace
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -F {function} -o filenames {page.name}
"""


def zsh_completion(page):
    def quote(text):
        return re.sub(r"([\[\]:'])", lambda m: {"'": "'\\''"}.get(
            m.group(1), "\\" + m.group(1)), text)
    lines = []
    for name, value, text in page.flags():
        action = ""
        if value:
            choices = values_of(value, text)
            action = ":value:" + (f"({' '.join(choices)})" if choices else
                                  "_files" if wants_file(value) else "")
        mark = "=" if value and name.startswith("--") else ""
        lines.append(f"  '{name}{mark}[{quote(text)}]{action}' \\")
    rest = ["'*:file:_files'"]
    if page.commands:
        names = " ".join(f"{name}\\:\"{quote(text)}\"" for name, _, text in page.commands)
        rest = [f"'1:command:(({names}))' \\", "'*:file:_files'"]
    body = "\n".join(lines)
    return f"""#compdef {page.name}
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Completion of {page.name} for zsh, made from its --help.
_arguments -s \\
{body}
  {(chr(10) + "  ").join(rest)}
"""


def write(folder, name, text):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
        out.write(text)


def main(folder, version, tools):
    for tool in tools:
        page = Help(tool)
        write(os.path.join(folder, "man", "man1"), page.name + ".1",
              man_page(page, version))
        write(os.path.join(folder, "bash-completion", "completions"), page.name,
              bash_completion(page))
        write(os.path.join(folder, "zsh", "vendor-completions"),
              "_" + page.name, zsh_completion(page))


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
