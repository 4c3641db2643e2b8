// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results that stay in the sparse cluster for the next convolution (see
// Passes.td). Input: planned operations. Output: `kept` on convolutions, an
// entry in their decisions.

#include "ClusterDecision.h"

#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Analysis/Sparse/KeptMaps.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/Ashlar/Decision.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"

#include <array>
#include <numeric>

namespace ashlar::npu {
#define GEN_PASS_DEF_KEEPMAPS
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;
using analysis::TilePlan;
using analysis::TileProblem;

namespace {

/// The part of its cycles by which a layer with a kept operand has to be
/// better: predictions are not exact, and loads that overlap with the drains
/// before them are among what they do not see.
constexpr int64_t kClearKeep = 16;

/// A convolution on the cluster, and how it runs by whether it finds its
/// operand in the units and leaves its result there.
struct Layer {
  TcuConvOp conv;
  std::string obstacle; ///< of its operand
  std::array<std::array<std::optional<TilePlan>, 2>, 2> plans;
  int64_t port = 0; ///< cycles in which drains write the operand at least
  /// Multiple of which the first result of every drain is, and the planes of
  /// cells of the operand.
  int64_t aligned = 0, plane = 1;
};

/// The best choices up to a layer.
struct Chain {
  int64_t cycles = 0;
  int64_t kept = 0;        ///< operands
  std::vector<bool> edges; ///< by layer: its operand is kept
};

struct KeepMapsPass : impl::KeepMapsBase<KeepMapsPass> {
  using KeepMapsBase::KeepMapsBase;

  void runOnOperation() override {
    auto machine = records::machineOf(getOperation());
    if (failed(machine))
      return signalPassFailure();
    if (mode != "auto" && mode != "off" && mode != "always") {
      getOperation().emitError()
          << "mode '" << mode << "', expected auto, off or always";
      return signalPassFailure();
    }
    if (copies != "all" && copies != "needed") {
      getOperation().emitError()
          << "copies '" << copies << "', expected all or needed";
      return signalPassFailure();
    }
    if ((mode == "off" && reason.empty()) || machine->sparse.tileTables < 2)
      return;
    std::vector<Layer> layers;
    getOperation().walk(
        [&](TcuConvOp conv) { layers.push_back({conv, "", {}}); });
    for (size_t i = 0; i < layers.size(); ++i)
      layers[i].obstacle =
          i == 0 ? "no convolution of the cluster is before it"
                 : analysis::keepObstacle(layers[i - 1].conv, layers[i].conv,
                                          *machine);
    if (mode == "off") {
      for (Layer &layer : layers)
        if (layer.obstacle.empty())
          describe(layer, records::Facts(&getContext())
                              .set("choice", "loaded")
                              .set("reason", reason.getValue()));
      return;
    }
    for (size_t begin = 0; begin < layers.size();) {
      size_t end = begin + 1;
      while (end < layers.size() && layers[end].obstacle.empty())
        ++end;
      if (end > begin + 1)
        choose(llvm::MutableArrayRef(layers).slice(begin, end - begin),
               *machine);
      begin = end;
    }
  }

  /// Plans of a layer of a chain; the first has no operand to keep, and the
  /// last leaves no result.
  void plan(Layer &layer, bool first, bool last,
            const machine::Description &machine) {
    TileProblem problem = analysis::plannedProblem(layer.conv, machine);
    for (bool kept : {false, true})
      for (bool leaves : {false, true}) {
        if ((first && kept) || (last && leaves))
          continue;
        problem.kept = kept;
        problem.leaves = leaves;
        layer.plans[kept][leaves] =
            analysis::TilePlans(problem, machine).best();
      }
    for (const analysis::DrainColumn &drain : problem.drains)
      layer.aligned =
          std::gcd(layer.aligned, problem.columns[drain.first].firstOutput);
    for (const auto &plan : layer.plans[1])
      if (plan) {
        layer.port = analysis::keptPortCycles(problem, *plan, machine);
        layer.plane = std::max<int64_t>({layer.plane, plan->cellBlock});
      }
  }

