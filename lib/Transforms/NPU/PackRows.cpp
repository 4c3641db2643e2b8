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
    if (analysis::packableRows(conv, machine).size() < 2)
      return;
    const analysis::PackingChoice choice =
        analysis::choosePacking(conv, analysis::widthLanesOf(conv.getX()),
                                machine, analysis::lanesOf(conv.getY()));
    const int64_t rows = choice.chosen().rows;
    if (rows > 1) {
      conv.setPackedRows(static_cast<uint64_t>(rows));
      ++numPacked;
    }
    explain(conv, choice);
  }

  static void explain(PeConvOp conv, const analysis::PackingChoice &choice) {
    const analysis::PackedRows &best = choice.chosen();
    const analysis::PackedRows &one = choice.alternatives.front();
    std::string reason =
        best.rows == 1
            ? "more rows in a step take no fewer cycles"
            : fmt::format("{} outputs of {} rows in the columns: {} cycles of "
                          "the array instead of {}, {} of drains instead of {}",
                          analysis::shapeOf(conv.getY())[1], best.rows,
                          best.cycles.array, one.cycles.array,
                          best.cycles.drain, one.cycles.drain);
    auto nameOf = [](const analysis::PackedRows &own) {
      return fmt::format("rows-{}", own.rows);
    };
    records::Decision decision(conv.getContext(), nameOf(best), reason);
    for (const analysis::PackedRows &own : choice.alternatives)
      decision.alternative(nameOf(own), own.total());
    decision.record(conv, kRowsDecisionAttr);
  }
};

} // namespace
} // namespace ashlar::npu
