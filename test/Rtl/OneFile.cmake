# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Joins what Verilator has written, whose names depend on the design, in one
# file whose name is known: FOLDER/all.cpp.

file(GLOB sources RELATIVE ${FOLDER} ${FOLDER}/${PREFIX}*.cpp)
list(SORT sources)
set(text "")
foreach(source ${sources})
  string(APPEND text "#include \"${source}\"\n")
endforeach()
file(WRITE ${FOLDER}/all.cpp "${text}")
