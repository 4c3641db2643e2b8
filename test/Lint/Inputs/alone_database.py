# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FOLDER/build/compile_commands.json as CMake writes it for good.cpp and bad.cpp, which
use precompiled headers of clang and of g++, and for a group of first.cpp and second.cpp."""

import json
import os
import sys

FOLDER = sys.argv[1]
HEADER = os.path.join(FOLDER, "build", "Any.dir", "cmake_pch.hxx")
GROUP = os.path.join(FOLDER, "build", "Any.dir", "Unity", "unity_0_cxx.cxx")
FLAGS = {f"{HEADER}.cxx": "-Winvalid-pch -Xclang -emit-pch -x c++-header",
         os.path.join(FOLDER, "good.cpp"):
         f"-Winvalid-pch -Xclang -include-pch -Xclang {HEADER}.pch "
         f"-Xclang -include -Xclang {HEADER}",
         os.path.join(FOLDER, "bad.cpp"): f"-Winvalid-pch -include {HEADER}",
         GROUP: ""}
VECTOR = "#include <vector>\n"
TEXTS = {"cmake_pch.hxx.cxx": "\n", "cmake_pch.hxx": VECTOR,
         "good.cpp": VECTOR + "std::vector<int> numbers;\n",
         "bad.cpp": "std::vector<int> numbers;\n",
         "first.cpp": VECTOR + "std::vector<int> first;\n",
         "second.cpp": "std::vector<int> second;\n",
         "unity_0_cxx.cxx": f'#include "{FOLDER}/first.cpp"\n\n#include "{FOLDER}/second.cpp"\n'}


def write(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(TEXTS[os.path.basename(path)])


for path in [HEADER, *FLAGS, os.path.join(FOLDER, "first.cpp"),
             os.path.join(FOLDER, "second.cpp")]:
    write(path)
entries = [{"directory": FOLDER, "file": path,
            "command": f"clang++-22 -std=c++20 {flags} -o any.o -c {path}"}
           for path, flags in FLAGS.items()]
with open(os.path.join(FOLDER, "build", "compile_commands.json"), "w",
          encoding="utf-8") as stream:
    json.dump(entries, stream)
