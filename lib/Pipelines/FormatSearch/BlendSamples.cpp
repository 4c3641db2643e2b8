// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Halves are added, so that no mean overflows.

#include "BlendSamples.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

namespace ashlar::pipelines {
namespace {

HostTensor blend(const HostTensor &a, const HostTensor &b) {
  HostTensor mean = a;
  for (size_t at = 0; at < a.data.size(); at += sizeof(float)) {
    float left = 0, right = 0;
    std::memcpy(&left, a.data.data() + at, sizeof(float));
    std::memcpy(&right, b.data.data() + at, sizeof(float));
    left = left / 2 + right / 2;
    std::memcpy(mean.data.data() + at, &left, sizeof(float));
  }
  return mean;
}

} // namespace

std::vector<Sample> blendSamples(llvm::ArrayRef<Sample> samples) {
  std::vector<Sample> blends;
  for (size_t i = 0; i < samples.size() && samples.size() > 1; ++i) {
    Sample mean;
    const Sample &next = samples[(i + 1) % samples.size()];
    for (auto [a, b] : llvm::zip(samples[i], next)) {
      if (a.type != ElementType::F32)
        return {};
      mean.push_back(blend(a, b));
    }
    blends.push_back(std::move(mean));
  }
  return blends;
}

} // namespace ashlar::pipelines
