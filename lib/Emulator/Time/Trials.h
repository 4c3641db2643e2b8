// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the orders of a program have in common.

#ifndef ASHLAR_LIB_EMULATOR_TIME_TRIALS_H
#define ASHLAR_LIB_EMULATOR_TIME_TRIALS_H

#include "PlannedTensors.h"
#include "Prediction.h"
#include "ashlar/Emulator/Order.h"

namespace ashlar::emulator {

struct OrderTrials::State {
  LoadedProgram::Impl impl; ///< Prepared; costs and claims of everything.
  std::optional<TensorRooms> rooms;
  Dependences dependences;
  std::vector<Work> work;
  /// Costs follow from the contents of memories, which are followed through
  /// the program.
  bool hasCluster = false;
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_TIME_TRIALS_H
