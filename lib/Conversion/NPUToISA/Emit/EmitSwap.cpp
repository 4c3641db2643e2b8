// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// npu.dma.move in the memory of its operand: square blocks are swapped
// through scratch. Assumption: the plan found the exchange possible
// (analysis::blockSwap), and the operand is not read again.

#include "../Generator.h"

#include "ashlar/Analysis/Layout/InPlace.h"
#include "ashlar/Analysis/Layout/MoveView.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ashlar::codegen {

namespace {

class BlockExchange {
public:
  BlockExchange(Generator &generator, const analysis::BlockSwap &swap,
                const View &source, const View &result,
                llvm::ArrayRef<View> slots)
      : generator(generator), swap(swap), source(source), result(result),
        slots(slots) {}

  void run() {
    const int64_t blocks = llvm::divideCeil(swap.extent, swap.block);
    for (int64_t i = 0; i < blocks; ++i)
      for (int64_t j = i; j < blocks; ++j) {
        const View kept = keep(i, j);
        // The place of (i, j) takes (j, i) before that place takes (i, j).
        if (i != j)
          emit(source, Region::whole(source.shape), j, i);
        emit(kept, operandBlock(i, j), i, j);
      }
  }

private:
  Region operandBlock(int64_t i, int64_t j) const {
    return analysis::blockOfOperand(swap, source.shape, source.axis, i, j);
  }

  /// Copies block (i, j) of the operand to scratch.
  View keep(int64_t i, int64_t j) {
    const Region block = operandBlock(i, j);
    const View kept = analysis::denseBufferView(
        source.type, block.size, source.axis, slots[turn++ % slots.size()].base,
        generator.machine);
    emitCopy(generator.builder, source.slice(block, generator.machine), kept);
    return kept;
  }

  /// Writes block (i, j) of the operand, of which `from` holds `held`, to its
  /// place in the result.
  void emit(const View &from, const Region &held, int64_t i, int64_t j) {
    const Region place =
        analysis::blockOfResult(swap, result.shape, result.axis, i, j);
    npu::AccessPattern pattern = swap.pattern;
    if (!analysis::clipPattern(pattern, place))
      return;
    for (size_t axis = 0; axis < held.start.size(); ++axis)
      pattern.sourceStart[axis] -= held.start[axis];
    emitPattern(generator.builder, from, result.slice(place, generator.machine),
                pattern);
  }

  Generator &generator;
  const analysis::BlockSwap &swap;
  const View &source, &result;
  llvm::ArrayRef<View> slots;
  size_t turn = 0;
};

} // namespace

llvm::Error emitSwap(Generator &generator, const TileContext &tile) {
  auto move = cast<npu::DmaMoveOp>(tile.op);
  const View &source = tile.operands[0];
  auto swap =
      analysis::blockSwap(move, source, tile.result.axis, generator.machine);
  if (!swap || !source.inStateBuffer() || !tile.result.inStateBuffer() ||
      tile.scratch.empty())
    return generator.unsupported(tile.op, "its blocks cannot be swapped");
  BlockExchange(generator, *swap, source, tile.result, tile.scratch).run();
  return llvm::Error::success();
}

} // namespace ashlar::codegen
