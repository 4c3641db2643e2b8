// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The largest values of an output, which for a classifier are its answer.

#include "ashlar/Report/Comparison.h"
#include "ashlar/Report/Runner.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

using namespace ashlar;
using namespace ashlar::report;
using support::ElementType;
using support::HostTensor;

namespace {

constexpr uint64_t shownValues = 5;
constexpr uint64_t shownSamples = 4;

/// Seven digits identify a float; integers are printed whole.
std::string valueText(const HostTensor &tensor, uint64_t index) {
  if (support::isFloat(tensor.type))
    return fmt::format("{:.7g}", tensor.asDouble(index));
  if (tensor.type == ElementType::U64)
    return fmt::format("{}", static_cast<uint64_t>(tensor.asDouble(index)));
  return fmt::format("{}", static_cast<int64_t>(tensor.asDouble(index)));
}

} // namespace

std::string report::topValues(const HostTensor &output, llvm::StringRef name,
                              uint64_t samples) {
  std::string text =
      fmt::format("output '{}' {}\n", name.str(), support::describe(output));
  const uint64_t total = output.numElements();
  if (total == 0 || samples == 0)
    return text;
  const uint64_t each = total / samples;
  llvm::SmallVector<int64_t> shape = output.shape;
  if (!shape.empty() && samples > 1)
    shape[0] /= static_cast<int64_t>(samples);
  const uint64_t keep = std::min(each, shownValues);
  std::vector<uint64_t> order(each);
  for (uint64_t sample = 0; sample < std::min(samples, shownSamples);
       ++sample) {
    const uint64_t base = sample * each;
    // NaN sorts last; equal values keep index order.
    auto key = [&](uint64_t i) {
      const double value = output.asDouble(base + i);
      return std::isnan(value) ? -HUGE_VAL : value;
    };
    std::iota(order.begin(), order.end(), uint64_t(0));
    std::partial_sort(order.begin(),
                      order.begin() + static_cast<ptrdiff_t>(keep), order.end(),
                      [&](uint64_t a, uint64_t b) {
                        const double x = key(a), y = key(b);
                        return x != y ? x > y : a < b;
                      });
    text += samples > 1 ? fmt::format("  sample {}:", sample) : "  top:";
    for (uint64_t i = 0; i < keep; ++i)
      text += fmt::format(" {}={}", indexText(order[i], shape),
                          valueText(output, base + order[i]));
    text += '\n';
  }
  if (samples > shownSamples)
    text += fmt::format("  ... {} more samples\n", samples - shownSamples);
  return text;
}
