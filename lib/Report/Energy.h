// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Energy and area of a run: its counts of actions times the prices of a table.

#ifndef ASHLAR_LIB_REPORT_ENERGY_H
#define ASHLAR_LIB_REPORT_ENERGY_H

#include "ashlar/Energy/Prices.h"
#include "ashlar/Report/Statistics.h"
#include "llvm/Support/JSON.h"

namespace ashlar::report {

/// What follows from RunStatistics::energyTable. Sums are exact.
struct RunEnergy {
  explicit RunEnergy(const RunStatistics &statistics,
                     const energy::Table &table);

  energy::Prices prices;
  energy::ActionCounts counts; ///< Of all nodes, and of none.
  energy::Amounts dynamic;     ///< Of these counts.
  energy::Amounts area;
  double seconds = 0;
  std::optional<double> leakageWatts; ///< If the table has it.

  double dynamicJoules() const;
  /// With leakage.
  double joules() const;
  double averageWatts() const;
  /// Share of a node in dynamic energy.
  double percentOf(const NodeStatistics &node) const;
  /// Energy times time, J s.
  double delayProduct() const { return joules() * seconds; }
  /// Two operations for each multiplication of the model.
  double topsPerWatt(uint64_t macs) const;
};

/// Keys of the whole run: `actions`, `multiplications`, `energy`, `area`.
void writeEnergy(llvm::json::OStream &json, const RunStatistics &statistics,
                 const RunEnergy &energy);
/// The same of one node, within its object.
void writeNodeEnergy(llvm::json::OStream &json, const NodeStatistics &node,
                     const RunEnergy &energy);

/// Two lines for a terminal.
std::string energyLines(const RunStatistics &statistics,
                        const RunEnergy &energy);

} // namespace ashlar::report

#endif // ASHLAR_LIB_REPORT_ENERGY_H
