// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocation of the machine's memories.

#include "Memory.h"
#include "ashlar/Numerics/Encode.h"
#include "ashlar/Support/CheckedMath.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Support/LargePages.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Alignment.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <utility>

using namespace ashlar;
using namespace ashlar::emulator;

// Odd numbers of cache lines spread consecutive rows over all sets.
static constexpr uint64_t padLines = 5;
static constexpr uint64_t lineBytes = 64;
// Kernels may load whole vectors at the end of a row.
static constexpr uint64_t slackBytes = 4096;

HostBlock::HostBlock(HostBlock &&other) noexcept
    : storage(std::exchange(other.storage, nullptr)),
      mapped(std::exchange(other.mapped, 0)),
      pointer(std::exchange(other.pointer, nullptr)),
      length(std::exchange(other.length, 0)) {}

HostBlock &HostBlock::operator=(HostBlock &&other) noexcept {
  std::swap(storage, other.storage);
  std::swap(mapped, other.mapped);
  std::swap(pointer, other.pointer);
  std::swap(length, other.length);
  return *this;
}

HostBlock::~HostBlock() { release(); }

void HostBlock::release() {
  if (mapped != 0)
    support::unmapZeros(storage, mapped);
  else
    std::free(storage);
  storage = pointer = nullptr;
  mapped = length = 0;
}

bool HostBlock::allocate(uint64_t bytes) {
  // From here on a mapping is worth its calls, and its last large page; smaller
  // blocks share those of the heap.
  constexpr uint64_t worthMapping = 2 * support::largePageBytes;
  release();
  const uint64_t size = bytes + slackBytes + lineBytes;
  // Walking over partitions touches many small pages at once; large ones cost
  // fewer faults and fewer misses of the translation buffer. What comes from
  // the heap has to be zeroed even if it is never used.
  if (bytes >= worthMapping && (storage = support::mapZeros(size)))
    mapped = size;
  else
    storage = static_cast<uint8_t *>(std::calloc(size, 1));
  // The heap's blocks start after a header: without alignment every vector of
  // a row would lie in two lines.
  pointer = storage ? storage + llvm::offsetToAlignment(
                                    reinterpret_cast<uintptr_t>(storage),
                                    llvm::Align(lineBytes))
                    : nullptr;
  length = bytes;
  return pointer != nullptr;
}

void HostBlock::share(const HostBlock &other) {
  release();
  pointer = other.pointer;
  length = other.length;
}

bool Memory::allocateDram(uint64_t bytes, uint64_t maxMemory) {
  return (maxMemory == 0 || bytes <= maxMemory) && dramBlock.allocate(bytes);
}

llvm::Error Memory::plan(const machine::Description &description,
                         uint64_t dramBytes, uint64_t maxMemory, bool cluster,
                         uint64_t staged) {
  rowBytes = description.sb.bytesPerPartition;
  group = description.xmGroup;
  if (llvm::isPowerOf2_64(group))
    groupShift = llvm::Log2_64(group);
  sbPitch = llvm::alignTo(rowBytes, lineBytes) +
            llvm::alignTo(staged, 2 * lineBytes) + padLines * lineBytes;
  psumPitch = llvm::alignTo(description.psum.entries(), 8) +
              padLines * lineBytes / sizeof(int64_t);
  const machine::Sparse &sparse = description.sparse;
  fmuSets = sparse.fmuSets;
  fmuBytes = sparse.fmuBytes;
  accEntries = sparse.accumulatorEntries;
  const uint64_t units = cluster ? sparse.tcus : 0;
  sizes = {sbPitch * description.sb.partitions,
           sbPitch * support::ceilDiv(description.sb.partitions, group),
           psumPitch * description.pe.columns * sizeof(int64_t),
           dramBytes,
           cluster ? sparse.wmBytes : 0,
           units * fmuSets * fmuBytes,
           units * accEntries * sizeof(int64_t)};
  uint64_t total = 0;
  for (uint64_t size : sizes) {
    std::optional<uint64_t> sum = support::checkedAdd(total, size);
    if (!sum || (maxMemory != 0 && *sum > maxMemory))
      return makeError(ErrorClass::Capacity,
                       "the program needs more than the allowed {} bytes of "
                       "memory: DRAM {}, state buffer {}, exponent memory {}, "
                       "PSUM {}, sparse cluster {}",
                       maxMemory, sizes[3], sizes[0], sizes[1], sizes[2],
                       sizes[4] + sizes[5] + sizes[6]);
    total = *sum;
  }
  totalBytes = total;
  ownScales.assign(description.xr.registers, clearedScale);
  scales = ownScales.data();
  scaleCount = ownScales.size();
  return llvm::Error::success();
}

llvm::Error Memory::take() {
  HostBlock *blocks[] = {&sbBlock, &xmBlock,  &psumBlock, &dramBlock,
                         &wmBlock, &fmuBlock, &accBlock};
  static_assert(std::size(blocks) == std::tuple_size_v<decltype(sizes)>);
  for (auto [block, bytes] : llvm::zip_equal(blocks, sizes)) {
    const bool isThere = block->data() && block->size() == bytes;
    if (!isThere && !block->allocate(bytes))
      return makeError(ErrorClass::Capacity,
                       "the host refuses {} bytes for the machine's memories",
                       totalBytes);
  }
  return llvm::Error::success();
}

bool Memory::share(Memory &owner) {
  sbPitch = owner.sbPitch;
  psumPitch = owner.psumPitch;
  rowBytes = owner.rowBytes;
  group = owner.group;
  groupShift = owner.groupShift;
  fmuSets = owner.fmuSets;
  fmuBytes = owner.fmuBytes;
  accEntries = owner.accEntries;
  scales = owner.scales;
  scaleCount = owner.scaleCount;
  sbBlock.share(owner.sbBlock);
  xmBlock.share(owner.xmBlock);
  dramBlock.share(owner.dramBlock);
  wmBlock.share(owner.wmBlock);
  totalBytes = owner.ownBytes();
  return psumBlock.allocate(owner.psumBlock.size()) &&
         fmuBlock.allocate(owner.fmuBlock.size()) &&
         accBlock.allocate(owner.accBlock.size());
}

void Memory::clearOwn() {
  for (const HostBlock *block : {&psumBlock, &fmuBlock, &accBlock})
    std::memset(block->data(), 0, block->size());
}

void Memory::mergeScale(uint64_t index, int16_t exponent) {
  std::atomic_ref<int16_t> scale(scales[index]);
  int16_t old = scale.load(std::memory_order_relaxed);
  // Most blocks change nothing: then no other processor loses the line.
  for (int16_t merged = numerics::mergeScale(old, exponent);
       merged != old &&
       !scale.compare_exchange_weak(old, merged, std::memory_order_relaxed);
       merged = numerics::mergeScale(old, exponent)) {
  }
}

void Memory::populateOnChip() {
  // Memories of real machines; of larger ones a program may use a small part.
  constexpr uint64_t most = uint64_t(32) << 20;
  uint64_t bytes = 0;
  for (HostBlock *block : onChip())
    bytes += block->size();
  if (bytes > most)
    return;
  for (HostBlock *block : onChip())
    support::populate(block->data(), block->size());
}

void Memory::clearOnChip() {
  for (HostBlock *block : onChip())
    std::memset(block->data(), 0, block->size());
}
