// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a machine does that costs energy, by component: the actions that the
// emulator counts and that an energy table prices (docs/Energy.md).

#ifndef ASHLAR_ENERGY_ACTIONS_H
#define ASHLAR_ENERGY_ACTIONS_H

#include "llvm/ADT/StringRef.h"
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ashlar::energy {

enum class Component : uint8_t {
  Dram,     ///< Off-chip memory.
  Dma,      ///< Copy queues and their network.
  Sb,       ///< State buffer.
  Xm,       ///< Exponent memory.
  Pe,       ///< Cells of the array.
  Psum,     ///< Accumulators under the array.
  Act,      ///< Drain engine.
  Vec,      ///< Vector unit.
  Fmu,      ///< Feature-map memories of the sparse cluster.
  Wm,       ///< Its weight memory.
  Tcu,      ///< Its multipliers.
  Acc,      ///< Its accumulators.
  Counters, ///< Its counters of non-zeros.
  Xr,       ///< Scale-exponent registers.
  Sr,       ///< Statistics registers.
  Fetch,    ///< Instruction stream.
  Pattern,  ///< Places and multiplexers of the array's N:M weights.
  Narrow,   ///< Second sums of the array's cells, for narrow operands.
  Host,     ///< Core of the host that runs queue `host`.
};
inline constexpr unsigned numComponents = 19;

/// "dram", "sb", ... as in tables and reports.
llvm::StringRef name(Component component);

/// Grouped by component. Operations of ACT and VEC are in the order of
/// machine::VecCost.
enum class Action : uint8_t {
  DramRead,
  DramWrite,
  DramActivate,
  DmaMove,
  SbRead,
  SbWrite,
  XmRead,
  XmWrite,
  PeLoad,
  PeMultiply,
  PeAccumulate,
  PeFloatAccumulate,
  PeSelect,
  PsumRead,
  PsumWrite,
  PsumAccumulate,
  ActCheap,
  ActMedium,
  ActExpensive,
  ActVeryExpensive,
  VecCheap,
  VecMedium,
  VecExpensive,
  VecVeryExpensive,
  FmuRead,
  FmuWrite,
  WmRead,
  WmWrite,
  TcuMultiply,
  TcuAccumulate,
  AccRead,
  AccWrite,
  CountersRead,
  CountersWrite,
  XrRead,
  XrWrite,
  SrRead,
  SrWrite,
  FetchRead,
  PatternLoad,
  PatternPick,
  NarrowMultiply,
  HostStep,
};
inline constexpr unsigned numActions = 43;

/// What one action is.
enum class ActionUnit : uint8_t {
  Byte,
  Operation,
};

struct ActionInfo {
  Component component;
  llvm::StringLiteral name; ///< "read".
  ActionUnit unit;
};
const ActionInfo &info(Action action);

/// "sb.read".
std::string fullName(Action action);

/// a * b and a + b; at the largest number if they do not fit. Counts of absurd
/// programs stay there.
inline uint64_t times(uint64_t a, uint64_t b) {
  uint64_t result;
  return __builtin_mul_overflow(a, b, &result) ? UINT64_MAX : result;
}
inline uint64_t plus(uint64_t a, uint64_t b) {
  uint64_t result;
  return __builtin_add_overflow(a, b, &result) ? UINT64_MAX : result;
}

/// Multiplications of operands of given widths.
struct WidthCount {
  uint32_t moving = 0, stationary = 0; ///< Bits.
  uint64_t count = 0;                  ///< Of operands, in one pass or several.
};

/// How often each action took place.
class ActionCounts {
public:
  uint64_t of(Action action) const {
    return counts[static_cast<unsigned>(action)];
  }
  void add(Action action, uint64_t count) {
    uint64_t &sum = counts[static_cast<unsigned>(action)];
    sum = plus(sum, count);
  }
  /// Adds multiplications of the array (Component::Pe) or of the sparse cluster
  /// (Component::Tcu) to widths().
  void addWidth(Component component, uint32_t moving, uint32_t stationary,
                uint64_t count);
  /// In the order of their first use.
  const std::vector<WidthCount> &widths(Component component) const {
    return component == Component::Tcu ? cluster : array;
  }
  ActionCounts &operator+=(const ActionCounts &other);

private:
  std::array<uint64_t, numActions> counts = {};
  std::vector<WidthCount> array, cluster;
};

} // namespace ashlar::energy

#endif // ASHLAR_ENERGY_ACTIONS_H
