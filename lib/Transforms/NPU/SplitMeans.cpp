// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Divides the sums of a mean where they lie across partitions. Input: npu
// operations with `layout`. Output: some means as a sum and a quotient.

#include "AxisCost.h"

#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/NNOps.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"

namespace ashlar::npu {
#define GEN_PASS_DEF_SPLITMEANS
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;
using analysis::shapeOf;

namespace {

struct SplitMeansPass : impl::SplitMeansBase<SplitMeansPass> {
  void runOnOperation() override {
    auto machine = boundMachineOf(getOperation());
    if (failed(machine))
      return signalPassFailure();
    llvm::SmallVector<VecReduceOp> means;
    getOperation().walk([&](VecReduceOp op) {
      if (op.getKind() == "mean" && op.reducesThroughPartitions() &&
          isWorthSpreading(shapeOf(op.getY()), "div", *machine))
        means.push_back(op);
    });
    for (VecReduceOp mean : means)
      split(mean);
    numSplit += means.size();
  }

  static void split(VecReduceOp mean) {
    OpBuilder builder(mean);
    const Location loc = mean.getLoc();
    const RankedTensorType type = mean.getY().getType();
    const OriginAttr origin = mean.getOriginAttr();
    auto sum = VecReduceOp::create(
        builder, loc, type, mean.getX(), builder.getStringAttr("sum"),
        mean.getAxesAttr(), mean.getSelectLastAttr());
    sum.setLayoutAttr(mean.getLayoutAttr());
    // Only the quotient is the tensor of the plan.
    if (origin)
      sum.setOriginAttr(
          OriginAttr::get(builder.getContext(), StringAttr(), origin.getOp()));
    const auto count = static_cast<float>(shapeOf(mean.getX())[*axisOf(mean)]);
    auto number = RankedTensorType::get({1}, builder.getF32Type());
    Value divisor = nn::ConstantOp::create(
        builder, loc, number, DenseElementsAttr::get(number, count));
    const FloatAttr zero = builder.getF32FloatAttr(0);
    auto quotient = VecMapOp::create(
        builder, loc, type, ValueRange{sum.getY(), divisor}, Value(), Value(),
        builder.getStringAttr("div"), zero, zero);
    quotient.setOriginAttr(origin);
    quotient.setLayoutAttr(LayoutAttr::get(
        builder.getContext(),
        longestAxis(shapeOf(mean.getY()), [](int64_t) { return true; })));
    mean.getY().replaceAllUsesWith(quotient.getY());
    mean.erase();
  }
};

} // namespace
} // namespace ashlar::npu
