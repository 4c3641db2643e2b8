// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shares the functions of products between ACT and the vector unit (see
// Passes.td). Input: npu operations with their layouts. Output: `vector_share`
// and a decision on the products whose function takes longer than the array.
// Functions that ashlar-npu-choose-function-engine gave to the vector unit come
// back for that.

#include "ashlar/Analysis/Cost/FunctionCycles.h"
#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/Ashlar/Decision.h"
#include "dialects/BFP/EncodeEvents.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"

namespace ashlar::npu {
#define GEN_PASS_DEF_SHAREFUNCTIONS
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;

namespace {

/// The part of its cycles that a product has to gain: each piece that the
/// vector unit takes is one more instruction, and takes scratch memory.
constexpr int64_t kShareGain = 16;

/// What the vector unit gets at least where shares are asked for.
constexpr int64_t kLeastShare = 4;

/// The function of `op` that was given to the vector unit, if its result lies
/// as the sums do; or null.
VecMapOp movedFunction(Operation *op) {
  auto decision = records::decisionOf(op, kFunctionDecisionAttr);
  if (!decision || decision.getChoice() != kFunctionInVectorUnit ||
      !op->hasOneUse())
    return nullptr;
  auto map = dyn_cast<VecMapOp>(*op->user_begin());
  const bool same = map && map.getInputs().size() == 1 && !map.getScale() &&
                    !map.getBias() && layoutAttrOf(map) == layoutAttrOf(op);
  return same ? map : nullptr;
}

/// The product whose drain applies what `map` does to the result of `op`.
template <typename OpTy>
Operation *withFunction(OpTy op, VecMapOp map) {
  OpBuilder builder(op);
  auto whole = cast<OpTy>(builder.clone(*op));
  whole.getY().setType(cast<RankedTensorType>(map.getY().getType()));
  whole.setFunctionAttr(map.getOpAttr());
  whole.setAlphaAttr(map.getAlphaAttr());
  whole.setBetaAttr(map.getBetaAttr());
  const OriginAttr product = op.getOriginAttr(), function = map.getOriginAttr();
  whole.setOriginAttr(OriginAttr::get(
      op.getContext(), function ? function.getName() : StringAttr(),
      product ? product.getOp() : StringAttr()));
  if (Attribute scale = map->getAttr(records::kScaleAttr))
    whole->setAttr(records::kScaleAttr, scale);
  return whole;
}

struct ShareFunctionsPass : impl::ShareFunctionsBase<ShareFunctionsPass> {
  using ShareFunctionsBase::ShareFunctionsBase;

  void runOnOperation() override {
    if (engine == "drain" || engine == "vector")
      return;
    auto machine = assignedMachineOf(getOperation());
    if (failed(machine))
      return signalPassFailure();
    for (Operation *op : denseProducts(getOperation()))
      decide(op, *machine);
  }

  void decide(Operation *op, const machine::Description &machine) {
    VecMapOp map = movedFunction(op);
    if (!map) {
      share(op, /*alone=*/false, machine);
      return;
    }
    Operation *whole = isa<PeConvOp>(op)
                           ? withFunction(cast<PeConvOp>(op), map)
                           : withFunction(cast<PeMatmulOp>(op), map);
    if (!share(whole, /*alone=*/true, machine)) {
      whole->erase();
      return;
    }
    map.getY().replaceAllUsesWith(whole->getResult(0));
    map.erase();
    op->erase();
  }

  /// `alone`: the vector unit would apply the function to everything otherwise.
  bool share(Operation *op, bool alone, const machine::Description &machine) {
    if (!analysis::mayShareFunction(op, machine))
      return false;
    const analysis::FunctionCycles cycles =
        analysis::functionCycles(op, analysis::lanesOf(op), machine);
    const int64_t best = engine == "shared"
                             ? std::max(cycles.bestShare(), kLeastShare)
                             : cycles.bestShare();
    const int64_t drain = cycles.sharedToEnd(0), vector = cycles.apartToEnd();
    const int64_t shared = cycles.sharedToEnd(best);
    const int64_t before = alone ? vector : drain;
    if (engine != "shared" && before - shared <= before / kShareGain)
      return false;
    setVectorShare(op, best);
    records::Decision(&getContext(), kFunctionShared,
                      engine == "shared"
                          ? "requested"
                          : "ACT and the vector unit apply the function side "
                            "by side")
        .alternative(kFunctionInDrain, drain)
        .alternative(kFunctionInVectorUnit, vector)
        .alternative(kFunctionShared, shared)
        .record(op, kFunctionDecisionAttr);
    ++numShared;
    return true;
  }
};

} // namespace
} // namespace ashlar::npu
