#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Carries out the Containerfile of a checkout in empty Debian roots.

usage: containerfile.py CHECKOUT CACHE MODEL [--packages=FOLDER]

For hosts without a container engine or without a registry: each FROM is an empty
root (roots.py), COPY copies, RUN runs in the root, CMD runs last. Then the final
root compiles and runs MODEL. With --packages the stage `build` is not carried out:
its folder /packages is FOLDER, of a build that is there. ASHLAR_ROOT_CCACHE names a
ccache folder that the builds share, CMAKE_BUILD_PARALLEL_LEVEL the number of jobs.
"""

import fnmatch
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import roots


def instructions(path):
    """(word, arguments) of each line of a Containerfile; lines that end with \\ go on."""
    with open(path, encoding="utf-8") as file:
        text = "\n".join(line for line in file.read().splitlines() if not line.lstrip().startswith("#"))
    for line in re.sub(r"\\\n", " ", text).splitlines():
        if line.strip():
            word, _, rest = line.strip().partition(" ")
            yield word, rest.strip()


def ignored(checkout):
    """What .dockerignore keeps out of the context, as shutil.copytree asks."""
    with open(os.path.join(checkout, ".dockerignore"), encoding="utf-8") as file:
        patterns = [line.strip().rstrip("/") for line in file if line.strip() and not line.startswith("#")]

    def skip(folder, names):
        top = os.path.samefile(folder, checkout)
        return [name for name in names for pattern in patterns
                if fnmatch.fnmatch(name, pattern.removeprefix("**/")) and (top or pattern.startswith("**/"))]
    return skip


class Build:
    """The stages of a Containerfile as roots in a folder."""

    def __init__(self, checkout, cache, folder, packages):
        self.checkout, self.cache, self.folder, self.packages = checkout, cache, folder, packages
        self.stages, self.root, self.work = {}, None, "/"
        self.environment = dict(roots.ENVIRONMENT)
        for name in ("CMAKE_BUILD_PARALLEL_LEVEL", "http_proxy", "https_proxy", "no_proxy"):
            if name in os.environ:
                self.environment[name] = os.environ[name]
        self.shared = os.environ.get("ASHLAR_ROOT_CCACHE")

    def begin(self, rest):
        image, _, name = rest.partition(" AS ")
        release = re.fullmatch(r"debian:(\w+?)(-slim)?", image)
        if not release or release[1] != roots.suite():
            sys.exit(f"FROM {image}: this host makes roots of debian:{roots.suite()}")
        self.root = roots.new_root(os.path.join(self.folder, f"stage{len(self.stages)}"), self.cache)
        self.stages[name or str(len(self.stages))] = self.root
        self.work = "/"

    def copy(self, rest):
        *options, source, target = rest.split()
        there = os.path.join(self.root, os.path.join(self.work, target).lstrip("/"))
        if not options:
            shutil.copytree(os.path.join(self.checkout, source), there, symlinks=True, dirs_exist_ok=True,
                            ignore=ignored(self.checkout))
            return
        base = self.stages[options[0].removeprefix("--from=")]
        found = glob.glob(os.path.join(base, source.lstrip("/")))
        if not found:
            sys.exit(f"COPY {rest}: no file {source}")
        os.makedirs(there if target.endswith("/") else os.path.dirname(there), exist_ok=True)
        for path in found:
            if os.path.isdir(path):
                shutil.copytree(path, there, dirs_exist_ok=True)
            else:
                shutil.copy(path, there)

    def run(self, command):
        print("RUN", command, flush=True)
        script = f"mount -t proc proc {self.root}/proc && "
        if self.shared and shutil.which("ccache"):
            os.makedirs(os.path.join(self.root, "ccache"), exist_ok=True)
            script += (f"mount --bind '{self.shared}' {self.root}/ccache && "
                       f"chroot {self.root} sh -c 'apt-get -qq update && apt-get -qq install ccache' >/dev/null && ")
            self.environment |= {"CCACHE_DIR": "/ccache", "CCACHE_BASEDIR": self.work, "CCACHE_NOHASHDIR": "1",
                                 "CCACHE_SLOPPINESS": "include_file_ctime,include_file_mtime,time_macros"}
        # A mount namespace of its own: nothing stays mounted when it ends.
        script += f"exec chroot {self.root} sh -ec 'cd {self.work}; eval \"$0\"' \"$0\""
        done = subprocess.run(["unshare", "--mount", "sh", "-ec", script, command], env=self.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            sys.exit(f"RUN {command}: exit code {done.returncode}\n{done.stdout[-4000:]}")
        return done.stdout

    def given(self):
        """True in the stage `build` if its packages are there already."""
        return self.packages is not None and self.stages.get("build") == self.root

    def carry_out(self, word, rest):
        if word == "FROM" and self.packages and rest.endswith(" AS build"):
            self.root = self.stages["build"] = os.path.join(self.folder, "build")
            shutil.copytree(self.packages, os.path.join(self.root, "packages"))
        elif word == "FROM":
            self.begin(rest)
        elif self.given():
            print(word, rest, "(not carried out)")
        elif word == "WORKDIR":
            self.work = rest
            os.makedirs(self.root + rest, exist_ok=True)
        elif word == "COPY":
            self.copy(rest)
        elif word == "RUN":
            self.run(rest)
        elif word == "CMD":
            command = re.findall(r'"([^"]*)"', rest)
            print("CMD", self.run(" ".join(command)).splitlines()[0])
        else:
            sys.exit(f"{word} {rest}: not an instruction that this script carries out")


def main(arguments):
    packages = [a.split("=", 1)[1] for a in arguments if a.startswith("--packages=")]
    arguments = [a for a in arguments if not a.startswith("--packages=")]
    if len(arguments) != 3:
        sys.exit(__doc__)
    checkout, cache, model = map(os.path.abspath, arguments)
    if reason := roots.obstacle(cache):
        sys.exit(reason)
    with tempfile.TemporaryDirectory(prefix="ashlar-container-", dir=os.environ.get("TMPDIR")) as folder:
        build = Build(checkout, cache, folder, packages[-1] if packages else None)
        for word, rest in instructions(os.path.join(checkout, "Containerfile")):
            build.carry_out(word, rest)
        os.makedirs(build.root + "/data", exist_ok=True)
        shutil.copy(model, build.root + "/data/model.onnx")
        build.work = "/data"
        print(build.run("ashlarc model.onnx -o model.ash").strip())
        print(build.run("ashlar-run model.ash --random-inputs=1").splitlines()[0])


if __name__ == "__main__":
    main(sys.argv[1:])
