// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text about identity windows.

#include "Words.h"
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::emulator;

std::string emulator::notAnIdentity(uint64_t row, uint64_t step,
                                    bool expected) {
  return fmt::format(
      "the moving operand is not an identity window: row {} of step "
      "{} is {}zero (a reversed identity has to enter with its "
      "last column first)",
      row, step, expected ? "" : "not ");
}
