// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays with elements that are not finite.

#include "ashlar/Report/NonFinite.h"
#include "ashlar/Report/Comparison.h"
#include "ashlar/Support/Console.h"

#include <cmath>
#include <cstring>
#include <fmt/format.h>

using namespace ashlar;
using support::HostTensor;

/// Binary32 arrays, which most are, in one pass over their exponents.
static bool isFinite32(const HostTensor &tensor) {
  constexpr uint32_t exponent = 0x7f800000;
  if (tensor.type != ElementType::F32)
    return false;
  uint32_t found = 0;
  for (uint64_t i = 0; i < tensor.data.size() / sizeof(uint32_t); ++i) {
    uint32_t bits;
    std::memcpy(&bits, tensor.data.data() + i * sizeof(bits), sizeof(bits));
    found |= (bits & exponent) == exponent;
  }
  return found == 0;
}

std::string report::describeNonFinite(const HostTensor &tensor) {
  if (!support::isFloat(tensor.type) || isFinite32(tensor))
    return "";
  uint64_t nan = 0, infinite = 0, first = 0;
  const uint64_t elements = tensor.numElements();
  for (uint64_t i = 0; i < elements; ++i) {
    const double value = tensor.asDouble(i);
    if (std::isfinite(value))
      continue;
    if (nan + infinite == 0)
      first = i;
    ++(std::isnan(value) ? nan : infinite);
  }
  if (nan + infinite == 0)
    return "";
  return fmt::format("{} of {} elements are not finite ({} NaN, {} infinite), "
                     "the first at {}",
                     nan + infinite, elements, nan, infinite,
                     indexText(first, tensor.shape));
}

void report::warnNonFinite(llvm::StringRef tool, llvm::StringRef what,
                           llvm::StringRef name, const HostTensor &tensor) {
  const std::string text = describeNonFinite(tensor);
  if (!text.empty())
    support::printErr(fmt::format("{}: warning: {} '{}': {}\n", tool.str(),
                                  what.str(), name.str(), text));
}
