# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Helpers that keep leaf CMake files down to lists.

# Include directories of LLVM and MLIR are system headers: their warnings are
# not ours.
function(ashlar_set_common target)
  target_include_directories(${target} PUBLIC
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
  # Generated files count as system headers too: tablegen leaves parameters
  # unused.
  target_include_directories(${target} SYSTEM PUBLIC
    ${PROJECT_BINARY_DIR}/include ${PROJECT_BINARY_DIR}
    ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_compile_options(${target} PRIVATE -Wall -Wextra)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION
     VERSION_LESS 13)
    # g++ 12 sees overlaps in its own std::string (GCC bug 105651).
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  # IEEE binary32 step by step: no contraction anywhere in the project
  # (docs/Numerics.md).
  target_compile_options(${target} PRIVATE -ffp-contract=off)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Every object can become part of a shared library (lib/Api). What clang
    # makes by default, for executables that move, can too: the libraries show
    # nothing of it, so that no symbol is another library's to replace. Only
    # thread-local variables need ashlar_set_shared_tls().
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(${target} PRIVATE -fno-semantic-interposition)
  endif()
  if(ASHLAR_ENABLE_FUZZERS)
    # Coverage of all project code guides the fuzzers.
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  if(ASHLAR_ENABLE_ASSERTIONS)
    target_compile_options(${target} PRIVATE -UNDEBUG)
  endif()
endfunction()

# ashlar_set_shared_tls(SOURCES...): files that use thread-local variables, their
# own or (by std::call_once) those of libstdc++, for shared libraries that are
# loaded late.
function(ashlar_set_shared_tls)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -fPIC
    SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# LLVM and MLIR as each executable or shared library wants them. Tools have the
# property ASHLAR_STATIC_LLVM: they take what they need into themselves. All
# others load the two libraries of everything, which takes a process 70 ms, more
# than a small network takes to compile (docs/decisions/tools/2026-11-24-static-llvm.md).
set(static_llvm $<BOOL:$<TARGET_PROPERTY:ASHLAR_STATIC_LLVM>>)
set(ASHLAR_LLVM "$<IF:${static_llvm},LLVMOption,LLVM>")
set(ASHLAR_MLIR "$<IF:${static_llvm},AshlarStaticMLIR,MLIR>")

# ashlar_set_static_llvm(TARGET)
function(ashlar_set_static_llvm target)
  set_target_properties(${target} PROPERTIES ASHLAR_STATIC_LLVM ON)
  # Debian's LLVMSupport names libraries that nothing here calls.
  target_link_options(${target} PRIVATE LINKER:--as-needed
    LINKER:--gc-sections)
endfunction()

# What has passes sees the statistics of MLIR's dylib as that was built.
function(ashlar_set_statistics target)
  # Wherever NDEBUG is not defined.
  set(released $<CONFIG:Release,RelWithDebInfo,MinSizeRel>)
  set(asserts $<OR:$<BOOL:${ASHLAR_ENABLE_ASSERTIONS}>,$<NOT:${released}>>)
  set(statistics ${PROJECT_SOURCE_DIR}/cmake/DylibStatistics.h)
  target_compile_options(${target} PRIVATE
    "$<${asserts}:SHELL:-include ${statistics}>")
endfunction()

# A static library of the project, without precompiled headers.
function(ashlar_add_plain_library name)
  cmake_parse_arguments(ARG "" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  ashlar_set_common(${name})
  target_link_libraries(${name} PUBLIC ${ARG_LINK} ${ASHLAR_LLVM} fmt::fmt)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# ashlar_add_library(NAME SOURCES... [LINK libs...] [DEPENDS targets...])
# Layers 0 to 2: links LLVM Support, never MLIR.
function(ashlar_add_library name)
  ashlar_add_plain_library(${name} ${ARGN})
  ashlar_precompile(${name} Base)
endfunction()

# ashlar_add_mlir_library(NAME SOURCES... [LINK libs...] [DEPENDS targets...])
# Layers 3 to 5: links MLIR.
function(ashlar_add_mlir_library name)
  cmake_parse_arguments(ARG "" "" "LINK;DEPENDS" ${ARGN})
  ashlar_add_plain_library(${name} ${ARG_UNPARSED_ARGUMENTS}
    LINK ${ARG_LINK} ${ASHLAR_MLIR} DEPENDS ${ARG_DEPENDS})
  ashlar_set_statistics(${name})
  ashlar_precompile(${name} Mlir)
endfunction()

# ashlar_add_tool(NAME SOURCES... LINK libs... [PLUGINS])
# PLUGINS: loads plug-ins, which share its LLVM and MLIR.
function(ashlar_add_tool name)
  cmake_parse_arguments(ARG "PLUGINS" "" "LINK;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  ashlar_set_common(${name})
  ashlar_precompile(${name} Base)
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  if(NOT ARG_PLUGINS)
    ashlar_set_static_llvm(${name})
  endif()
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  set_property(GLOBAL APPEND PROPERTY ASHLAR_TOOL_TARGETS ${name})
  install(TARGETS ${name} RUNTIME DESTINATION bin)
endfunction()

# ashlar_add_script(NAME): a command in Python next to the tools. In the build
# folder it is a link, so that it finds its package in the checkout.
function(ashlar_add_script name)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/${name}
    ${PROJECT_BINARY_DIR}/bin/${name} SYMBOLIC)
  install(PROGRAMS ${name} DESTINATION bin)
endfunction()

# ashlar_set_tests(TARGET [MLIR] [OPTIMISED] [APART sources...]): options of what
# tests. The sources of APART have helpers by the same names as others: each is
# compiled by itself, not in a group.
function(ashlar_set_tests name)
  cmake_parse_arguments(ARG "MLIR;OPTIMISED" "" "APART" ${ARGN})
  ashlar_set_common(${name})
  set_source_files_properties(${ARG_APART} PROPERTIES
    SKIP_UNITY_BUILD_INCLUSION ON)
  set(kind Base)
  if(ARG_MLIR)
    set(kind Mlir)
  endif()
  if(NOT ARG_OPTIMISED)
    ashlar_compile_quickly(${name})
    string(REPLACE Base "" kind ${kind}Test)
  endif()
  ashlar_precompile(${name} ${kind})
endfunction()

# ashlar_add_test_library(NAME SOURCES... LINK libs... [APART sources...]): what
# several unit tests use, optimised.
function(ashlar_add_test_library name)
  cmake_parse_arguments(ARG "" "" "LINK;APART" ${ARGN})
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK} GTest::gtest)
  ashlar_set_tests(${name} OPTIMISED APART ${ARG_APART})
