// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which memory has been written, walked in program order: reads of undefined
// memory, accumulators replaced before they were drained, and the bound of
// every accumulator. Accesses are data independent, so all of it is static.

#ifndef ASHLAR_LIB_EMULATOR_PROVE_DEFINED_H
#define ASHLAR_LIB_EMULATOR_PROVE_DEFINED_H

#include "ProofWork.h"
#include "WrittenBits.h"
#include "ashlar/Isa/Footprint.h"
#include "ashlar/Machine/Description.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace ashlar::emulator {

/// Definedness of every memory. The runs of patterns are walked one by one, and
/// counted: once `work` is exhausted nothing that is said here holds.
class DefinedState {
public:
  explicit DefinedState(ProofWork &work) : work(work) {}

  /// Capacity error text is up to the caller: false if the host refuses.
  bool allocate(const machine::Description &machine, uint64_t dramBytes);
  /// What allocate() requests, roughly: a bit for every byte and every sum.
  static uint64_t bytesFor(const machine::Description &machine,
                           uint64_t dramBytes);

  void defineDram(uint64_t begin, uint64_t end);
  std::optional<uint64_t> undefinedDram(uint64_t begin, uint64_t end);

  /// The unit of the first undefined element that \p access reads.
  std::optional<uint64_t> undefined(const isa::Access &access);
  void define(const isa::Access &access);

  /// Starts new sums in the entries of a PSUM write, in all columns: the old
  /// ones become undefined. Gives an entry whose sums nothing has drained.
  std::optional<uint64_t> restart(const isa::Access &access);
  void markAccumulated(const isa::Access &access);
  void markDrained(const isa::Access &access);
  /// Adds \p bound to (or replaces by it) the magnitude bound of the entries;
  /// gives an entry whose bound is beyond \p limit.
  std::optional<uint64_t> addBound(const isa::Access &access, double bound,
                                   bool replace, double limit);

private:
  std::optional<uint64_t> undefinedRun(const isa::Access &access,
                                       uint64_t begin, uint64_t end,
                                       uint64_t &steps);
  /// Calls fn(begin, end, steps) for the runs of an access until it gives true
  /// or there is no work left.
  template <typename Fn>
  void anyRun(const isa::Access &access, Fn fn);

  ProofWork &work;
  BitPlane sb, xm, psum, dirty;
  BitLine dram;
  std::vector<uint8_t> xr, sr;
  std::vector<double> bounds; ///< Per PSUM entry, over all columns.
  uint32_t columns = 1;
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_PROVE_DEFINED_H