  /// Cycles of a layer; drains that write another layer's operand take as long
  /// as its port.
  std::optional<int64_t> cyclesOf(const Layer &layer, bool kept,
                                  const Layer *next) const {
    const std::optional<TilePlan> &plan = layer.plans[kept][next != nullptr];
    if (!plan)
      return std::nullopt;
    const int64_t own = plan->inNetwork();
    return own + (kept && mode == "auto" ? own / kClearKeep : 0) +
           (next ? std::max<int64_t>(next->port - plan->drain, 0) : 0);
  }

  bool isBetter(const Chain &a, const Chain &b) const {
    if (mode == "always" && a.kept != b.kept)
      return a.kept > b.kept;
    // What costs the same saves the way through the state buffer.
    return a.cycles != b.cycles ? a.cycles < b.cycles : a.kept > b.kept;
  }

  /// Layer by layer: the best choices so far by whether the last layer finds
  /// its operand in the units, whatever follows.
  void choose(llvm::MutableArrayRef<Layer> layers,
              const machine::Description &machine) {
    for (size_t i = 0; i < layers.size(); ++i)
      plan(layers[i], i == 0, i + 1 == layers.size(), machine);
    std::array<std::optional<Chain>, 2> best{Chain(), std::nullopt};
    best[0]->edges.push_back(false);
    for (size_t i = 0; i < layers.size(); ++i) {
      std::array<std::optional<Chain>, 2> next;
      for (bool kept : {false, true})
        for (bool leaves : {false, true}) {
          if (!best[kept] ||
              (leaves && (i + 1 == layers.size() ||
                          layers[i].aligned % layers[i + 1].plane != 0)))
            continue;
          auto cycles =
              cyclesOf(layers[i], kept, leaves ? &layers[i + 1] : nullptr);
          if (!cycles)
            continue;
          Chain chain = *best[kept];
          chain.cycles += *cycles;
          chain.kept += leaves;
          chain.edges.push_back(leaves);
          if (!next[leaves] || isBetter(chain, *next[leaves]))
            next[leaves] = std::move(chain);
        }
      best = std::move(next);
    }
    if (!best[0])
      return;
    for (size_t i = 1; i < layers.size(); ++i)
      if (best[0]->edges[i])
        keep(layers[i], layers[i - 1]);
      else
        describe(
            layers[i],
            records::Facts(&getContext())
                .set("choice", "loaded")
                .set("reason", layers[i].plans[1][0] || layers[i].plans[1][1]
                                   ? "keeping it gains too little"
                                   : "it does not fit a buffer set as a "
                                     "whole"));
  }

  /// What becomes of the operand, in the decision of the convolution.
  static void describe(Layer &layer, const records::Facts &operand) {
    auto written = records::decisionOf(layer.conv, kSparseDecisionAttr);
    if (!written)
      return;
    records::Decision decision(written);
    decision.facts.set("operand", operand.get());
    decision.record(layer.conv, kSparseDecisionAttr);
  }

  void keep(Layer &layer, const Layer &before) {
    const std::optional<TilePlan> &apart = layer.plans[0][0];
    const TilePlan &own =
        layer.plans[1][0] ? *layer.plans[1][0] : *layer.plans[1][1];
    const int64_t saved = apart ? apart->inNetwork() - own.inNetwork() : 0;
    const bool stored = copies == "all" || !analysis::needsNoCopy(layer.conv);
    layer.conv.setKeptAttr(KeptAttr::get(&getContext(), stored));
    describe(layer,
             records::Facts(&getContext())
                 .set("choice", "kept")
                 .set("from", analysis::getNodeName(before.conv->getLoc()))
                 .set("state_buffer", stored ? "copy" : "none")
                 .set("cycles_saved", saved));
    ++numKept;
  }
};

} // namespace
} // namespace ashlar::npu
