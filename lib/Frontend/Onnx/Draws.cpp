// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Draws on the words of the generator.

#include "Draws.h"

#include "ashlar/Numerics/Function.h"

#include <bit>
#include <cmath>

using namespace ashlar;
using namespace ashlar::frontend;

double Draws::uniform() {
  const auto high = static_cast<uint32_t>(source()) >> 5;
  const auto low = static_cast<uint32_t>(source()) >> 6;
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

/// The polar method, which gives two numbers at a time.
double Draws::normal() {
  if (spare) {
    const double kept = *spare;
    spare.reset();
    return kept;
  }
  double x, y, square;
  do {
    x = 2 * uniform() - 1;
    y = 2 * uniform() - 1;
    square = x * x + y * y;
  } while (square >= 1 || square == 0);
  const double logarithm = numerics::applyWide(numerics::Function::Log, square);
  const double factor = std::sqrt(-2 * logarithm / square);
  spare = factor * x;
  return factor * y;
}

uint32_t ashlar::frontend::seedOf(std::optional<double> given,
                                  llvm::StringRef nodeName) {
  if (!given) {
    uint32_t hash = 2166136261; // FNV-1a
    for (unsigned char letter : nodeName)
      hash = (hash ^ letter) * 16777619;
    return hash;
  }
  if (*given >= 0 && *given < 0x1p32 && *given == std::floor(*given))
    return static_cast<uint32_t>(*given);
  return std::bit_cast<uint32_t>(static_cast<float>(*given));
}
