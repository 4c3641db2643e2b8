#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Installs the Debian package into an empty Debian root and uses it there.

usage: empty_root.py PACKAGE.deb EXAMPLES MODEL CACHE
       empty_root.py --probe CACHE

The root is what debootstrap makes of Debian's archive, variant minbase, with
the compilers that the examples need; CACHE keeps it between runs. Then the
package and what it depends on are installed by apt, as a user would, into a
copy of it, and the tools and the C, C++ and Python examples run there. With
--probe only says why that cannot be done here; nothing if it can.
"""

import glob
import os
import shutil
import subprocess
import sys
import tempfile

BUILD_TOOLS = ["g++", "cmake", "make"]
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive",
               "LC_ALL": "C", "HOME": "/root"}


def suite():
    for line in open("/etc/os-release", encoding="utf-8"):
        if line.startswith("VERSION_CODENAME="):
            return line.split("=")[1].strip().strip('"')
    return "stable"


def base_archive(cache):
    return os.path.join(cache, f"{suite()}-minbase-compilers.tar")


def obstacle(cache):
    """Why there can be no empty root here; empty if there can."""
    if os.geteuid() != 0:
        return "an empty root needs the rights of root (chroot)"
    if not os.path.exists("/etc/debian_version") or not shutil.which("apt-get"):
        return "an empty Debian root is made on Debian only"
    if os.path.exists(base_archive(cache)):
        return ""
    probe = subprocess.run(["apt-get", "download", "--print-uris", "debootstrap"],
                           capture_output=True, text=True)
    return "" if probe.returncode == 0 else "apt-get knows no package debootstrap (see apt-get update)"


def call(*command, **more):
    """Runs a command; its output, which an error shows."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


def inside(root, *command):
    return call("chroot", root, *command, env=ENVIRONMENT)


def debootstrap(folder):
    """The program and its environment, without installing it."""
    found = shutil.which("debootstrap", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if found:
        return found, dict(os.environ)
    call("apt-get", "download", "debootstrap", cwd=folder)
    call("dpkg-deb", "--extract", *glob.glob(os.path.join(folder, "debootstrap_*.deb")), folder)
    home = os.path.join(folder, "usr", "share", "debootstrap")
    return os.path.join(folder, "usr", "sbin", "debootstrap"), dict(os.environ, DEBOOTSTRAP_DIR=home)


def make_base(archive, scratch):
    """Debian, the host's package sources, and compilers, as one archive."""
    root = os.path.join(scratch, "base")
    program, environment = debootstrap(scratch)
    call(program, "--variant=minbase", suite(), root, env=environment)
    # The sources of the host: LLVM may come from another part of the archive.
    shutil.rmtree(os.path.join(root, "etc/apt/sources.list.d"), ignore_errors=True)
    os.makedirs(os.path.join(root, "etc/apt/sources.list.d"))
    lists = os.path.join(root, "etc/apt/sources.list")
    if os.path.exists(lists):
        os.remove(lists)
    for source in glob.glob("/etc/apt/sources.list.d/debian*") + ["/etc/apt/sources.list"]:
        if os.path.exists(source):
            shutil.copy(source, root + source)
    inside(root, "apt-get", "update")
    inside(root, "apt-get", "install", "--yes", "--no-install-recommends", *BUILD_TOOLS)
    os.makedirs(os.path.dirname(archive), exist_ok=True)
    call("tar", "--create", "--one-file-system", "--file", archive + ".new", "--directory", root, ".")
    os.rename(archive + ".new", archive)


def use(root, package, examples, model):
    """What a user does first."""
    shutil.copy(package, os.path.join(root, "srv", "ashlar.deb"))
    shutil.copytree(examples, os.path.join(root, "srv", "examples"))
    shutil.copy(model, os.path.join(root, "srv", "model.onnx"))
    before = inside(root, "dpkg-query", "--show").count("\n")
    inside(root, "apt-get", "install", "--yes", "--no-install-recommends", "/srv/ashlar.deb")
    print("installed:", inside(root, "dpkg-query", "--show", "--showformat=${Status}\n", "ashlar").strip(),
          "with", inside(root, "dpkg-query", "--show").count("\n") - before - 1, "packages that it needs")
    for tool in sorted(glob.glob(os.path.join(root, "usr/bin/ashlar*"))):
        name = os.path.basename(tool)
        if name not in ("ashlar-eval", "ashlar-sweep", "ashlar-opt", "ashlar-lsp-server"):
            print(inside(root, name, "--version").strip())
    inside(root, "ashlarc", "/srv/model.onnx", "-o", "/srv/model.ash")
    print(inside(root, "ashlar-run", "/srv/model.ash", "--random-inputs=1").strip())
    inside(root, "cmake", "-S", "/srv/examples", "-B", "/srv/build")
    inside(root, "cmake", "--build", "/srv/build")
    print("C:", inside(root, "/srv/build/classify-c", "/srv/model.onnx").strip())
    print("C++:", inside(root, "/srv/build/classify-cpp", "/srv/model.onnx").strip())
    print("Python:", inside(root, "python3", "/srv/examples/classify.py", "/srv/model.onnx").strip())


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--probe":
        print(obstacle(arguments[1]))
        return
    if len(arguments) != 4:
        sys.exit(__doc__)
    package, examples, model, cache = arguments
    if reason := obstacle(cache):
        sys.exit(reason)
    archive = base_archive(cache)
    with tempfile.TemporaryDirectory(prefix="ashlar-root-", dir=os.environ.get("TMPDIR")) as scratch:
        if not os.path.exists(archive):
            make_base(archive, scratch)
        root = os.path.join(scratch, "root")
        os.mkdir(root)
        call("tar", "--extract", "--file", archive, "--directory", root)
        use(root, package, examples, model)


if __name__ == "__main__":
    main(sys.argv[1:])
