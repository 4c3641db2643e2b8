// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long the static pass may take. Its data structures are n log n in the
// size of the program; what is left are patterns of very many runs, which a
// program of a few words can name. Their work is counted, and a program that
// needs more than it is allowed is refused: nothing is ever taken for granted
// (docs/decisions/machine/2026-11-22-proof-of-programs.md).

#ifndef ASHLAR_LIB_EMULATOR_PROVE_PROOFWORK_H
#define ASHLAR_LIB_EMULATOR_PROVE_PROOFWORK_H

#include "ashlar/Container/Container.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace ashlar::emulator {

/// Counts steps of about a nanosecond.
class ProofWork {
public:
  /// Of any program, of every word of its code, and of every byte of its
  /// constants, since streams of coefficients are followed.
  static constexpr uint64_t base = uint64_t(1) << 29;
  static constexpr uint64_t perWord = uint64_t(1) << 12;
  static constexpr uint64_t perConstantByte = uint64_t(1) << 5;

  explicit ProofWork(uint64_t words, uint64_t constantBytes = 0)
      : allowed(base + words * perWord + constantBytes * perConstantByte),
        left(allowed) {}
  explicit ProofWork(const container::Program &program)
      : ProofWork(program.code.size(), bytesOf(program.constants)) {}

  /// False once all is spent: the caller stops and answers whatever is safe.
  bool spend(uint64_t steps) {
    spent |= steps > left;
    left = spent ? 0 : left - steps;
    return !spent;
  }
  bool exhausted() const { return spent; }
  uint64_t limit() const { return allowed; }
  uint64_t used() const { return allowed - left; }

private:
  static uint64_t bytesOf(llvm::ArrayRef<container::Segment> segments) {
    uint64_t bytes = 0;
    for (const container::Segment &segment : segments)
      bytes += segment.bytes.size();
    return bytes;
  }

  uint64_t allowed, left;
  bool spent = false;
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_PROVE_PROOFWORK_H
