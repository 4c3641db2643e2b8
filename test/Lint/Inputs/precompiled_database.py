# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FOLDER/build/compile_commands.json as CMake writes it for two sources, good.cpp and
bad.cpp, that use precompiled headers of clang and of g++."""

import json
import os
import sys

FOLDER = sys.argv[1]
HEADER = os.path.join(FOLDER, "build", "Any.dir", "cmake_pch.hxx")
FLAGS = {"cmake_pch.hxx.cxx": "-Winvalid-pch -Xclang -emit-pch -x c++-header",
         "good.cpp": f"-Winvalid-pch -Xclang -include-pch -Xclang {HEADER}.pch "
                     f"-Xclang -include -Xclang {HEADER}",
         "bad.cpp": f"-Winvalid-pch -include {HEADER}"}
TEXTS = {"cmake_pch.hxx.cxx": "\n",
         "good.cpp": "#include <vector>\nstd::vector<int> numbers;\n",
         "bad.cpp": "std::vector<int> numbers;\n"}

with open(HEADER, "w", encoding="utf-8") as stream:
    stream.write("#include <vector>\n")
entries = []
for name, flags in FLAGS.items():
    path = os.path.join(FOLDER if name.endswith("d.cpp") else os.path.dirname(HEADER), name)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(TEXTS[name])
    entries.append({"directory": FOLDER, "file": path,
                    "command": f"clang++-22 -std=c++20 {flags} -o any.o -c {path}"})
with open(os.path.join(FOLDER, "build", "compile_commands.json"), "w",
          encoding="utf-8") as stream:
    json.dump(entries, stream)
