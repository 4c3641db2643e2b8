#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds the wheel of the Python package from a finished build.

usage: wheel.py BUILD OUTPUT_FOLDER

The wheel has the package, its extension and the two shared libraries; LLVM,
MLIR, fmt, protobuf and ONNX are those of the system. Needs no network. The same
build gives the same bytes.
"""

import base64
import glob
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

METADATA = """Metadata-Version: 2.1
Name: ashlar
Version: {version}
Summary: Compiles ONNX models for neural accelerators and runs them bit exactly
License: Apache-2.0 WITH LLVM-exception
Requires-Python: >=3.9
Requires-Dist: numpy
Provides-Extra: onnx
Requires-Dist: onnx; extra == 'onnx'
Provides-Extra: pandas
Requires-Dist: pandas; extra == 'pandas'
"""
WHEEL = """Wheel-Version: 1.0
Generator: ashlar
Root-Is-Purelib: false
Tag: {tag}
"""


def version_of(build):
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as cache:
        return re.search(r"^CMAKE_PROJECT_VERSION:STATIC=(.*)$", cache.read(),
                         re.M).group(1)


def tag():
    python = "cp{0}{1}".format(*sys.version_info)
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    return f"{python}-{python}-{platform}"


def package_files(prefix):
    """(name in the wheel, path) of everything installed that belongs in it"""
    home = os.path.join(prefix, "lib", "python3", "dist-packages")
    for folder, names, files in os.walk(os.path.join(home, "ashlar")):
        names[:] = sorted(n for n in names if n != "__pycache__")
        for name in sorted(files):
            path = os.path.join(folder, name)
            yield os.path.relpath(path, home), path
    for stem in ("runtime", "compiler"):
        found = sorted(glob.glob(os.path.join(
            prefix, "lib*", "**", f"libashlar-{stem}.so.*"), recursive=True))
        if not found:
            sys.exit(f"wheel: the build has no libashlar-{stem}")
        # The loader requests the name with major and minor version.
        soname = min(found, key=len)
        yield "ashlar/" + os.path.basename(soname), os.path.realpath(soname)


def digest(data):
    text = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
    return "sha256=" + text.decode().rstrip("=")


def write_wheel(path, files):
    """`files` has (name, bytes); RECORD is the last."""
    records = []
    info = files[-1][0].split("/")[0]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        def add(name, data):
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = (0o755 if ".so" in name else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
        for name, data in files:
            add(name, data)
            records.append(f"{name},{digest(data)},{len(data)}")
        records.append(f"{info}/RECORD,,")
        add(f"{info}/RECORD", ("\n".join(records) + "\n").encode())


def main(build, output):
    version = version_of(build)
    with tempfile.TemporaryDirectory() as prefix:
        subprocess.run(["cmake", "--install", build, "--prefix", prefix,
                        "--strip"], check=True, stdout=subprocess.DEVNULL)
        files = []
        for name, path in package_files(prefix):
            with open(path, "rb") as stream:
                files.append((name, stream.read()))
    if not any("/_ashlar." in name for name, _ in files):
        sys.exit("wheel: the build has no extension; install pybind11-dev and "
                 "python3-dev, and configure again")
    info = f"ashlar-{version}.dist-info"
    files.append((f"{info}/METADATA", METADATA.format(version=version).encode()))
    files.append((f"{info}/WHEEL", WHEEL.format(tag=tag()).encode()))
    os.makedirs(output, exist_ok=True)
    path = os.path.join(output, f"ashlar-{version}-{tag()}.whl")
    write_wheel(path, files)
    print(path)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
