// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DRAM's part in the cycle accounting: how long a transfer owns it, and the
// trace of its requests.

#ifndef ASHLAR_LIB_EMULATOR_TIME_DRAMSERVER_H
#define ASHLAR_LIB_EMULATOR_TIME_DRAMSERVER_H

#include "../Impl.h"
#include "DramBanks.h"
#include <optional>

namespace ashlar::emulator {

/// Where banks decide the time of a transfer, the formulas see a DRAM that
/// takes one cycle for everything; DramServer::serve() puts the time in.
machine::Description costMachineOf(const machine::Description &machine);

/// True if serve() needs what Engine::chosen keeps.
bool needsRequests(const machine::Description &machine, const Options &options);

class DramServer {
public:
  DramServer(const LoadedProgram::Impl &impl, const Options &options,
             RunResult &result);

  /// Instruction \p index of cost \p cost, which uses DRAM, is granted the
  /// server at cycle \p granted. Transfers come in the order of service. Sets
  /// the time of \p cost and returns the cycles that it owns the server.
  uint64_t serve(uint32_t index, uint64_t granted, Cost &cost);

private:
  const LoadedProgram::Impl &impl;
  const Options &options;
  RunResult &result;
  std::optional<DramBanks> banks;
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_TIME_DRAMSERVER_H
