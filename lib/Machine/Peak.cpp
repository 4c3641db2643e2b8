// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Peaks of the engines.

#include "ashlar/Machine/Peak.h"

#include "ashlar/Machine/Cycles.h"

using namespace ashlar::machine;

uint64_t ashlar::machine::peakPerCycle(const Description &machine,
                                       Engine engine) {
  switch (engine) {
  case Engine::Dma:
    return machine.dma.onchipBytesPerCycle;
  case Engine::PeLoad:
    // Rows that enter the cells: of N:M weights N of M.
    return machine.pe.hasPattern() ? std::max(machine.pe.loadRowsPerCycle,
                                              machine.pe.patternRowsPerCycle)
                                   : machine.pe.loadRowsPerCycle;
  case Engine::Pe:
    return machine.pe.rows * machine.pe.columns *
           stepPositions(machine, false, machine.pe.narrowBits > 0);
  case Engine::Act:
    return machine.act.lanes;
  case Engine::Vec:
    return machine.vec.lanes;
  case Engine::Tcc:
    return machine.sparse.multipliers();
  case Engine::Host:
    return 1;
  }
  return 0;
}

llvm::StringRef ashlar::machine::workUnit(Engine engine) {
  switch (engine) {
  case Engine::Dma:
    return "bytes";
  case Engine::PeLoad:
    return "rows";
  case Engine::Pe:
  case Engine::Tcc:
    return "products";
  case Engine::Act:
    return "results";
  case Engine::Vec:
    return "lane-cycles";
  case Engine::Host:
    return "steps";
  }
  return "";
}
