// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ports of the state buffer: how many accesses a pattern of bytes makes to
// each bank of a partition (docs/Machine.md, "Ports of the state buffer").
// Partitions are memories of their own; every one has the same banks.

#ifndef ASHLAR_MACHINE_PORTS_H
#define ASHLAR_MACHINE_PORTS_H

#include "ashlar/Machine/Cycles.h"
#include "llvm/ADT/SmallVector.h"
#include <map>
#include <vector>

namespace ashlar::machine {

/// What one operand of an instruction streams through the ports of a partition:
/// elements at base + sum i[d] * strides[d], the last dimension innermost.
/// Every element of the stream counts, even if it was streamed before; only
/// innermost dimensions of stride 0 are free.
struct PortPattern {
  int64_t base = 0; ///< Byte of the partition.
  uint64_t elementBytes = 1;
  llvm::SmallVector<uint64_t, 8> counts;
  llvm::SmallVector<int64_t, 8> strides; ///< Bytes.
  /// Data may move each element by up to this many bytes: it counts in every
  /// bank that it may be in.
  uint64_t reach = 0;

  void add(uint64_t count, int64_t stride) {
    counts.push_back(count);
    strides.push_back(stride);
  }
};

/// Accesses by bank; one number per bank of a partition.
using BankAccesses = llvm::SmallVector<uint64_t, 16>;

/// Adds the accesses of \p pattern to \p banks, which has sb.banks numbers. A
/// run of L contiguous bytes inside a bank takes ceil(L / sb.port_bytes). The
/// time is linear in dimensions times banks. A pattern in which runs of
/// different dimensions overlap several thousand times is not followed: all of
/// it counts in every bank that it may touch.
void addAccesses(const Description &machine, const PortPattern &pattern,
                 llvm::MutableArrayRef<uint64_t> banks);

/// Accesses of patterns that take long to follow: those of many runs, and those
/// that reach beyond the state buffer (milliseconds each). Predictions ask for
/// the same few patterns for every loop order, every cut and every row of a
/// map.
class SlowPatterns {
public:
  /// The identity of a pattern: machine sizes, base, run, repeats and loops.
  using Key = std::vector<uint64_t>;

  const BankAccesses *find(const Key &key) const;
  void insert(Key key, const BankAccesses &accesses);

private:
  std::map<Key, BankAccesses> known;
};

/// The same for a pattern by address: byte b of partition p is p *
/// sb.bytes_per_partition + b. Partitions are served independently of each
/// other, so each bank counts the accesses of the busiest partition. \p slow,
/// if given, remembers patterns that take long to follow.
void addLinearAccesses(const Description &machine, const PortPattern &pattern,
                       llvm::MutableArrayRef<uint64_t> banks,
                       SlowPatterns *slow = nullptr);

/// Accesses of \p pattern if all of it is in one bank. Predictions use this
/// before addresses exist.
uint64_t portAccesses(const Description &machine, const PortPattern &pattern);

/// Cycles for which an instruction with this many accesses occupies a bank.
uint64_t bankCycles(const Description &machine, uint64_t accesses);

/// \p timing of an instruction whose busiest bank works for \p cycles cycles
/// after its set-up: its issue takes at least as long, and its results come as
/// much later.
Timing withPorts(Timing timing, uint64_t cycles);

} // namespace ashlar::machine

#endif // ASHLAR_MACHINE_PORTS_H
