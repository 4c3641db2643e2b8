# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Puts style and scripts into the page and writes it as C++ string literals.
# Arguments: FOLDER (page/), SCRIPTS (list of names in order), OUTPUT.

file(READ ${FOLDER}/page.html page)
file(READ ${FOLDER}/page.css style)
set(script "")
foreach(name IN LISTS SCRIPTS)
  file(READ ${FOLDER}/${name}.js part)
  string(APPEND script "${part}\n")
endforeach()
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")

# Compilers need not take one literal of any length: pieces side by side.
string(LENGTH "${page}" length)
set(text "")
set(begin 0)
while(begin LESS length)
  string(SUBSTRING "${page}" ${begin} 8000 piece)
  string(APPEND text "R\"ashlar(${piece})ashlar\"\n")
  math(EXPR begin "${begin} + 8000")
endwhile()
file(WRITE ${OUTPUT} "${text}")
