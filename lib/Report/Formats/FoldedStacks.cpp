// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the cycles of each queue went, as stacks of three frames.

#include "ashlar/Report/Report.h"

#include <fmt/format.h>
#include <map>

using namespace ashlar::report;

namespace {

/// A frame: no separator, no line break.
std::string frame(llvm::StringRef text) {
  std::string clean = text.str();
  for (char &c : clean)
    if (c == ';' || c == '\n' || c == '\r')
      c = '_';
  return clean;
}

} // namespace

std::string ashlar::report::toFoldedStacks(const RunStatistics &statistics) {
  std::map<std::string, uint64_t> stacks;
  for (const TimedInstruction &timed : statistics.timeline) {
    if (timed.isSemaphore || timed.issueEnd <= timed.start)
      continue;
    const bool known = timed.node < statistics.nodes.size();
    stacks[fmt::format("{};{};{}", statistics.engines[timed.engine].name,
                       known ? frame(statistics.nodes[timed.node].name)
                             : "(no layer)",
                       timed.opcode)] += timed.issueEnd - timed.start;
  }
  for (const EngineStatistics &engine : statistics.engines)
    if (engine.instructions > 0)
      for (const auto &[cause, cycles] : engine.stalls)
        stacks[fmt::format("{};stalled;{}", engine.name, cause)] += cycles;
  std::string lines;
  for (const auto &[stack, cycles] : stacks)
    lines += fmt::format("{} {}\n", stack, cycles);
  return lines;
}
