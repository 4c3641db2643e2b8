// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results in other banks than operands. Two accesses of one bank wait for each
// other, and with much memory everything that lies from its beginning on shares
// the first banks.

#include "MemoryPlanner.h"

namespace ashlar::npu {

using namespace mlir;

namespace {

/// Operations before one that are taken to be running when it begins.
constexpr size_t kNeighbours = 2;

} // namespace

/// Adds `weight` to every bank that the result of operation `index` lies in.
void Planner::countBanks(size_t index, int64_t weight,
                         llvm::MutableArrayRef<int64_t> banks) const {
  const OpPlan &plan = plans[ownerOf(static_cast<int64_t>(index))];
  if (!plan.resident)
    return;
  const auto bytes = static_cast<int64_t>(machine.sb.bankBytes());
  const auto last = static_cast<int64_t>(banks.size()) - 1;
  const int64_t end = plan.offset + std::max<int64_t>(plan.room, 1) - 1;
  for (int64_t bank = plan.offset / bytes; bank <= end / bytes; ++bank)
    banks[std::min(bank, last)] += weight;
}

/// Lets the result begin with a bank, or at the first place that is free, so
/// that it shares the fewest banks with its operands, and then with the results
/// before it. False if no place is free in the memory that weights leave.
bool Planner::placeApart(size_t index) {
  OpPlan &plan = plans[index];
  if (!banksApart || machine.sb.banks < 2)
    return false;
  llvm::SmallVector<int64_t> busy(machine.sb.banks, 0);
  for (Value operand : plan.op->getOperands())
    if (auto found = indexOf.find(operand.getDefiningOp());
        found != indexOf.end())
      countBanks(found->second, 2, busy);
  for (size_t i = index - std::min(index, kNeighbours); i < index; ++i)
    countBanks(i, 1, busy);
  const auto bytes = static_cast<int64_t>(machine.sb.bankBytes());
  const int64_t limit = limitAt(plan.lastUse);
  int64_t least = -1, best = 0;
  for (size_t bank = 0; bank < busy.size(); ++bank) {
    const int64_t from = std::max(reserved, static_cast<int64_t>(bank) * bytes);
    const int64_t offset = live.firstFit(
        from, plan.room, static_cast<int64_t>(index), /*ignored=*/-1);
    if (offset + plan.room > limit)
      continue;
    int64_t shared = 0;
    for (int64_t at = offset / bytes; at <= (offset + plan.room - 1) / bytes;
         ++at)
      shared += busy[std::min<int64_t>(at, machine.sb.banks - 1)];
    if (least < 0 || shared < least)
      least = shared, best = offset;
  }
  if (least < 0)
    return false;
  plan.offset = best;
  return true;
}

} // namespace ashlar::npu
