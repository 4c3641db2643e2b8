// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays with elements that are not finite.

#include "ashlar/Report/NonFinite.h"
#include "ashlar/Report/Comparison.h"
#include "ashlar/Support/Console.h"

#include <cmath>
#include <fmt/format.h>

using namespace ashlar;
using support::HostTensor;

std::string report::describeNonFinite(const HostTensor &tensor) {
  if (!support::isFloat(tensor.type))
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
