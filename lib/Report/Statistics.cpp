// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What follows from the numbers of a run: useful work and sums.

#include "ashlar/Report/Statistics.h"

#include <algorithm>

using namespace ashlar::report;

/// A node's products are useful as far as the model has that many: some may be
/// zeros that block-diagonal tiles or folds add. Where zeros are skipped, all
/// that were issued are.
uint64_t NodeStatistics::useful(size_t index,
                                const EngineStatistics &engine) const {
  const uint64_t done = index < work.size() ? work[index] : 0;
  if (engine.unit != "products" || macs >= issued)
    return done;
  const auto share = static_cast<unsigned __int128>(done) * macs / issued;
  return static_cast<uint64_t>(share);
}

double NodeStatistics::utilisation(size_t index,
                                   const EngineStatistics &engine) const {
  EngineStatistics own = engine;
  own.busy = index < busy.size() ? busy[index] : 0;
  own.useful = useful(index, engine);
  return own.utilisation();
}

size_t ashlar::report::engineIndex(const RunStatistics &statistics,
                                   llvm::StringRef name) {
  const auto &engines = statistics.engines;
  const auto found =
      std::find_if(engines.begin(), engines.end(),
                   [&](const EngineStatistics &e) { return e.name == name; });
  return static_cast<size_t>(found - engines.begin());
}

double ashlar::report::dramShare(const RunStatistics &statistics,
                                 uint64_t cycles) {
  const double most =
      static_cast<double>(cycles) *
      static_cast<double>(statistics.machine.dram.bytesPerCycle);
  return most > 0 ? static_cast<double>(statistics.dramUseful) / most : 0;
}

Totals ashlar::report::totalsOf(const RunStatistics &statistics) {
  Totals sums;
  auto add = [&](const NodeStatistics &node) {
    sums.macs += node.macs;
    sums.issued += node.issued;
    sums.dramRead += node.dramRead;
    sums.dramWrite += node.dramWrite;
  };
  for (const NodeStatistics &node : statistics.nodes)
    add(node);
  add(statistics.unassigned);
  for (const EngineStatistics &engine : statistics.engines)
    sums.copied += engine.copied;
  return sums;
}
