// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The DRAM model `banked` (docs/Machine.md 3b): banks with open rows, walked
// transfer by transfer in the order of service. What lies in one row goes in
// one step.

#ifndef ASHLAR_LIB_EMULATOR_TIME_DRAMBANKS_H
#define ASHLAR_LIB_EMULATOR_TIME_DRAMBANKS_H

#include "../Cost/DramRequests.h"
#include "ashlar/Machine/Description.h"
#include <cstdint>
#include <vector>

namespace ashlar::emulator {

class DramBanks {
public:
  explicit DramBanks(const machine::Description &machine);

  /// What a transfer found.
  struct Served {
    uint64_t cycles = 0;      ///< From the grant to the end of its last burst.
    uint64_t activations = 0; ///< Bursts that opened a row.
    uint64_t hits = 0;        ///< Bursts that found theirs open.
    uint64_t refresh = 0;     ///< Of `cycles`, those of refresh.
  };

  /// Starts a transfer that gets the server at cycle \p granted, not before the
  /// end of the one before. Data pass dram.latency later, so that the
  /// controller has seen the requests early enough to prepare any row whose
  /// bank is free.
  void begin(uint64_t granted);
  /// Its requests, in their order.
  void serve(const DramLine &line);
  /// Its end.
  Served end();

private:
  /// Time in units of which one byte takes one, cycles of refresh omitted: all
  /// of a transfer is exact, whatever the bytes per cycle.
  using Time = unsigned __int128;

  struct Bank {
    uint64_t row = noRow;
    uint64_t period = 0; ///< Between refreshes, which close rows.
    Time free = 0;       ///< End of its last data.
  };
  static constexpr uint64_t noRow = ~uint64_t(0);

  uint64_t activeCycles(uint64_t cycle) const;
  uint64_t wallCycles(Time end) const;
  void refresh();
  /// \p bursts bursts in the row that \p address lies in.
  void access(uint64_t address, uint64_t bursts);
  void contiguous(uint64_t address, uint64_t bursts);

  const machine::Description &machine;
  const machine::Dram &dram;
  const uint64_t rate;
  unsigned rowShift;     ///< Rows are powers of two bytes.
  Time opening, closing; ///< Row to data in a closed bank; more in an open one.
  uint64_t active; ///< Cycles from a refresh to the next; 0: there is none.
  std::vector<Bank> banks;

  uint64_t granted = 0;
  Time bus = 0, nextRefresh = 0, start = 0;
  uint64_t period = 0;
  Served served;
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_TIME_DRAMBANKS_H