endfunction()

# ashlar_add_unittest(NAME SOURCES... LINK libs... [MLIR] [OPTIMISED]
# [APART sources...]): built by check targets, run through lit. MLIR: most of its
# sources use MLIR. OPTIMISED: it runs for longer than it compiles.
add_custom_target(ashlar-unittests)
function(ashlar_add_unittest name)
  cmake_parse_arguments(ARG "MLIR;OPTIMISED" "" "LINK;APART" ${ARGN})
  add_executable(${name} EXCLUDE_FROM_ALL ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest
    GTest::gtest_main)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/unittests)
  add_dependencies(ashlar-unittests ${name})
  set(kind)
  if(ARG_MLIR)
    list(APPEND kind MLIR)
  endif()
  if(ARG_OPTIMISED)
    list(APPEND kind OPTIMISED)
  endif()
  ashlar_set_tests(${name} ${kind} APART ${ARG_APART})
endfunction()

# ashlar_add_options(TARGET FILE.td): the options of a tool (Support/Options.td),
# as FILE.inc of the same folder in the build folder.
function(ashlar_add_options target file)
  cmake_path(REPLACE_EXTENSION file LAST_ONLY inc OUTPUT_VARIABLE name)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${name})
  cmake_path(GET out PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${out}
    COMMAND ${LLVM_TOOLS_BINARY_DIR}/llvm-tblgen -gen-opt-parser-defs
      -I ${PROJECT_SOURCE_DIR}/include -I ${LLVM_INCLUDE_DIRS}
      ${CMAKE_CURRENT_SOURCE_DIR}/${file} -o ${out}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${file}
      ${PROJECT_SOURCE_DIR}/include/ashlar/Support/Options.td VERBATIM)
  target_sources(${target} PRIVATE ${out})
endfunction()

# ashlar_add_subdirectories([EXCEPT folders...]): every child folder that has a
# CMakeLists.txt, but for those named.
function(ashlar_add_subdirectories)
  cmake_parse_arguments(ARG "" "" "EXCEPT" ${ARGN})
  file(GLOB children RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}
    ${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt)
  foreach(child ${children})
    get_filename_component(directory ${child} DIRECTORY)
    if(NOT directory IN_LIST ARG_EXCEPT)
      add_subdirectory(${directory})
    endif()
  endforeach()
endfunction()
