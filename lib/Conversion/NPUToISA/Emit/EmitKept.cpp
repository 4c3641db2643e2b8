// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a run leaves for the next: new rows of caches go to their places in
// DRAM, after everything that reads the old ones.

#include "EmitKept.h"

#include "../Copy.h"
#include "../Generator.h"

#include "ashlar/Analysis/Layout/KeptResults.h"
#include "ashlar/Analysis/Module/ModuleForm.h"

using namespace mlir;

namespace ashlar::codegen {

/// The copy with its destination moved by `place` indices of `stride` bytes,
/// one of `places`.
static isa::DmaPut putOf(const isa::DmaCopy &copy, int64_t place,
                         int64_t places, int64_t stride) {
  isa::DmaPut put{};
  put.queue = copy.queue;
  put.elemBytes = copy.elemBytes;
  put.srcMem = copy.srcMem;
  put.indexType = isa::ElemType::I64;
  put.size = static_cast<uint32_t>(places);
  put.indexBase = place;
  put.axisStride = stride;
  put.srcBase = copy.srcBase;
  put.dstBase = copy.dstBase;
  put.n0 = copy.n0, put.n1 = copy.n1, put.n2 = copy.n2, put.n3 = copy.n3;
  put.n4 = copy.n4;
  put.srcStride0 = copy.srcStride0, put.srcStride1 = copy.srcStride1;
  put.srcStride2 = copy.srcStride2, put.srcStride3 = copy.srcStride3;
  put.srcStride4 = copy.srcStride4;
  put.dstStride0 = copy.dstStride0, put.dstStride1 = copy.dstStride1;
  put.dstStride2 = copy.dstStride2, put.dstStride3 = copy.dstStride3;
  put.dstStride4 = copy.dstStride4;
  return put;
}

/// The node whose result is kept, for the account.
static uint32_t nodeOf(const Generator &generator, Value value) {
  auto found = llvm::find(generator.nodes, value.getDefiningOp());
  return found == generator.nodes.end()
             ? 0
             : static_cast<uint32_t>(found - generator.nodes.begin());
}

void emitKept(Generator &generator, ModuleOp module) {
  func::FuncOp main = analysis::mainOf(module);
  OperandRange results = main.front().getTerminator()->getOperands();
  ProgramBuilder &builder = generator.builder;
  for (unsigned i = 0; i < results.size(); ++i) {
    auto kept = analysis::keptOf(main, i);
    if (!kept || results[i] == main.getArgument(kept->input))
      continue;
    builder.node = nodeOf(generator, results[i]);
    const View rows = generator.allocations.lookup(results[i]);
    const View home =
        generator.allocations.lookup(main.getArgument(kept->input));
    const size_t first = builder.entries.size();
    const int64_t axis = kept->axis;
    emitCopy(builder, rows,
             home.slice(Region::whole(rows.shape), generator.machine));
    if (axis < 0)
      continue;
    const int64_t place =
        generator.allocations.lookup(results[kept->position]).base;
    for (size_t at = first; at < builder.entries.size(); ++at) {
      isa::Instruction &inst = builder.entries[at].instruction;
      inst = putOf(std::get<isa::DmaCopy>(inst), place,
                   home.shape[axis] - rows.shape[axis] + 1, home.strides[axis]);
    }
  }
}

} // namespace ashlar::codegen
