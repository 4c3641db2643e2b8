// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses the engine of the function that follows a product. Input: pe
// operations whose drains apply it. Output: the same, some with a plain drain
// and an `npu.vec.map` after it, and a decision with the cycles of both.
//
// ACT has a lane per column of the array, VEC usually one per partition. Where
// a function takes several cycles per result, the drain is slower than the
// array that it drains, and VEC, which has nothing to do meanwhile, is done
// sooner. No value changes: a drain applies the function to the
// binary32 result that it stores here. ashlar-npu-share-functions, which knows
// the layouts, may bring the function back to share it.

#include "ashlar/Analysis/Cost/FunctionCycles.h"
#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Analysis/Layout/View.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/Ashlar/Decision.h"
#include "dialects/BFP/EncodeEvents.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

namespace ashlar::npu {
#define GEN_PASS_DEF_CHOOSEFUNCTIONENGINE
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;
using analysis::FunctionCycles;
using analysis::storageOf;

namespace {

/// The part of its cycles that a product has to gain: what reads the result
/// waits for another engine, and the result takes memory twice unless the
/// function works in place.
constexpr int64_t kFunctionGain = 8;

/// A drain whose function VEC can apply to what it would store.
template <typename OpTy>
bool mayMoveFunction(OpTy op) {
  return op.getFunction() != "copy" && !op.getSlope() && !op.getQuant() &&
         !op.getIntegerEpilogue() &&
         op.getStationary() == Stationary::Weights &&
         (storageOf(op.getY()).encoded ||
          isa<FloatType>(getElementTypeOrSelf(op.getY().getType())));
}

/// True if the result and its values before the function leave room in the
/// state buffer for operands and weights: what does not fit goes through DRAM.
bool fits(Operation *op, const machine::Description &machine) {
  const Value y = op->getResult(0);
  const llvm::ArrayRef<int64_t> shape = analysis::shapeOf(y);
  const int64_t axis =
      isa<PeConvOp>(op) ? 1 : static_cast<int64_t>(shape.size()) - 1;
  const int64_t bytes =
      analysis::bufferBytes(analysis::f32Storage(), shape, axis, machine) +
      analysis::bufferBytes(storageOf(y), shape, axis, machine);
  return 2 * bytes <= static_cast<int64_t>(machine.sb.bytesPerPartition);
}

struct ChooseFunctionEnginePass
    : impl::ChooseFunctionEngineBase<ChooseFunctionEnginePass> {
  using ChooseFunctionEngineBase::ChooseFunctionEngineBase;

  void runOnOperation() override {
    if (engine == "drain" || engine == "shared")
      return;
    auto machine = boundMachineOf(getOperation());
    if (failed(machine))
      return signalPassFailure();
    for (Operation *op : denseProducts(getOperation())) {
      if (auto conv = dyn_cast<PeConvOp>(op))
        choose(conv, *machine);
      else
        choose(cast<PeMatmulOp>(op), *machine);
    }
  }

private:
  template <typename OpTy>
  void choose(OpTy op, const machine::Description &machine) {
    if (!mayMoveFunction(op))
      return;
    const FunctionCycles cycles =
        analysis::functionCycles(op, analysis::Lanes(), machine);
    if (cycles.drain == cycles.plain)
      return;
    const bool gains =
        engine == "vector" ||
        cycles.together() - cycles.apart() > cycles.together() / kFunctionGain;
    const bool moves = gains && fits(op, machine);
    setDecision(op, cycles, moves, reasonOf(gains, moves));
    if (moves)
      move(op);
  }

  /// `gains`: the vector unit is faster, or asked for.
  llvm::StringRef reasonOf(bool gains, bool moves) const {
    if (!gains)
      return "the vector unit would not gain enough";
    if (!moves)
      return "the state buffer has no room for the values before the function";
    if (engine == "vector")
      return "requested";
    return "the drain with the function is slower than the array, and the "
           "vector unit is faster";
  }

  void setDecision(Operation *op, const FunctionCycles &cycles, bool moves,
                   llvm::StringRef reason) {
    records::Decision(op->getContext(),
                      moves ? kFunctionInVectorUnit : kFunctionInDrain, reason)
        .alternative(kFunctionInDrain, cycles.together())
        .alternative(kFunctionInVectorUnit, cycles.apart())
        .record(op, kFunctionDecisionAttr);
  }

  template <typename OpTy>
  void move(OpTy op) {
    OpBuilder builder(op.getContext());
    builder.setInsertionPointAfter(op);
    auto map = VecMapOp::create(
        builder, op.getLoc(), op.getY().getType(), op.getY(), Value(), Value(),
        op.getFunctionAttr(), op.getAlphaAttr(), op.getBetaAttr());
    const OriginAttr origin = op.getOriginAttr();
    const auto part = [&](StringAttr name, StringAttr made) {
      return OriginAttr::get(op.getContext(), name, made);
    };
    map.setOriginAttr(
        part(origin ? origin.getName() : StringAttr(), op.getFunctionAttr()));
    op.setOriginAttr(
        part(StringAttr(), origin ? origin.getOp() : StringAttr()));
    op.getY().replaceAllUsesExcept(map.getResult(), map);
    op.getY().setType(op.getY().getType().clone(builder.getF32Type()));
    if (Attribute scale = op->removeAttr(records::kScaleAttr))
      map->setAttr(records::kScaleAttr, scale);
    op.setFunction("copy");
    op.setAlpha(APFloat(0.0f));
    op.setBeta(APFloat(0.0f));
    ++numMoved;
  }
};

} // namespace
} // namespace ashlar::npu
