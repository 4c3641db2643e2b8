// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From coefficients in stream order to chunks of pairs.

#include "TapProgram.h"
#include "OperandFetch.h"
#include "ashlar/Isa/Tiles.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>
#include <cstdlib>
#include <utility>

using namespace ashlar;
using namespace ashlar::emulator;

/// Magnitudes of a chunk: sums of 16-bit elements then fit 32 bits.
static constexpr uint64_t chunkLimit = 65535;
static constexpr uint64_t valueLimit = 32767;
/// Bytes of decoded streams that are kept.
static constexpr uint64_t keptLimit = uint64_t(100) << 20;

namespace {

/// A coefficient on its way into a chunk. Values have 17 bits and shifts of 15
/// at most.
struct Item {
  uint32_t z, channel, element;
  int32_t value;
  uint64_t magnitude() const {
    return static_cast<uint64_t>(std::abs(int64_t(value)));
  }
};

/// Buffers of one decoding, grown once and kept.
struct Buffers {
  std::vector<Item> items, sorted;
};

} // namespace

class TapProgram::Builder : public isa::StreamVisitor {
public:
  explicit Builder(TapProgram &to)
      : layout(to.ownLayout), to(to), buffers(ofThisThread()) {
    to.used.resize(layout.channels);
    buffers.items.clear();
  }

  void coefficient(uint32_t channel, const isa::Coefficient &entry) override;
  void endChannel(uint32_t) override { to.ends.push_back(to.taps.size()); }
  /// After the last coefficient.
  void finish();

private:
  static Buffers &ofThisThread() {
    static thread_local Buffers buffers;
    return buffers;
  }
  void sortByRegion();
  void chunkRegion(llvm::ArrayRef<Item> region);
  void close(llvm::ArrayRef<Item> chunk);
  uint64_t entryOf(uint32_t z) const {
    return uint64_t(z) * layout.regionStride;
  }

  const TapLayout &layout;
  TapProgram &to;
  Buffers &buffers;
};

void TapProgram::Builder::coefficient(uint32_t channel,
                                      const isa::Coefficient &entry) {
  if (entry.mantissa == 0 && !layout.issueZeros)
    return;
  ++to.issued;
  to.used[channel] = true;
  const uint64_t element =
      layout.tapElements[entry.ky * layout.kernelWidth + entry.kx];
  const Tap tap = {channel, element, entryOf(entry.z), entry.value(), entry};
  if (to.ownForm == TapForm::Ordered)
    to.taps.push_back(tap);
  const Item item = {
      entry.z, channel,
      static_cast<uint32_t>(channel * layout.slotElements + element),
      static_cast<int32_t>(tap.value)};
  const uint64_t magnitude = item.magnitude();
  if (magnitude == 0)
    return;
  if (magnitude >> llvm::countr_zero(magnitude) > valueLimit)
    to.wideTaps.push_back(tap);
  else
    buffers.items.push_back(item);
}

/// Those of a region stay in the order of the stream.
void TapProgram::Builder::sortByRegion() {
  std::vector<Item> &items = buffers.items, &sorted = buffers.sorted;
  // Depthwise streams have one region after the other.
  if (llvm::is_sorted(items,
                      [](const Item &a, const Item &b) { return a.z < b.z; }))
    return;
  std::vector<size_t> next(size_t(layout.regions) + 1);
  for (const Item &item : items)
    ++next[item.z + 1];
  for (size_t z = 0; z < layout.regions; ++z)
    next[z + 1] += next[z];
  sorted.resize(items.size());
  for (const Item &item : items)
    sorted[next[item.z]++] = item;
  items.swap(sorted);
}

void TapProgram::Builder::finish() {
  sortByRegion();
  llvm::ArrayRef<Item> rest = buffers.items;
  // No chunk has more than one coefficient without a partner.
  to.elements.reserve(rest.size() + layout.regions);
  to.values.reserve(rest.size() / 2 + layout.regions);
  while (!rest.empty()) {
    llvm::ArrayRef<Item> region = rest.take_while(
        [&](const Item &item) { return item.z == rest.front().z; });
    rest = rest.drop_front(region.size());
    chunkRegion(region);
  }
}

