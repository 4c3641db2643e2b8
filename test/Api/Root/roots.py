# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Empty Debian roots: what debootstrap makes of Debian's archive, variant minbase.

An archive keeps a root between runs; tests work in copies of it.
"""

import glob
import os
import shutil
import subprocess
import sys

ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive",
               "LC_ALL": "C", "HOME": "/root"}


def suite():
    for line in open("/etc/os-release", encoding="utf-8"):
        if line.startswith("VERSION_CODENAME="):
            return line.split("=")[1].strip().strip('"')
    return "stable"


def archive_of(cache, name):
    return os.path.join(cache, f"{suite()}-{name}.tar")


def obstacle(cache):
    """Why there can be no empty root here; empty if there can."""
    if os.geteuid() != 0:
        return "an empty root needs the rights of root (chroot)"
    if not os.path.exists("/etc/debian_version") or not shutil.which("apt-get"):
        return "an empty Debian root is made on Debian only"
    if os.path.exists(archive_of(cache, "minbase")):
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


def pack(root, archive):
    """Keeps a root; whole or not at all."""
    os.makedirs(os.path.dirname(archive), exist_ok=True)
    call("tar", "--create", "--one-file-system", "--file", archive + ".new", "--directory", root, ".")
    os.rename(archive + ".new", archive)


def unpack(archive, root):
    os.makedirs(root)
    call("tar", "--extract", "--file", archive, "--directory", root)


def make_base(archive, root):
    """Debian with the package sources of the host."""
    folder = root + ".debootstrap"
    os.makedirs(folder)
    program, environment = debootstrap(folder)
    # It mounts /proc in the root: in a namespace of its own, nothing stays mounted.
    call("unshare", "--mount", program, "--variant=minbase", suite(), root, env=environment)
    # The sources of the host: LLVM may come from another part of the archive.
    shutil.rmtree(os.path.join(root, "etc/apt/sources.list.d"), ignore_errors=True)
    os.makedirs(os.path.join(root, "etc/apt/sources.list.d"))
    lists = os.path.join(root, "etc/apt/sources.list")
    if os.path.exists(lists):
        os.remove(lists)
    for source in glob.glob("/etc/apt/sources.list.d/debian*") + ["/etc/apt/sources.list"]:
        if os.path.exists(source):
            shutil.copy(source, root + source)
    pack(root, archive)


def new_root(root, cache, name="minbase", packages=()):
    """An empty root at `root`, with `packages` if there are any; `name` is that of its archive."""
    base = archive_of(cache, "minbase")
    if os.path.exists(archive_of(cache, name)):
        unpack(archive_of(cache, name), root)
    elif not os.path.exists(base):
        make_base(base, root)
    else:
        unpack(base, root)
    if packages and not os.path.exists(archive_of(cache, name)):
        inside(root, "apt-get", "update")
        inside(root, "apt-get", "install", "--yes", "--no-install-recommends", *packages)
        pack(root, archive_of(cache, name))
    return root
