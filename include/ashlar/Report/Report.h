// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statistics in the forms that people and other tools read: JSON
// (docs/ReportSchema.md), a screen of text, a page, a table, time lines.

#ifndef ASHLAR_REPORT_REPORT_H
#define ASHLAR_REPORT_REPORT_H

#include "ashlar/Report/Statistics.h"
#include "llvm/Support/Error.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ashlar::report {

/// Version of the JSON report; grows when a key changes its meaning.
inline constexpr int reportSchemaVersion = 1;

/// The JSON report with a final newline. Malformed if the container's
/// decisions are not JSON.
llvm::Expected<std::string> toJson(const RunStatistics &statistics);

/// At most 24 lines of at most 120 columns.
std::string toSummary(const RunStatistics &statistics);

/// The Chrome trace-event JSON: one track per queue, a slice per instruction
/// and per stall, a counter of busy queues. One microsecond of the viewer is
/// one cycle.
std::string toTrace(const RunStatistics &statistics);

/// The time line as Perfetto's TrackEvent protobuf: a track per queue and for
/// DRAM with slices of instructions, transfers and stalls, flows from an
/// instruction to those that wait for it, tracks of layers, and counters of
/// DRAM bytes and multiplications per cycle and of planned bytes in SB and
/// DRAM. One nanosecond of the viewer is one cycle.
std::string toPerfetto(const RunStatistics &statistics);

/// The layers as CSV (RFC 4180) with a line of column names: what "nodes" of
/// the JSON report has, busy cycles by engine included.
std::string toLayerTable(const RunStatistics &statistics);

/// Cycles of the queues as folded stacks, "queue;layer;opcode 120" a line, for
/// speedscope and flame graphs: the lines of a queue sum up to the cycles of
/// the run, stalls as "queue;stalled;cause". Needs a time line.
std::string toFoldedStacks(const RunStatistics &statistics);

/// An output that was compared with an expected array.
struct JudgedOutput {
  std::string name;
  std::string text;            ///< As describe() says it.
  std::optional<double> snrDb; ///< None if the arrays are equal.
  bool passed = true;
};

/// What a page shows besides the run itself; all of it may be empty.
struct PageContext {
  llvm::StringRef baseline; ///< JSON report of another run to compare with.
  std::vector<JudgedOutput> outputs;
  std::map<std::string, double> layerSnr; ///< dB against fp32.
};

/// The report as one HTML page without references to other files: figures,
/// time line, layers, memory, graph, decisions. Malformed if decisions or plan
/// are not JSON.
llvm::Expected<std::string> toHtml(const RunStatistics &statistics,
                                   const PageContext &context = {});

/// Malformed unless \p text is a JSON report that toHtml() can compare with.
llvm::Error checkBaseline(llvm::StringRef text);

} // namespace ashlar::report

#endif // ASHLAR_REPORT_REPORT_H
