# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Precompiled headers: a few, each shared by many targets
# (docs/decisions/tools/2026-11-22-build-time.md). They hold headers of others only:
# CMake makes a system header of what is precompiled, which would hide warnings
# about ours. CMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds without them, and so does
# g++: version 12 warns about its own std::string where that is precompiled.

set(ashlar_headers_Base
  <algorithm> <array> <bit> <cmath> <cstdint> <cstring> <deque> <functional>
  <limits> <map> <memory> <numeric> <optional> <set> <string> <tuple> <utility>
  <vector> <fmt/format.h> <llvm/ADT/ArrayRef.h> <llvm/ADT/DenseMap.h>
  <llvm/ADT/STLExtras.h> <llvm/ADT/SmallVector.h> <llvm/ADT/StringExtras.h>
  <llvm/ADT/StringMap.h> <llvm/ADT/StringRef.h> <llvm/Support/Error.h>
  <llvm/Support/FormatVariadic.h> <llvm/Support/JSON.h>
  <llvm/Support/MathExtras.h>)
set(ashlar_headers_Mlir ${ashlar_headers_Base}
  <llvm/ADT/TypeSwitch.h> <mlir/Bytecode/BytecodeOpInterface.h>
  <mlir/Dialect/Func/IR/FuncOps.h> <mlir/IR/Builders.h>
  <mlir/IR/BuiltinOps.h> <mlir/IR/OpImplementation.h>
  <mlir/IR/TypeUtilities.h> <mlir/Pass/Pass.h>
  <mlir/Transforms/GreedyPatternRewriteDriver.h>)
set(ashlar_headers_Test ${ashlar_headers_Base} <random> <gtest/gtest.h>)
set(ashlar_headers_MlirTest ${ashlar_headers_Mlir} <random> <gtest/gtest.h>)

# ccache keeps objects that use a precompiled header only if it may trust the
# macros of the command line, which it hashes anyway; nothing here uses
# __TIME__. What else the user's configuration allows stays allowed.
function(ashlar_let_ccache_precompile)
  foreach(language C CXX)
    set(launcher ${CMAKE_${language}_COMPILER_LAUNCHER})
    if(NOT launcher MATCHES "ccache$" OR launcher MATCHES "CCACHE_SLOPPINESS")
      continue()
    endif()
    list(GET launcher -1 program)
    execute_process(COMMAND ${program} --get-config sloppiness
      OUTPUT_VARIABLE trusted OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    string(REGEX MATCHALL "[a-z_]+" trusted "${trusted}")
    list(APPEND trusted pch_defines time_macros)
    list(REMOVE_DUPLICATES trusted)
    list(JOIN trusted "," trusted)
    set(CMAKE_${language}_COMPILER_LAUNCHER
      env CCACHE_SLOPPINESS=${trusted} ${launcher} PARENT_SCOPE)
  endforeach()
endfunction()

# ashlar_compile_quickly(TARGET): without optimisation where the build has it: of
# what runs for less time than the optimiser takes. The libraries that it calls
# are optimised as ever.
function(ashlar_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
endfunction()

# ashlar_add_precompiled(KIND LINK libs...): the target that makes one of them,
# for the first target that uses it.
function(ashlar_add_precompiled kind)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  set(name AshlarPrecompiled${kind})
  set(source ${PROJECT_BINARY_DIR}/precompiled/${kind}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Only its headers matter.\n")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${source})
  ashlar_set_common(${name})
  target_link_libraries(${name} PRIVATE LLVM fmt::fmt ${ARG_LINK})
  if(MLIR IN_LIST ARG_LINK)
    ashlar_set_statistics(${name})
  endif()
  # The same headers give the same bytes, for ccache.
  target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  target_precompile_headers(${name} PRIVATE ${ashlar_headers_${kind}})
endfunction()

# ashlar_precompile(TARGET KIND): gives the target the shared precompiled header
# of a kind. Its options have to be those of ashlar_set_common(); a source with
# options of its own sets SKIP_PRECOMPILE_HEADERS.
function(ashlar_precompile target kind)
  if(NOT TARGET AshlarPrecompiled${kind})
    return()
  endif()
  target_precompile_headers(${target} REUSE_FROM AshlarPrecompiled${kind})
endfunction()

# ashlar_optimise(TARGET): -O3 in every build, also where that is not what
# precompiled headers are made with.
function(ashlar_optimise target)
  target_compile_options(${target} PRIVATE -O3)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  if(NOT "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}" MATCHES "-O3")
    set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  ashlar_let_ccache_precompile()
  ashlar_add_precompiled(Base)
  ashlar_add_precompiled(Mlir LINK MLIR)
  ashlar_add_precompiled(Test LINK GTest::gtest)
  ashlar_add_precompiled(MlirTest LINK MLIR GTest::gtest)
  ashlar_compile_quickly(AshlarPrecompiledTest)
  ashlar_compile_quickly(AshlarPrecompiledMlirTest)
endif()
