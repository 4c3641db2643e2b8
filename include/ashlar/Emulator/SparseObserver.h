// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A look inside the sparse cluster while a program runs. With an observer the
// units work step by step as the machine does (start address, line, column
// shift, one multiplication per lane, sums overwritten), which gives the same
// bits as the fast way and shows every event.

#ifndef ASHLAR_EMULATOR_SPARSEOBSERVER_H
#define ASHLAR_EMULATOR_SPARSEOBSERVER_H

#include "ashlar/Isa/CoefficientStream.h"
#include <cstdint>

namespace ashlar::emulator {

/// Elements written into the tile memory of a unit for one channel.
struct TileWrite {
  uint32_t instruction = 0;
  uint32_t unit = 0, set = 0;
  uint64_t begin = 0, end = 0; ///< Bytes of the set.
  uint64_t channel = 0;        ///< Partition of the channel, tiles counted on.
  uint64_t elements = 0;       ///< Written, padding included.
};

/// One line of lanes of one coefficient.
struct CoefficientLine {
  uint32_t instruction = 0;
  uint32_t unit = 0, set = 0;
  uint32_t channel = 0; ///< Slot of the run.
  isa::Coefficient coefficient;
  uint64_t startAddress = 0; ///< Byte of the set that reading starts from.
  uint64_t columnShift = 0;  ///< Elements that what was read is shifted by.
  uint64_t lanes = 0;        ///< Multiplications of this line, all at once.
  uint64_t sums = 0;         ///< First accumulator entry overwritten.
};

/// Receives the events in program order; units one after another.
class SparseObserver {
public:
  virtual ~SparseObserver() = default;
  virtual void tileWrite(const TileWrite &) {}
  /// A coefficient is issued to a unit; its lines follow.
  virtual void issue(uint32_t /*instruction*/, uint32_t /*unit*/,
                     uint32_t /*channel*/, const isa::Coefficient &) {}
  virtual void line(const CoefficientLine &) {}
  /// All coefficients of a channel have been applied in a unit.
  virtual void endChannel(uint32_t /*instruction*/, uint32_t /*unit*/,
                          uint32_t /*channel*/) {}
};

} // namespace ashlar::emulator

#endif // ASHLAR_EMULATOR_SPARSEOBSERVER_H
