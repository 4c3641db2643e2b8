// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Largest logit, or a seeded draw.

#include "Sampler.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <vector>

using namespace ashlar::report;

/// splitmix64, 53 bits of it, in [0, 1).
double Sampler::uniform() {
  state += 0x9e3779b97f4a7c15u;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

int64_t Sampler::next(llvm::ArrayRef<double> logits) {
  std::vector<size_t> order(logits.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  // NaN comes last: a comparison with it is false.
  auto before = [&](size_t a, size_t b) {
    const bool known = !std::isnan(logits[a]), other = !std::isnan(logits[b]);
    if (known != other)
      return known;
    return known && logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  if (temperature <= 0)
    return static_cast<int64_t>(
        *std::min_element(order.begin(), order.end(), before));
  llvm::sort(order, before);
  if (topK > 0 && topK < order.size())
    order.resize(topK);
  std::vector<double> weights;
  double sum = 0;
  for (size_t token : order) {
    const double weight =
        std::exp((logits[token] - logits[order[0]]) / temperature);
    sum += weights.emplace_back(std::isfinite(weight) ? weight : 0);
  }
  double rest = uniform() * sum;
  for (size_t i = 0; i < order.size(); ++i) {
    rest -= weights[i];
    if (rest < 0)
      return static_cast<int64_t>(order[i]);
  }
  return static_cast<int64_t>(order[0]);
}
