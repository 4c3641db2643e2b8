// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random convolutions and their direct sums.

#include "Convolution.h"
#include <algorithm>
#include <cmath>

using namespace ashlar;
using namespace ashlar::test;

static int64_t between(std::mt19937_64 &random, int64_t low, int64_t high) {
  return low +
         static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
}

/// docs/Numerics.md 3 in binary64: the integer that a stored mantissa is under
/// scale exponent 0.
static int64_t alignedValue(int64_t mantissa, int cell, unsigned width,
                            unsigned range) {
  const int e = cell - (int(width) - 2);
  const int shift = -e, kept = std::clamp(shift, 0, int(range));
  const double limit = std::ldexp(1.0, int(width) - 1) - 1;
  double m = std::clamp(static_cast<double>(mantissa), -limit, limit);
  m = std::nearbyint(std::ldexp(m, std::clamp(kept - shift, -64, 64)));
  m = std::clamp(m, -limit, limit);
  return static_cast<int64_t>(std::ldexp(m, int(range) - kept));
}

void Convolution::fill(std::mt19937_64 &random, double density,
                       const machine::Description &machine) {
  const auto pixels = static_cast<size_t>(images * channels * height * width);
  stored.resize(pixels);
  cells.assign(pixels, 0);
  values.resize(pixels);
  const unsigned bits = mantissa ? mantissa : 8;
  for (size_t i = 0; i < pixels; ++i) {
    const int64_t limit = int64_t(1) << (bits - 1);
    stored[i] = static_cast<int16_t>(between(random, -limit, limit - 1));
  }
  for (int64_t n = 0; n < images; ++n)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t p = 0; p < height * width; ++p) {
        const auto i = static_cast<size_t>(pixel(n, c, 0, 0) + p);
        if (mantissa == 0) {
          values[i] = stored[i];
          continue;
        }
        // Channels of one row of cells share them.
        const auto row = static_cast<int64_t>(machine.xmGroup);
        const auto first =
            static_cast<size_t>(pixel(n, c / row * row, 0, 0) + p);
        if (c % row == 0)
          cells[i] = static_cast<int8_t>(
              int(mantissa) - 2 - between(random, 0, int64_t(range) + 3));
        cells[i] = cells[first];
        values[i] = alignedValue(stored[i], cells[i], mantissa, range);
      }
  weights.assign(static_cast<size_t>(results * groupChannels() * kH * kW), {});
  for (isa::Coefficient &w : weights) {
    if (std::uniform_real_distribution<>()(random) >= density)
      continue;
    const int64_t limit = (int64_t(1) << (weightBits - 1)) - 1;
    w.mantissa = static_cast<int32_t>(between(random, -limit, limit));
    w.shift = static_cast<uint32_t>(between(random, 0, (1 << shiftBits) - 1));
    if (w.mantissa == 0)
      w.mantissa = 1;
  }
}

std::vector<int64_t> Convolution::direct() const {
  std::vector<int64_t> sums;
  for (int64_t n = 0; n < images; ++n)
    for (int64_t o = 0; o < results; ++o)
      for (int64_t y = 0; y < outHeight(); ++y)
        for (int64_t x = 0; x < outWidth(); ++x) {
          int64_t sum = 0;
          for (int64_t c = 0; c < groupChannels(); ++c)
            for (int64_t ky = 0; ky < kH; ++ky)
              for (int64_t kx = 0; kx < kW; ++kx) {
                const int64_t iy = y * sH + ky * dH - padTop;
                const int64_t ix = x * sW + kx * dW - padLeft;
                if (iy < 0 || iy >= height || ix < 0 || ix >= width)
                  continue;
                const int64_t in = o / groupResults() * groupChannels() + c;
                sum += values[static_cast<size_t>(pixel(n, in, iy, ix))] *
                       weight(o, c, ky, kx).value();
              }
          sums.push_back(sum);
        }
  return sums;
}

uint64_t Convolution::nonZeros() const {
  return static_cast<uint64_t>(
      std::count_if(weights.begin(), weights.end(),
                    [](const isa::Coefficient &w) { return w.mantissa != 0; }));
}

Convolution test::randomConvolution(std::mt19937_64 &random,
                                    const machine::Description &machine) {
  const bool tiny = machine.sb.partitions < 16;
  Convolution conv;
  while (true) {
    conv.images = between(random, 1, 3);
    conv.groups = between(random, 1, 4);
    conv.channels = conv.groups * between(random, 1, tiny ? 2 : 8);
    conv.results = conv.groups * between(random, 1, tiny ? 2 : 8);
    if (between(random, 0, 5) == 0) { // depthwise
      conv.groups = conv.channels;
      conv.results = conv.channels;
    }
    conv.height = between(random, 1, 20);
    conv.width = between(random, 1, 20);
    conv.kH = between(random, 1, 7);
    conv.kW = between(random, 1, 7);
    conv.sH = between(random, 1, 3);
    conv.sW = between(random, 1, 3);
    conv.dH = between(random, 1, 3);
    conv.dW = between(random, 1, 3);
    conv.padTop = between(random, 0, conv.kH);
    conv.padLeft = between(random, 0, conv.kW);
    conv.padBottom = between(random, 0, conv.kH);
    conv.padRight = between(random, 0, conv.kW);
    const int64_t spanH = (conv.kH - 1) * conv.dH + 1;
    const int64_t spanW = (conv.kW - 1) * conv.dW + 1;
    if (spanH > conv.height + conv.padTop + conv.padBottom ||
        spanW > conv.width + conv.padLeft + conv.padRight)
      continue;
    break;
  }
  switch (between(random, 0, 3)) {
  case 0:
    break;
  case 1:
    conv.mantissa = 8;
    conv.range = 7;
    conv.weightBits = 8;
    conv.shiftBits = 3;
    break;
  case 2:
    conv.mantissa = 4;
    conv.range = 3;
    conv.weightBits = 5;
    conv.shiftBits = 1;
    break;
  default:
    conv.mantissa = 12;
    conv.range = 7;
    conv.weightBits = 13;
    conv.shiftBits = 3;
    break;
  }
  return conv;
}

