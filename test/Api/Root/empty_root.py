#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Installs the Debian package into an empty Debian root and uses it there.

usage: empty_root.py PACKAGE.deb EXAMPLES MODEL CACHE
       empty_root.py --probe CACHE

The package and what it depends on are installed by apt, as a user would, and the
tools and the C, C++ and Python examples run there. CACHE keeps the empty root
between runs (roots.py). With --probe only says why that cannot be done here;
nothing if it can.
"""

import glob
import os
import shutil
import sys
import tempfile

from roots import inside, new_root, obstacle

BUILD_TOOLS = ["g++", "cmake", "make"]


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
    with tempfile.TemporaryDirectory(prefix="ashlar-root-", dir=os.environ.get("TMPDIR")) as scratch:
        root = new_root(os.path.join(scratch, "root"), cache, "compilers", BUILD_TOOLS)
        use(root, package, examples, model)


if __name__ == "__main__":
    main(sys.argv[1:])
