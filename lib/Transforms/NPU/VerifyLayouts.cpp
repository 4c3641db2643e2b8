// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that no operation meets a layout that its code does not handle. Input:
// npu operations with axes, with or without placements. Output: the same.

#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Layout/BufferViews.h"
#include "ashlar/Analysis/Layout/MoveView.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace ashlar::npu {
#define GEN_PASS_DEF_VERIFYLAYOUTS
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;
using analysis::View;

namespace {

class Verifier {
public:
  explicit Verifier(const machine::Description &machine) : machine(machine) {}

  LogicalResult verify(Operation *op) {
    if (!axisOf(op))
      return op->emitOpError() << "has no axis across partitions ('layout')";
    analysis::TilingModel model = analysis::buildTilingModel(op, machine);
    if (failed(verifyOperands(op, model)))
      return failure();
    std::optional<View> view;
    if (failed(place(op, view)))
      return failure();
    return verifyResult(op, model, view);
  }

private:
  LogicalResult verifyOperands(Operation *op,
                               const analysis::TilingModel &model) {
    for (auto [index, value] : llvm::enumerate(op->getOperands())) {
      auto view = views.find(value);
      if (view == views.end())
        continue;
      std::string why =
          analysis::refuseInPlace(op, index, model, view->second, machine);
      if (!why.empty())
        return op->emitOpError()
               << "reads operand " << index << " in place, but " << why;
    }
    return success();
  }

  /// The view of a result that lies in the state buffer. Before planning every
  /// result is taken to lie there, dense.
  LogicalResult place(Operation *op, std::optional<View> &view) {
    MemoryAttr memory = memoryOf(op);
    if (memory && !memory.inStateBuffer())
      return success();
    const View *source = nullptr;
    if (op->getNumOperands() == 1)
      if (auto found = views.find(op->getOperand(0)); found != views.end())
        source = &found->second;
    auto placed =
        analysis::resultView(op, memory ? *memory.getSb() : 0, source, machine);
    if (!placed)
      return op->emitOpError() << llvm::toString(placed.takeError());
    view = *placed;
    views[op->getResult(0)] = *placed;
    return success();
  }

  /// A result in DRAM is made dense in scratch memory first. Where products
  /// leave theirs in scratch memory of another form, a feature map follows.
  LogicalResult verifyResult(Operation *op, const analysis::TilingModel &model,
                             std::optional<View> view) {
    if (isAliased(op) ||
        (analysis::isProduct(op) &&
         !model.scratch(analysis::Region::whole(model.resultShape)).empty()))
      return success();
    if (!view || model.homeLanes != model.lanes)
      view = analysis::denseBufferView(
          model.resultType,
          analysis::storedShape(model.resultShape, model.lanes),
          model.resultAxis, 0, machine);
    std::string why = cast<LayoutInterface>(op).refuseResult(
        analysis::layoutOf(*view, model.lanes, machine));
    if (!why.empty())
      return op->emitOpError() << "writes its result in place, but " << why;
    return success();
  }

  const machine::Description &machine;
  llvm::DenseMap<Value, View> views;
};

struct VerifyLayoutsPass : impl::VerifyLayoutsBase<VerifyLayoutsPass> {
  void runOnOperation() override {
    auto machine = assignedMachineOf(getOperation());
    if (failed(machine))
      return signalPassFailure();
    Verifier verifier(*machine);
    WalkResult result = getOperation().walk([&](Operation *op) {
      return isa<LayoutInterface>(op) && failed(verifier.verify(op))
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace ashlar::npu