void TapProgram::Builder::chunkRegion(llvm::ArrayRef<Item> region) {
  uint64_t used = 0, sum = 0;
  size_t count = 0;
  auto fits = [](uint64_t used, uint64_t sum, uint64_t most) {
    const auto zeros = static_cast<unsigned>(llvm::countr_zero(used));
    return sum >> zeros <= chunkLimit && most >> zeros <= valueLimit;
  };
  uint64_t most = 0;
  while (count < region.size()) {
    const uint64_t next = region[count].magnitude();
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

void TapProgram::Builder::close(llvm::ArrayRef<Item> chunk) {
  uint64_t used = 0;
  Chunk next;
  next.entry = entryOf(chunk.front().z);
  next.firstPair = to.values.size();
  next.pairs = llvm::divideCeil(chunk.size(), 2);
  // Channels ascend in the stream.
  next.firstChannel = chunk.front().channel;
  next.endChannel = chunk.back().channel + 1;
  for (const Item &item : chunk)
    used |= item.magnitude();
  next.shift = llvm::countr_zero(used);
  for (size_t i = 0; i < 2 * next.pairs; ++i) {
    // An odd one is paired with itself, times zero.
    const Item &item = chunk[std::min(i, chunk.size() - 1)];
    to.elements.push_back(item.element);
    const auto value =
        static_cast<uint16_t>(i < chunk.size() ? item.value >> next.shift : 0);
    if (i % 2 == 0)
      to.values.push_back(value);
    else
      to.values.back() |= uint32_t(value) << 16;
  }
  to.allChunks.push_back(next);
}

TapLayout::TapLayout(const isa::TccRun &op)
    : channels(op.channels), regions(op.regions), regionStride(op.regionStride),
      issueZeros(op.issueZeros) {
  const machine::TileGeometry geometry = isa::geometryOf(op);
  slotElements = geometry.slotElements();
  kernelWidth = geometry.w.taps.size();
  for (uint64_t ky = 0; ky < geometry.h.taps.size(); ++ky)
    for (uint64_t kx = 0; kx < kernelWidth; ++kx)
      tapElements.push_back(geometry.tapElement(ky, kx));
}

TapProgram::TapProgram(TapLayout layout, TapForm form,
                       llvm::ArrayRef<uint8_t> bytes)
    : ownLayout(std::move(layout)), ownForm(form), ownBytes(bytes.vec()) {
  Builder builder(*this);
  llvm::cantFail(isa::decodeStream(bytes, builder));
  builder.finish();
}

bool TapProgram::serves(const TapLayout &layout, TapForm form,
                        llvm::ArrayRef<uint8_t> bytes) const {
  return (ownForm == form || ownForm == TapForm::Ordered) &&
         ownLayout == layout && bytes == llvm::ArrayRef<uint8_t>(ownBytes);
}

uint64_t TapProgram::hostBytes() const {
  return sizeof(TapProgram) + ownBytes.size() +
         (taps.size() + wideTaps.size()) * sizeof(Tap) +
         allChunks.size() * sizeof(Chunk) +
         (elements.size() + values.size()) * sizeof(uint32_t);
}

TapForm emulator::formOf(const isa::TccRun &op) {
  Fetch fetch;
  fetch.type = op.type;
  fetch.mode = op.mode;
  fetch.alignment.mantissa = static_cast<int>(op.mantissa);
  fetch.alignment.range = static_cast<int>(op.range);
  return fetch.width() == numerics::OperandWidth::Int16 ? TapForm::Chunks
                                                        : TapForm::Ordered;
}

bool TapPrograms::isFull() const {
  const std::lock_guard<std::mutex> lock(mutex);
  return size >= keptLimit;
}

static uint64_t hashOf(const TapLayout &layout, TapForm form,
                       llvm::ArrayRef<uint8_t> bytes) {
  return llvm::hash_combine(llvm::xxh3_64bits(bytes), form, layout.channels,
                            layout.regions, layout.regionStride,
                            layout.issueZeros, layout.slotElements,
                            layout.kernelWidth,
                            llvm::hash_combine_range(layout.tapElements.begin(),
                                                     layout.tapElements.end()));
}

std::shared_ptr<const TapProgram>
TapPrograms::find(const TapLayout &layout, TapForm form,
                  llvm::ArrayRef<uint8_t> bytes) {
  const uint64_t hash = hashOf(layout, form, bytes);
  std::shared_ptr<Stream> stream;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    std::shared_ptr<Stream> &place = kept[hash];
    if (!place)
      place = std::make_shared<Stream>();
    stream = place;
  }
  std::call_once(stream->once, [&] {
    stream->program = std::make_shared<TapProgram>(layout, form, bytes);
    const uint64_t own = stream->program->hostBytes();
    const std::lock_guard<std::mutex> lock(mutex);
    if (size + own > keptLimit)
      kept.erase(hash);
    else
      size += own;
  });
  if (stream->program->serves(layout, form, bytes))
    return stream->program;
  return std::make_shared<TapProgram>(layout, form, bytes);
}
