// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Warnings of a successful run: formats that represent too few of the values.

#ifndef ASHLAR_REPORT_RUNWARNINGS_H
#define ASHLAR_REPORT_RUNWARNINGS_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace ashlar::container {
struct Program;
} // namespace ashlar::container
namespace ashlar::emulator {
struct NodeStats;
} // namespace ashlar::emulator

namespace ashlar::report {

/// Elements that saturate beyond this share are worth a warning, if their
/// exponent is given; rounding explains about 2^-W of them besides. Blocks with
/// exponents of their own saturate by rounding alone.
inline constexpr double saturationShare = 0.01;

/// The accounts of all samples of a run, node by node.
class RunWarnings {
public:
  /// \p nodes is parallel to Program::nodes.
  void add(llvm::ArrayRef<emulator::NodeStats> nodes);

  /// A line for every node of which more elements saturate than
  /// saturationShare, or which met NaN or infinities; worst first, a few lines.
  std::vector<std::string> describe(const container::Program &program) const;

private:
  struct Account {
    uint64_t fetched = 0, saturatedAtFetch = 0, saturatedAtEncode = 0;
    uint64_t nonFinite = 0;
  };
  std::vector<Account> accounts;
  uint64_t samples = 0;
};

} // namespace ashlar::report

#endif // ASHLAR_REPORT_RUNWARNINGS_H
