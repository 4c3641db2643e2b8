// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses between the dense array and the sparse cluster for every convolution
// (see Passes.td). Input: npu.pe operations with stationary operands and counts
// of zeros. Output: some of them as npu.tcu.conv, a decision on each.

#include "ashlar/Analysis/DenseCycles.h"
#include "ashlar/Analysis/StorageType.h"
#include "ashlar/Analysis/TilePlan.h"
#include "ashlar/Analysis/ZeroAnalysis.h"
#include "ashlar/Machine/Cycles.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

#include <fmt/format.h>

namespace ashlar::npu {
#define GEN_PASS_DEF_CHOOSECLUSTER
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;
using analysis::shapeOf;
using analysis::storageOf;

namespace {

/// Why the sparse cluster cannot run a convolution; empty if it can.
std::string obstacle(PeConvOp conv, const machine::Description &machine) {
  auto w = shapeOf(conv.getW()), x = shapeOf(conv.getX());
  auto above = [](llvm::ArrayRef<int64_t> values, int64_t limit) {
    return llvm::any_of(values, [=](int64_t v) { return v > limit; });
  };
  if (conv.getStrides().size() > 2)
    return "three spatial dimensions";
  if (!storageOf(conv.getX()).encoded || storageOf(conv.getX()).blockAxis != 1)
    return "its input is not encoded along channels";
  if (!analysis::hasStreamedWeights(conv))
    return "its weights are not constant";
  int64_t block = storageOf(conv.getX()).format.block;
  auto plane = std::min<int64_t>(block > 0 ? block : 64, machine.sb.partitions);
  if (plane < 8 || plane < static_cast<int64_t>(machine.xmGroup) ||
      static_cast<int64_t>(machine.sb.partitions) % plane != 0)
    return "no plane of exponent cells has its blocks";
  if (above(w.drop_front(2), 255) || above(conv.getStrides(), 15) ||
      above(conv.getDilations(), 63) || above(x.drop_front(2), 65535) ||
      above(shapeOf(conv.getY()), 65535) || x[0] > 65535)
    return "larger than the fields of an instruction";
  return "";
}

/// Predicted cycles of the dense array: its better stationary operand, its best
/// lane fold, or the drain of its results.
int64_t denseCycles(PeConvOp conv, const machine::Description &machine) {
  auto shape = shapeOf(conv.getX());
  int64_t cycles = analysis::arrayCycles(conv, analysis::Lanes(), machine);
  if (auto decision =
          conv->getAttrOfType<DictionaryAttr>(kStationaryDecisionAttr))
    if (auto all = decision.getAs<DictionaryAttr>("alternatives"))
      for (NamedAttribute alternative : all)
        cycles = std::min(cycles,
                          cast<IntegerAttr>(alternative.getValue()).getInt());
  if (conv.getGroup() == 1 && conv.getStrides().back() == 1)
    for (const analysis::Lanes &fold :
         analysis::laneFolds(shape[1], shape.back(), machine))
      cycles = std::min(cycles, analysis::arrayCycles(conv, fold, machine));
  int64_t drain = 0, positions = 1;
  for (int64_t extent : shapeOf(conv.getY()))
    positions *= extent;
  positions /= shapeOf(conv.getY())[1];
  for (const auto &column :
       analysis::planStationary(analysis::productShape(conv), machine))
    drain += static_cast<int64_t>(
        machine::actDrain(machine, column.cols, positions).issue);
  return std::max(cycles, drain) +
         static_cast<int64_t>(machine.pe.rows + machine.pe.columns +
                              machine.act.latency);
}

struct ChooseClusterPass : impl::ChooseClusterBase<ChooseClusterPass> {
  using ChooseClusterBase::ChooseClusterBase;

  void runOnOperation() override {
    auto machine = machineOf(getOperation());
    if (failed(machine))
      return signalPassFailure();
    if (mode != "auto" && mode != "off" && mode != "tile") {
      getOperation().emitError()
          << "mode '" << mode << "', expected auto, off or tile";
      return signalPassFailure();
    }
    llvm::SmallVector<PeConvOp> convs;
    getOperation().walk([&](PeConvOp conv) { convs.push_back(conv); });
    for (PeConvOp conv : convs)
      choose(conv, *machine);
  }