TilePlan test::randomPlan(std::mt19937_64 &random, const Convolution &conv,
                          const machine::Description &machine) {
  TilePlan plan;
  const int64_t oh = conv.outHeight(), ow = conv.outWidth();
  const auto entries = static_cast<int64_t>(machine.sparse.accumulatorEntries);
  const auto bytes = static_cast<int64_t>(machine.sparse.fmuBytes);
  plan.tileH = between(random, 1, std::min<int64_t>(oh, 12));
  plan.tileW = between(random, 1, std::min<int64_t>(ow, 12));
  plan.tileImages = between(random, 1, conv.images);
  if (between(random, 0, 9) == 0)
    plan.tileH = plan.tileW = plan.tileImages = 1;
  auto slot = [&] {
    const int64_t h = (plan.tileH + (conv.kH - 1) * conv.dH) * conv.sH;
    const int64_t w = (plan.tileW + (conv.kW - 1) * conv.dW) * conv.sW;
    return plan.tileImages * h * w * (int64_t(conv.elementBytes()) + 1);
  };
  while (slot() > bytes ||
         plan.tileImages * plan.tileH * plan.tileW > entries) {
    plan.tileH = std::max<int64_t>(1, plan.tileH / 2);
    plan.tileW = std::max<int64_t>(1, plan.tileW / 2);
    plan.tileImages = 1;
  }
  plan.channelsPerLoad = between(
      random, 1, std::max<int64_t>(1, std::min(bytes / slot(), conv.channels)));
  const int64_t most = entries / (plan.tileImages * plan.tileH * plan.tileW);
  plan.regions = between(random, 1, std::min(most, conv.groupResults()));
  // Groups of units split the results of a plain convolution.
  const auto units = static_cast<int64_t>(machine.sparse.tcus);
  if (conv.groups == 1)
    for (int64_t copies : {4, 3, 2})
      if (conv.results % copies == 0 && copies <= units &&
          static_cast<int64_t>(machine.sparse.wmBanks) >= copies &&
          between(random, 0, 1)) {
        plan.copies = copies;
        plan.regions =
            between(random, 1, std::min(most, conv.results / copies));
        plan.drainTogether = plan.regions % 2 == 0;
        if (plan.drainTogether && conv.results / copies <= most)
          plan.regions = conv.results / copies;
        plan.mapped = plan.regions % 2 == 0;
        break;
      }
  plan.encoding = static_cast<isa::StreamEncoding>(between(random, 0, 2));
  plan.issueZeros =
      plan.encoding == isa::StreamEncoding::Dense && between(random, 0, 1);
  plan.shuffle = between(random, 0, 1);
  return plan;
}

void test::makeSparse(Convolution &conv, std::mt19937_64 &random,
                      double density) {
  for (size_t i = 0; i < conv.stored.size(); ++i) {
    const auto x = static_cast<double>(i % static_cast<size_t>(conv.width));
    const double kept =
        2 * density * (x + 0.5) / static_cast<double>(conv.width);
    if (std::uniform_real_distribution<>()(random) < kept)
      continue;
    conv.stored[i] = 0;
    conv.values[i] = 0;
  }
}

llvm::Expected<partition::Partition> test::cutOf(const Convolution &conv,
                                                 const TilePlan &plan,
                                                 int64_t firstRow,
                                                 int64_t endRow) {
  partition::CountMap map = partition::CountMap::zeros(
      conv.height, conv.width,
      static_cast<uint64_t>(conv.images * conv.channels));
  const auto plane = static_cast<size_t>(conv.height * conv.width);
  for (size_t i = 0; i < conv.stored.size(); ++i)
    map.counts[i % plane] += conv.stored[i] != 0;
  partition::Geometry geometry;
  geometry.y = {conv.height, endRow - firstRow,
                conv.kH,     conv.sH,
                conv.dH,     conv.padTop - firstRow * conv.sH};
  geometry.x = {conv.width, conv.outWidth(), conv.kW,
                conv.sW,    conv.dW,         conv.padLeft};
  partition::Options options;
  options.units = plan.cut->units;
  options.algorithm = static_cast<partition::Algorithm>(plan.cut->algorithm);
  options.metric = static_cast<partition::Metric>(plan.cut->metric);
  options.threshold = 0.03;
  options.maxIterations = options.moveRounds = 64;
  options.refine = false;
  const partition::PrefixSums sums(map);
  options.cycles = [&](const partition::Box &box) {
    return (sums.sum(box) + 15) / 16;
  };
  if (!plan.cut->disjoint) {
    options.alignRows = options.alignCols = plan.cut->align;
    options.maxRows = plan.tileH;
    options.maxCols = plan.tileW;
    return partition::partition(map, geometry, options);
  }
  options.halo = partition::Halo::None;
  if (plan.tileH < conv.outHeight())
    options.maxRows = plan.tileH * conv.sH - (conv.kH - 1) * conv.dH;
  if (plan.tileW < conv.outWidth())
    options.maxCols = plan.tileW * conv.sW - (conv.kW - 1) * conv.dW;
  return partition::partition(map, geometry, options);
}
