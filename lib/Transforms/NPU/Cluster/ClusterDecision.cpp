// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries of the decision on a convolution.

#include "ClusterDecision.h"

#include "ashlar/Analysis/Sparse/CounterAllocation.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "mlir/IR/Builders.h"

#include <fmt/format.h>

namespace ashlar::npu {

using namespace mlir;

llvm::StringRef choiceName(bool scatters) {
  return scatters ? "sparse-scatter" : "sparse-tile";
}

std::string ratioText(int64_t a, int64_t b) {
  return fmt::format(
      "{:.2f}", b > 0 ? static_cast<double>(a) / static_cast<double>(b) : 0.0);
}

static std::string planText(const WrittenPlan &written) {
  const analysis::TilePlan &plan = written.plan;
  return fmt::format(
      "tile {}x{}x{}, {} groups of units, {} channels a set, {} sums, {} "
      "outside{}{}{}{}",
      plan.images, plan.rows, plan.cols, plan.groups, plan.slots,
      plan.twoSums ? 2 : 1, plan.tilesOutside ? "tiles" : "outputs",
      plan.turns > 1
          ? fmt::format(", tiles handed on among {} groups", plan.turns)
          : "",
      written.parts > 1 ? fmt::format(", drains of {} groups", written.parts)
                        : "",
      plan.cellBlock > 0
          ? fmt::format(", cells for {} channels", plan.cellBlock)
          : "",
      written.tiles > 1
          ? fmt::format(", {} tiles of the state buffer", written.tiles)
          : "");
}

/// Dense less chosen cycles: as measured on the whole network, or as predicted.
static std::optional<int64_t> savedCycles(const records::Decision &decision,
                                          llvm::StringRef choice) {
  if (auto measured = decision.facts.getAs<DictionaryAttr>("measured")) {
    auto dense = measured.getAs<IntegerAttr>("dense");
    auto chosen = measured.getAs<IntegerAttr>(choice);
    if (dense && chosen)
      return dense.getInt() - chosen.getInt();
  }
  const auto dense = decision.cyclesOf("dense"),
             chosen = decision.cyclesOf(choice);
  return dense && chosen ? std::optional(*dense - *chosen) : std::nullopt;
}

void describe(records::Decision &decision, const WrittenPlan &written) {
  const analysis::TilePlan &plan = written.plan;
  if (!decision.cyclesOf("dense"))
    return;
  const llvm::StringRef choice = choiceName(written.scatters);
  decision.alternative(choice, written.tiles * plan.cycles);
  if (!written.scatters)
    decision.alternative("sparse-tile-unskipped",
                         written.tiles * written.unskipped);
  if (auto saved = savedCycles(decision, choice))
    decision.facts.set("cycles_saved", *saved);
  decision.facts.set("realised_skip", ratioText(written.unskipped, plan.cycles))
      .set("plan", planText(written))
      .set("engines", records::Facts(decision.facts.getContext())
                          .set("run", written.tiles * plan.run)
                          .set("load", written.tiles * plan.load)
                          .set("drain", written.tiles * plan.drain)
                          .set("stream", written.tiles * plan.stream)
                          .get());
}

static bool scatters(Operation *op) {
  auto conv = dyn_cast<TcuConvOp>(op);
  return conv && conv.getScatterAttr();
}

void nameCounters(ModuleOp module, const machine::Description &machine) {
  llvm::DenseMap<Operation *, size_t> numbers;
  std::vector<analysis::CountedMap> maps;
  auto cutsOf = [](Operation *op) {
    auto decision = records::decisionOf(op, kSparseDecisionAttr);
    const DictionaryAttr facts = decision ? decision.getFacts() : nullptr;
    return facts ? facts.getAs<DictionaryAttr>("cuts") : DictionaryAttr();
  };
  module.walk([&](Operation *op) {
    numbers.insert({op, numbers.size()});
    DictionaryAttr cuts = scatters(op) ? cutsOf(op) : DictionaryAttr();
    if (cuts && cuts.getAs<StringAttr>("counts"))
      maps.push_back(analysis::CountedMap::of(
          op, [&](Operation *other) { return numbers.lookup(other); },
          machine));
  });
  analysis::CounterAllocation rooms(
      maps, static_cast<int64_t>(machine.sparse.countEntries));
  for (const analysis::CountedMap &map : maps) {
    records::Facts cuts(cutsOf(map.reader));
    cuts.set("counts", rooms.of(map.reader).drained ? "drain" : "pass");
    records::Decision decision(
        records::decisionOf(map.reader, kSparseDecisionAttr));
    decision.facts.set("cuts", cuts.get());
    decision.record(map.reader, kSparseDecisionAttr);
  }
}

} // namespace ashlar::npu