  void choose(PeConvOp conv, const machine::Description &machine) {
    Builder builder(conv.getContext());
    llvm::SmallVector<NamedAttribute> decision;
    auto text = [&](llvm::StringRef name, const llvm::Twine &value) {
      decision.push_back(
          builder.getNamedAttr(name, builder.getStringAttr(value)));
    };
    std::string reason = obstacle(conv, machine);
    std::optional<analysis::TilePlan> plan;
    bool sparse = false;
    text("eligible", reason.empty() ? "yes" : "no");
    if (reason.empty() && mode != "off") {
      auto out = shapeOf(conv.getY());
      llvm::SmallVector<int64_t, 4> extent{out[0]};
      extent.append(out.begin() + 2, out.end());
      analysis::TileProblem problem = analysis::tileProblem(
          conv, analysis::EncodedWeights(conv), extent, machine);
      plan = analysis::planTiles(problem, machine);
      if (!plan)
        reason = "no tile fits its units";
    }
    int64_t dense = denseCycles(conv, machine);
    if (plan) {
      sparse = mode == "tile" || plan->cycles < dense;
      reason = plan->cycles < dense ? "fewer cycles than the dense array"
               : sparse             ? "asked for"
                                    : "the dense array takes fewer cycles";
      addPlan(builder, *plan, dense, decision);
    } else if (mode == "off") {
      reason = "the sparse cluster is switched off";
    }
    text("choice", sparse ? "sparse-tile" : "dense");
    text("reason", reason);
    addZeros(builder, conv, plan, decision);
    conv->setAttr(kSparseDecisionAttr, builder.getDictionaryAttr(decision));
    if (sparse)
      convert(conv);
  }

  static void addPlan(Builder &builder, const analysis::TilePlan &plan,
                      int64_t dense,
                      llvm::SmallVectorImpl<NamedAttribute> &decision) {
    auto number = [&](llvm::StringRef name, int64_t value) {
      return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
    };
    decision.push_back(builder.getNamedAttr(
        "alternatives",
        builder.getDictionaryAttr(
            {number("dense", dense), number("sparse-tile", plan.cycles),
             number("sparse-tile-unskipped", plan.unskipped)})));
    decision.push_back(number("cycles_saved", dense - plan.cycles));
    decision.push_back(builder.getNamedAttr(
        "plan",
        builder.getStringAttr(fmt::format(
            "tile {}x{}x{}, {} groups of units, {} channels a set, {} sums, {} "
            "outside",
            plan.images, plan.rows, plan.cols, plan.groups, plan.slots,
            plan.twoSums ? 2 : 1, plan.tilesOutside ? "tiles" : "outputs"))));
    decision.push_back(builder.getNamedAttr(
        "engines",
        builder.getDictionaryAttr(
            {number("run", plan.run), number("load", plan.load),
             number("drain", plan.drain), number("stream", plan.stream)})));
  }

  /// Theoretical skip: weights per coefficient that is left. Realised skip: the
  /// cluster's cycles without skipping over those with it.
  static void addZeros(Builder &builder, PeConvOp conv,
                       const std::optional<analysis::TilePlan> &plan,
                       llvm::SmallVectorImpl<NamedAttribute> &decision) {
    auto zeros = conv->getAttrOfType<DictionaryAttr>(analysis::kZerosAttr);
    if (!zeros)
      return;
    decision.push_back(builder.getNamedAttr("zeros", zeros));
    auto count = [&](llvm::StringRef name) {
      auto attr = zeros.getAs<IntegerAttr>(name);
      return attr ? attr.getInt() : 0;
    };
    int64_t left = count("weights") - count("exact") - count("encoded") -
                   count("structural");
    auto ratio = [&](llvm::StringRef name, int64_t a, int64_t b) {
      decision.push_back(builder.getNamedAttr(
          name,
          builder.getStringAttr(fmt::format(
              "{:.2f}",
              b > 0 ? static_cast<double>(a) / static_cast<double>(b) : 0.0))));
    };
    ratio("theoretical_skip", count("weights"), left);
    if (plan)
      ratio("realised_skip", plan->unskipped, plan->cycles);
  }

  void convert(PeConvOp conv) {
    OpBuilder builder(conv);
    auto tcu = TcuConvOp::create(
        builder, conv.getLoc(), conv.getY().getType(), conv.getX(), conv.getW(),
        conv.getBias(), conv.getScale(), conv.getResidual(),
        conv.getStridesAttr(), conv.getPadsAttr(), conv.getDilationsAttr(),
        conv.getGroupAttr(), conv.getFunctionAttr(), conv.getAlphaAttr(),
        conv.getBetaAttr());
    for (NamedAttribute attr : conv->getDiscardableAttrs())
      if (attr.getName() != analysis::kStationaryAttr &&
          attr.getName() != kStationaryDecisionAttr)
        tcu->setAttr(attr.getName(), attr.getValue());
    conv.getY().replaceAllUsesWith(tcu.getY());
    conv.erase();
    ++numSparse;
  }
};

} // namespace
} // namespace ashlar::npu
