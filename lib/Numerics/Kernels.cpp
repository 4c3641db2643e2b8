// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Run-time choice of the kernel table, scratch storage, and the floating-point
// environment.

#include "Internal.h"

#include "llvm/ADT/SmallVector.h"

#include <new>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

using namespace llvm;

namespace ashlar::numerics {

/// First 64-byte boundary in a buffer with 63 bytes to spare.
static uint8_t *alignUp(uint8_t *pointer) {
  auto address = reinterpret_cast<uintptr_t>(pointer);
  return pointer + ((64 - address % 64) % 64);
}

void PackedBuffer::reserve(size_t newSize) {
  if (newSize > capacity || !storage) {
    storage.reset(new uint8_t[newSize + 64]);
    capacity = newSize;
  }
  size = newSize;
  bytes = alignUp(storage.get());
}

static size_t bytesOf(OperandWidth width) {
  return width == OperandWidth::Int16 ? 2 : 4;
}

void startMovingPlain(size_t rows, size_t steps, OperandWidth width,
                      PackedMoving &out) {
  out.rows = rows;
  out.steps = steps;
  out.width = width;
  out.inBlocks = false;
  out.reserve(rows * steps * bytesOf(width));
}

void packMovingPlain(const IntegerMatrix &values, const MovingRange &range,
                     PackedMoving &out) {
  const size_t bytes = bytesOf(values.width);
  const auto *from = static_cast<const uint8_t *>(values.data);
  for (size_t i = 0; i < range.rows; ++i)
    __builtin_memcpy(out.bytes +
                         ((range.row + i) * out.steps + range.first) * bytes,
                     from + i * values.pitch * bytes, range.steps * bytes);
}

IntegerMatrix plainSteps(const PackedMoving &moving, size_t first) {
  return {moving.width, moving.bytes + first * bytesOf(moving.width),
          moving.steps};
}

uint8_t *gemmScratch(size_t size) {
  thread_local PackedBuffer scratch;
  scratch.reserve(size);
  return scratch.bytes;
}

PackedStationary &widenedSet() {
  thread_local PackedStationary set;
  return set;
}

PackedBuffer &widenedValues() {
  thread_local PackedBuffer values;
  return values;
}

#if defined(__x86_64__)
/// AMX needs the CPU bits and the kernel's permission to use the tile state,
/// which a process requests once.
static bool tilesUsable() {
  unsigned a, b, c, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
    return false;
  constexpr unsigned tileBit = 1u << 24, int8Bit = 1u << 25;
  if (!(d & tileBit) || !(d & int8Bit))
    return false;
#if defined(__linux__) && defined(SYS_arch_prctl)
  constexpr long requestPermission = 0x1023, tileData = 18;
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
#else
  return false;
#endif
}
#endif

static SmallVector<const KernelTable *, 6> detect() {
  SmallVector<const KernelTable *, 6> tables{&scalarTable};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2"))
    tables.push_back(&avx2Table);
  bool avx512 =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx512)
    tables.push_back(&avx512Table);
  const bool vnni = avx512 && __builtin_cpu_supports("avx512vnni");
  if (vnni)
    tables.push_back(&avx512VnniTable);
  if (vnni && tilesUsable())
    tables.push_back(&amxTable);
#endif
  return tables;
}

ArrayRef<const KernelTable *> availableKernels() {
  static const SmallVector<const KernelTable *, 6> tables = detect();
  return tables;
}

const KernelTable &bestKernels() { return *availableKernels().back(); }

const KernelTable *kernelsByName(StringRef name) {
  for (const KernelTable *table : availableKernels())
    if (table->name == name)
      return table;
  return nullptr;
}

std::string kernelNames() {
  std::string names;
  for (const KernelTable *table : availableKernels())
    names += table->name.str() + ", ";
  return names + "best (" + bestKernels().name.str() + ")";
}

#if defined(__x86_64__)
// All exceptions masked, nearest even, no flush to zero, denormals kept.
static constexpr unsigned kDefaultControl = 0x1f80;

FloatEnvironment::FloatEnvironment() : saved(_mm_getcsr()) {
  _mm_setcsr(kDefaultControl);
}
FloatEnvironment::~FloatEnvironment() { _mm_setcsr(saved); }
#else
FloatEnvironment::FloatEnvironment() : saved(0) {}
FloatEnvironment::~FloatEnvironment() = default;
#endif

} // namespace ashlar::numerics
