// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numbers that random operators draw. A program has them as constants, so
// that every run draws the same: ONNX leaves the generator open, and a program
// whose bits depend on more than its inputs could not be checked. The generator
// is MT19937 with numpy's RandomState on top, from which ONNX's own cases with
// a seed come.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_DRAWS_H
#define ASHLAR_LIB_FRONTEND_ONNX_DRAWS_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <random>

namespace ashlar::frontend {

class Draws {
public:
  explicit Draws(uint32_t seed) : source(seed) {}
  /// Evenly from [0, 1), with 53 bits.
  double uniform();
  /// From the normal distribution around 0 with deviation 1.
  double normal();

private:
  std::mt19937 source;
  std::optional<double> spare;
};

/// The seed of a node: that of its attribute, or one made of its name.
uint32_t seedOf(std::optional<double> given, llvm::StringRef nodeName);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_DRAWS_H
