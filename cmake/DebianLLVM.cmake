# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Finds the pinned LLVM and MLIR. Debian's exported targets name optional
# libraries whose -dev packages LLVM's own package does not pull in; nothing of
# ours links them, so empty imported targets stand in where they are missing.

set(ASHLAR_LLVM_VERSION 22.1)
include(CollectLinks)

foreach(target zstd::libzstd_shared CURL::libcurl LibEdit::LibEdit)
  if(NOT TARGET ${target})
    add_library(${target} INTERFACE IMPORTED)
  endif()
endforeach()

find_package(MLIR ${ASHLAR_LLVM_VERSION} CONFIG
  HINTS /usr/lib/llvm-22/lib/cmake/mlir)
if(NOT MLIR_FOUND)
  message(FATAL_ERROR "MLIR ${ASHLAR_LLVM_VERSION} not found: install "
    "libmlir-22-dev and mlir-22-tools, or run tools/build, which does")
endif()
find_package(LLVM ${ASHLAR_LLVM_VERSION} REQUIRED CONFIG
  HINTS ${LLVM_DIR} /usr/lib/llvm-22/lib/cmake/llvm)

list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
set(LLVM_EXTERNAL_LIT ${LLVM_TOOLS_BINARY_DIR}/lit)
set(LLVM_RUNTIME_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/bin)
set(LLVM_LIBRARY_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/lib)
include(TableGen)
include(AddLLVM)
include(AddMLIR)
separate_arguments(LLVM_DEFINITIONS_LIST NATIVE_COMMAND ${LLVM_DEFINITIONS})
add_definitions(${LLVM_DEFINITIONS_LIST})

# AshlarStaticMLIR: archives of MLIR and LLVM for tools that load no plug-ins.
# Debian's targets of MLIR's archives link the shared LLVM, so their files are
# named one by one: those that the roots reach.
set(roots MLIRFuncDialect MLIRLspServerLib MLIROptLib MLIRParser MLIRTransforms
  LLVMBitstreamReader LLVMRemarks LLVMSupportLSP LLVMTargetParser)
ashlar_collect_links("${roots}" "^(MLIR|LLVM).+" archives)
list(TRANSFORM archives REPLACE ".+" "$<TARGET_FILE:\\0>")
add_library(AshlarStaticMLIR INTERFACE IMPORTED)
target_link_libraries(AshlarStaticMLIR INTERFACE
  -Wl,--start-group ${archives} -Wl,--end-group LLVMOption)
