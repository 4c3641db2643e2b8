// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers of the emulator tests: programs from text, run in program order.

#ifndef ASHLAR_TEST_EMULATOR_TESTSUPPORT_H
#define ASHLAR_TEST_EMULATOR_TESTSUPPORT_H

#include "ashlar/Container/Assembly.h"
#include "ashlar/Emulator/Emulator.h"
#include "ashlar/Isa/Instruction.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "gtest/gtest.h"
#include <string>
#include <vector>

namespace ashlar::test {

/// Semaphores of a serialised program: one for each pair of queues.
inline constexpr uint32_t serialSemaphores =
    emulator::numQueues * emulator::numQueues;

/// Encodes instructions with a semaphore wherever the queue changes, so that
/// every instruction waits for the one before.
std::vector<uint64_t> serialise(llvm::ArrayRef<isa::Instruction> code);

/// Assembles a program text; the instructions are serialised if asked.
container::Program assembleText(const std::string &text, bool inOrder);

/// The matrix of transposition(): the bytes 1 to 16.
inline constexpr char matrixData[] =
    ".data at=0 hex=0102030405060708090a0b0c0d0e0f10\n";

/// A product with the identity that transposes a matrix of 4 x 4 bytes, on the
/// machine fig3-4x4. \p given says where the matrix comes from, \p between is
/// executed in front of the last copy.
std::string transposition(const std::string &given = matrixData,
                          const std::string &between = "");

/// Runs a serialised text without inputs and returns the result; a failure of
/// the test if anything goes wrong.
emulator::RunResult runText(const std::string &text,
                            const emulator::Options &options = {});

/// The account of a run on \p machine: every cycle of a queue is busy or has a
/// cause; cycles and busy cycles are those of the nodes and of what has none;
/// no engine does more than it can. Failures of the test otherwise.
void expectBalanced(const machine::Description &machine,
                    const emulator::RunResult &result);

/// The first output as numbers.
std::vector<double> values(const emulator::RunResult &result,
                           size_t output = 0);

/// What a run of a text says, or "" if it succeeds: an error of class
/// Malformed. From the first instruction \p first on, the code belongs to the
/// ONNX node Gather_7. Instructions of a named node have no semaphores of their
/// own in the text, so races are not looked for.
std::string gatherError(std::string text, const std::string &first,
                        unsigned threads);

/// The fault that loading a text gives; the instructions stay as they are.
emulator::Fault faultOf(const std::string &text);
/// The fault that loading a program gives; without a message if it loads.
emulator::Fault faultOf(container::Program program);

/// The program with each instruction as \p change leaves it.
container::Program
withCode(container::Program program,
         llvm::function_ref<void(isa::Instruction &)> change);

/// The program with one instruction changed: the first Op for which \p change
/// returns true.
template <typename Op, typename Fn>
container::Program withOne(container::Program program, Fn change) {
  bool done = false;
  return withCode(std::move(program), [&](isa::Instruction &inst) {
    auto *op = std::get_if<Op>(&inst);
    done = done || (op && change(*op));
  });
}

} // namespace ashlar::test

#endif // ASHLAR_TEST_EMULATOR_TESTSUPPORT_H
