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
static std::optional<int64_t> savedCycles(DictionaryAttr alternatives,
                                          DictionaryAttr measured,
                                          llvm::StringRef choice) {
  for (DictionaryAttr cycles : {measured, alternatives}) {
    auto of = [&](llvm::StringRef name) {
      return cycles ? cycles.getAs<IntegerAttr>(name) : IntegerAttr();
    };
    if (of("dense") && of(choice))
      return of("dense").getInt() - of(choice).getInt();
  }
  return std::nullopt;
}

void describe(NamedAttrList &decision, const WrittenPlan &written) {
  const analysis::TilePlan &plan = written.plan;
  auto dictionary = [&](llvm::StringRef name) {
    return dyn_cast_or_null<DictionaryAttr>(decision.get(name));
  };
  DictionaryAttr before = dictionary("alternatives");
  if (!before)
    return;
  Builder builder(before.getContext());
  auto number = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  auto text = [&](const llvm::Twine &value) {
    return builder.getStringAttr(value);
  };
  llvm::StringRef choice = choiceName(written.scatters);
  NamedAttrList alternatives(before);
  alternatives.set(choice, number(written.tiles * plan.cycles));
  if (!written.scatters)
    alternatives.set("sparse-tile-unskipped",
                     number(written.tiles * written.unskipped));
  DictionaryAttr cycles = alternatives.getDictionary(before.getContext());
  decision.set("alternatives", cycles);
  if (auto saved = savedCycles(cycles, dictionary("measured"), choice))
    decision.set("cycles_saved", number(*saved));
  decision.set("realised_skip",
               text(ratioText(written.unskipped, plan.cycles)));
  decision.set("plan", text(planText(written)));
  auto engine = [&](llvm::StringRef name, int64_t value) {
    return builder.getNamedAttr(name, number(written.tiles * value));
  };
  decision.set("engines",
               builder.getDictionaryAttr({engine("run", plan.run),
                                          engine("load", plan.load),
                                          engine("drain", plan.drain),
                                          engine("stream", plan.stream)}));
}

static bool scatters(Operation *op) {
  auto conv = dyn_cast<TcuConvOp>(op);
  return conv && conv.getScatterAttr();
}

void nameCounters(ModuleOp module, const machine::Description &machine) {
  llvm::DenseMap<Operation *, size_t> numbers;
  std::vector<analysis::CountedMap> maps;
  auto cutsOf = [](Operation *op) {
    auto decision = op->getAttrOfType<DictionaryAttr>(kSparseDecisionAttr);
    return decision ? decision.getAs<DictionaryAttr>("cuts") : DictionaryAttr();
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
  MLIRContext *context = module.getContext();
  for (const analysis::CountedMap &map : maps) {
    NamedAttrList cuts(cutsOf(map.reader));
    const bool drained = rooms.of(map.reader).drained;
    cuts.set("counts", StringAttr::get(context, drained ? "drain" : "pass"));
    NamedAttrList decision(
        map.reader->getAttrOfType<DictionaryAttr>(kSparseDecisionAttr));
    decision.set("cuts", cuts.getDictionary(context));
    map.reader->setAttr(kSparseDecisionAttr, decision.getDictionary(context));
  }
}

} // namespace ashlar::npu
