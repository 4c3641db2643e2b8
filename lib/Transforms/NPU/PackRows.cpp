// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses how many rows of results convolutions have side by side in the
// columns of the array (see Passes.td). Input: npu operations with their
// layouts. Output: `packed_rows` and a decision on the convolutions that have
// the choice.

#include "ashlar/Analysis/Array/RowPacking.h"
#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/Ashlar/Decision.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"

#include <fmt/format.h>

namespace ashlar::npu {
#define GEN_PASS_DEF_PACKROWS
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;

namespace {

struct PackRowsPass : impl::PackRowsBase<PackRowsPass> {
  void runOnOperation() override {
    auto machine = assignedMachineOf(getOperation());
    if (failed(machine))
      return signalPassFailure();
    getOperation().walk([&](PeConvOp conv) { decide(conv, *machine); });
  }

  void decide(PeConvOp conv, const machine::Description &machine) {
    const analysis::Lanes lanes = analysis::widthLanesOf(conv.getX());
    if (analysis::rowPackings(conv, lanes, machine).size() < 2)
      return;
    const analysis::PackingChoice choice = analysis::choosePacking(
        conv, lanes, machine, analysis::lanesOf(conv.getY()));
    const analysis::PackedRows &best = choice.chosen();
    if (best.rows > 1) {
      conv.setPackedRows(static_cast<uint64_t>(best.rows));
      conv.setRowsApart(best.apart);
      ++numPacked;
      numApart += best.apart;
    }
    explain(conv, choice);
  }

  static std::string nameOf(const analysis::PackedRows &rows) {
    return fmt::format("rows-{}{}", rows.rows, rows.apart ? "-apart" : "");
  }

  /// True if fewer cycles are predicted for rows apart than for what the module
  /// allows.
  static bool withholdsRows(const analysis::PackingChoice &choice) {
    const analysis::PackedRows &best = choice.chosen();
    return !best.apart &&
           llvm::any_of(choice.alternatives, [&](const auto &other) {
             return other.total() < best.total();
           });
  }

  static std::string reasonFor(PeConvOp conv, const analysis::PackedRows &best,
                               const analysis::PackedRows &one) {
    std::string text =
        fmt::format("{} outputs of {} rows in the columns{}: {} cycles of the "
                    "array instead "
                    "of {}, {} of drains instead of {}",
                    analysis::shapeOf(conv.getY())[1], best.rows,
                    best.apart ? ", as many of the operand in the rows" : "",
                    best.cycles.array, one.cycles.array, best.cycles.drain,
                    one.cycles.drain);
    if (best.apart)
      text += fmt::format(", {} of copies", best.copies);
    return text;
  }

  static void explain(PeConvOp conv, const analysis::PackingChoice &choice) {
    const analysis::PackedRows &best = choice.chosen();
    const analysis::PackedRows &one = choice.alternatives.front();
    const std::string reason =
        withholdsRows(choice) ? choice.mode == RowPackingMode::Compared
                                    ? "the whole network takes fewer cycles "
                                      "with operands as they lie"
                                    : "operands stay as they lie, as asked for"
        : best.rows == 1      ? "more rows in a step take no fewer cycles"
                              : reasonFor(conv, best, one);
    records::Decision decision(conv.getContext(), nameOf(best), reason);
    for (const analysis::PackedRows &own : choice.alternatives)
      decision.alternative(nameOf(own), own.total());
    decision.record(conv, kRowsDecisionAttr);
  }
};

} // namespace
} // namespace ashlar::npu
