# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The definitions that tablegen writes for the operations of a dialect, cut into
# parts that compile in parallel.

# ashlar_shard_ops(DIALECT COUNT HEADERS...): generates <DIALECT>Ops.{h,cpp}.inc
# from LLVM_TARGET_DEFINITIONS, in COUNT parts; `<DIALECT>_SHARDS` are the
# sources that define them. HEADERS are what they include. The dialect calls
# register<DIALECT>DialectOperations().
macro(ashlar_shard_ops dialect count)
  mlir_tablegen(${dialect}Ops.h.inc -gen-op-decls -op-shard-count=${count})
  mlir_tablegen(${dialect}Ops.cpp.inc -gen-op-defs -op-shard-count=${count})
  ashlar_configure_shards(${dialect} ${count} ${dialect}_SHARDS ${ARGN})
endmacro()

function(ashlar_configure_shards dialect count result)
  set(includes)
  foreach(header ${ARGN})
    string(APPEND includes "#include \"${header}\"\n")
  endforeach()
  set(shards)
  math(EXPR last "${count} - 1")
  foreach(index RANGE ${last})
    set(shard ${CMAKE_CURRENT_BINARY_DIR}/${dialect}Ops.${index}.cpp)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/OpShard.cpp.in ${shard} @ONLY)
    list(APPEND shards ${shard})
  endforeach()
  set(${result} ${shards} PARENT_SCOPE)
endfunction()
