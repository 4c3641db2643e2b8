// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The time of programs that are not run: what both searches for an order know
// of instructions.

#ifndef ASHLAR_LIB_EMULATOR_TIME_PREDICTION_H
#define ASHLAR_LIB_EMULATOR_TIME_PREDICTION_H

#include "../Impl.h"
#include "Server.h"

namespace ashlar::emulator {

/// What an order needs to know of an instruction.
struct Work {
  uint64_t issue = 0, complete = 0;
  llvm::SmallVector<Claim, 2> claims;
};

class PlannedTensors;

/// Decodes a program and finds what the instructions of the sparse cluster
/// take. False if it is one that load() would refuse.
bool prepare(const container::Program &program, LoadedProgram::Impl &impl);

/// What the sparse cluster's instructions take, of a decoded program; false if
/// it is one that load() would refuse.
bool findCosts(LoadedProgram::Impl &impl);

/// Keeps the claims on banks of all instructions of a prepared program: they do
/// not depend on the order.
void keepClaims(LoadedProgram::Impl &impl);

/// Cycles of a prepared program; if \p byStart, in the order of starts where
/// that is better.
uint64_t predictCycles(const LoadedProgram::Impl &impl, PlannedTensors tensors,
                       bool byStart);

/// Times and claims, in program order: a matmul depends on what was loaded
/// before it.
std::vector<Work> measure(const LoadedProgram::Impl &impl);

/// Cycles of a prepared program.
uint64_t cyclesOf(const LoadedProgram::Impl &impl);

/// The same in another order of its instructions, whose queues and semaphores
/// keep theirs.
uint64_t cyclesIn(const LoadedProgram::Impl &impl,
                  llvm::ArrayRef<uint32_t> order);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_TIME_PREDICTION_H
