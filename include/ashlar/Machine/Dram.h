// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DRAM as the formulas see it: bursts of runs, and how long bursts own the
// server under each model (docs/Machine.md 3b). The model `banked` is walked
// burst by burst only by the emulator; here is the estimate that everybody
// else uses.

#ifndef ASHLAR_MACHINE_DRAM_H
#define ASHLAR_MACHINE_DRAM_H

#include "ashlar/Machine/Description.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace ashlar::machine {

/// Cycles for which bursts of \p burstBytes bytes altogether, in \p rows visits
/// of rows, own the server. `ideal` and `efficiency` look at the bytes only.
/// Monotone in every parameter of the description; saturates at maxCycles.
uint64_t dramCycles(const Description &machine, uint64_t burstBytes,
                    uint64_t rows);

/// The same for \p bytes that lie one after the other.
uint64_t dramStreamCycles(const Description &machine, uint64_t bytes);

/// Percent of `bytesPerCycle` that a long stream reaches, at least 1: for
/// predictors that know neither runs nor addresses.
uint64_t dramPercent(const Description &machine);

/// Bursts of a run of \p bytes bytes at \p address: those that it touches with
/// `misaligned_bursts`, else those of its length.
uint64_t runBursts(const Description &machine, uint64_t address,
                   uint64_t bytes);

/// Bursts of runs of \p runBytes bytes that start at \p address + sum of
/// index * stride, over all indices below \p counts. Exact; takes time in
/// proportion to the bytes of a burst, not to the number of runs.
uint64_t runsBursts(const Description &machine, uint64_t address,
                    llvm::ArrayRef<uint64_t> counts,
                    llvm::ArrayRef<int64_t> strides, uint64_t runBytes);

/// Rows that such runs visit in sequence. Runs less than a row apart share
/// rows. An estimate from counts, strides and bytes only.
uint64_t rowVisits(const Description &machine, llvm::ArrayRef<uint64_t> counts,
                   llvm::ArrayRef<int64_t> strides, uint64_t runBytes);

} // namespace ashlar::machine

#endif // ASHLAR_MACHINE_DRAM_H
