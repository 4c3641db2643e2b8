// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From coefficients in stream order to chunks of pairs.

#include "TapProgram.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cstdlib>

using namespace ashlar;
using namespace ashlar::emulator;

/// Magnitudes of a chunk: sums of 16-bit elements then fit 32 bits.
static constexpr uint64_t chunkLimit = 65535;
static constexpr uint64_t valueLimit = 32767;
/// Coefficients kept; about 100 bytes each.
static constexpr uint64_t keptLimit = 1u << 20;

TapProgram::TapProgram(const isa::TccRun &op,
                       const machine::TileGeometry &geometry)
    : op(op), slotElements(geometry.slotElements()),
      kernelWidth(geometry.w.taps.size()) {
  for (uint64_t ky = 0; ky < geometry.h.taps.size(); ++ky)
    for (uint64_t kx = 0; kx < kernelWidth; ++kx)
      tapElements.push_back(geometry.tapElement(ky, kx));
}

void TapProgram::coefficient(uint32_t channel, const isa::Coefficient &entry) {
  if (entry.mantissa == 0 && !op.issueZeros)
    return;
  taps.push_back({channel, tapElements[entry.ky * kernelWidth + entry.kx],
                  op.acc + uint64_t(entry.z) * op.regionStride, entry.value(),
                  entry});
}

/// Coefficients by region, those of a region in the order they have.
static std::vector<const Tap *> distribute(llvm::ArrayRef<const Tap *> taps,
                                           size_t regions) {
  std::vector<size_t> next(regions + 1);
  for (const Tap *tap : taps)
    ++next[tap->coefficient.z + 1];
  for (size_t z = 0; z < regions; ++z)
    next[z + 1] += next[z];
  std::vector<const Tap *> result(taps.size());
  for (const Tap *tap : taps)
    result[next[tap->coefficient.z]++] = tap;
  return result;
}

/// Coefficients of at most 16 bits, region by region, each in the order of the
/// stream; the others go to wideTaps.
std::vector<const Tap *> TapProgram::byRegion() {
  std::vector<const Tap *> order;
  order.reserve(taps.size());
  for (const Tap &tap : taps) {
    const auto magnitude = static_cast<uint64_t>(std::abs(tap.value));
    if (magnitude == 0)
      continue;
    if (magnitude >> llvm::countr_zero(magnitude) > valueLimit)
      wideTaps.push_back(&tap);
    else
      order.push_back(&tap);
  }
  // Depthwise streams have one region after the other.
  auto before = [](const Tap *a, const Tap *b) {
    return a->coefficient.z < b->coefficient.z;
  };
  return llvm::is_sorted(order, before) ? order : distribute(order, op.regions);
}

void TapProgram::decode(llvm::ArrayRef<uint8_t> bytes) {
  // A coefficient takes two bytes or more, or a bit where most are not zero.
  taps.reserve(bytes.size() / 2);
  llvm::cantFail(isa::decodeStream(bytes, *this));
  const std::vector<const Tap *> order = byRegion();
  llvm::ArrayRef<const Tap *> rest = order;
  while (!rest.empty()) {
    llvm::ArrayRef<const Tap *> region = rest.take_while([&](const Tap *tap) {
      return tap->coefficient.z == rest.front()->coefficient.z;
    });
    rest = rest.drop_front(region.size());
    chunkRegion(region);
  }
}

void TapProgram::chunkRegion(llvm::ArrayRef<const Tap *> region) {
  uint64_t used = 0, sum = 0;
  size_t count = 0;
  auto fits = [](uint64_t used, uint64_t sum, uint64_t most) {
    const auto zeros = static_cast<unsigned>(llvm::countr_zero(used));
    return sum >> zeros <= chunkLimit && most >> zeros <= valueLimit;
  };
  uint64_t most = 0;
  while (count < region.size()) {
    const auto next = static_cast<uint64_t>(std::abs(region[count]->value));
    if (count != 0 && !fits(used | next, sum + next, std::max(most, next))) {
      close(region.take_front(count));
      region = region.drop_front(count);
      used = sum = most = count = 0;
      continue;
    }
    used |= next;
    sum += next;
    most = std::max(most, next);
    ++count;
  }
  close(region);
}

void TapProgram::close(llvm::ArrayRef<const Tap *> chunk) {
  uint64_t used = 0;
  Chunk next;
  next.entry = chunk.front()->entry;
  next.firstPair = values.size();
  next.pairs = llvm::divideCeil(chunk.size(), 2);
  // Channels ascend in the stream.
  next.firstChannel = chunk.front()->channel;
  next.endChannel = chunk.back()->channel + 1;
  for (const Tap *tap : chunk)
    used |= static_cast<uint64_t>(std::abs(tap->value));
  next.shift = llvm::countr_zero(used);
  for (size_t i = 0; i < 2 * next.pairs; ++i) {
    // An odd one is paired with itself, times zero.
    const Tap &tap = *chunk[std::min(i, chunk.size() - 1)];
    elements.push_back(
        static_cast<uint32_t>(tap.channel * slotElements + tap.element));
    const auto value =
        static_cast<uint16_t>(i < chunk.size() ? tap.value >> next.shift : 0);
    if (i % 2 == 0)
      values.push_back(value);
    else
      values.back() |= uint32_t(value) << 16;
  }
  allChunks.push_back(next);
}

bool TapPrograms::isFull() const { return size >= keptLimit; }

std::shared_ptr<const TapProgram>
TapPrograms::find(uint32_t index, const isa::TccRun &op,
                  const machine::TileGeometry &geometry, uint32_t group,
                  llvm::ArrayRef<uint8_t> bytes) {
  if (auto found = kept.find({index, group}); found != kept.end()) {
    if (bytes == llvm::ArrayRef<uint8_t>(found->second.bytes))
      return found->second.program;
    size -= found->second.program->size();
    kept.erase(found);
  }
  auto program = std::make_shared<TapProgram>(op, geometry);
  program->decode(bytes);
  if (size + program->size() > keptLimit)
    return program;
  size += program->size();
  kept[{index, group}] = {bytes.vec(), program};
  return program;
}
