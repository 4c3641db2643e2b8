// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The most that an engine can do in a cycle: what utilisation is measured
// against (docs/ReportSchema.md).

#ifndef ASHLAR_MACHINE_PEAK_H
#define ASHLAR_MACHINE_PEAK_H

#include "ashlar/Machine/Description.h"

namespace ashlar::machine {

enum class Engine { Dma, PeLoad, Pe, Act, Vec, Tcc, Host };

/// Work that \p engine can do in a cycle, in units of workUnit(): a copy queue
/// by itself, the sparse cluster with all its units.
uint64_t peakPerCycle(const Description &machine, Engine engine);

/// "bytes", "rows", "products", "results", "lane-cycles"; of the host "steps".
/// A product is that of two digits: wide operands take several
/// (Cycles.h, pePasses()). A row counts once per byte of its elements.
llvm::StringRef workUnit(Engine engine);

} // namespace ashlar::machine

#endif // ASHLAR_MACHINE_PEAK_H
