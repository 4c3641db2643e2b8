// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The verilated machine, whatever its size: runs the words of a program and
// records what it did.

#ifndef ASHLAR_TEST_RTL_CHIP_H
#define ASHLAR_TEST_RTL_CHIP_H

#include "ashlar/Machine/Description.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ashlar::rtl {

/// One event of the array or of ACT, as emulator::ArrayEvent tells it.
struct Event {
  enum Kind { Enter, Write, Drain } kind = Enter;
  int instruction = 0, step = 0, column = 0, entry = 0;
  int64_t value = 0;
  uint64_t cycle = 0;
};

/// When an instruction started, left its queue and was complete.
struct Times {
  int64_t start = -1, issued = -1, complete = -1;
  uint64_t sbBusy = 0; ///< Cycles in which only a bank of SB held it up.
};

/// What a run did and left.
struct Record {
  std::vector<Times> times; ///< By instruction.
  std::vector<Event> events;
  std::vector<uint8_t> dram, sb;
  std::vector<int8_t> xm;
  std::vector<int16_t> xr;
  std::vector<int64_t> psum; ///< Column by column.
  std::vector<std::string> failures;
  uint64_t cycles = 0;     ///< Until the last instruction was complete.
  uint64_t collisions = 0; ///< Multipliers that two streams wanted at once.
};

/// Sizes that are fixed when the machine is verilated.
struct Sizes {
  unsigned rows, columns, partitions, bytes, group, granularity, multiplex,
      entries, dram, scales;
};

class Chip {
public:
  virtual ~Chip() = default;
  virtual const Sizes &sizes() const = 0;
  /// Runs \p words on the machine with the straps of \p machine; \p dram lies
  /// in DRAM before cycle 0. Ends when nothing is left to do or after \p limit
  /// cycles, which is a failure.
  virtual Record run(const machine::Description &machine,
                     llvm::ArrayRef<uint64_t> words,
                     llvm::ArrayRef<uint8_t> dram, size_t instructions,
                     uint64_t limit) = 0;
};

/// Names of the sizes that this build has, such as "8x4".
std::vector<std::string> chipNames();
/// The machine of that name, null if there is none.
std::unique_ptr<Chip> makeChip(llvm::StringRef name);

/// What the functions that the hardware calls write to.
struct Observer {
  Record *record = nullptr;
  llvm::ArrayRef<uint8_t> dram;
};
Observer &observer();

} // namespace ashlar::rtl

#endif // ASHLAR_TEST_RTL_CHIP_H
