// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes of identity windows as far as constants and fills decide them.

#include "../State/TensorView.h"
#include "../State/Words.h"
#include "WordChecks.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::Access;
using isa::Space;

/// Copies and fills of more elements than this are not followed; what they
/// write is checked when it is used.
static constexpr uint64_t maxElements = uint64_t(1) << 20;

/// Windows that are followed, and their bytes: programs share one identity.
static constexpr size_t maxWindows = 64;
static constexpr uint64_t maxBytes = uint64_t(1) << 22;

/// The box of bytes that the moving operand lies in.
WindowContents::Window WindowContents::windowOf(const isa::PeMatmul &op) {
  const Pattern pattern{{op.n0, op.n1, op.n2},
                        {op.stride0, op.stride1, op.stride2}};
  const int64_t begin = op.offset + pattern.minOffset();
  const int64_t end = op.offset + pattern.maxOffset() +
                      static_cast<int64_t>(storedBytes(op.type, op.mantissa));
  Window window{op.part,
                op.rows,
                static_cast<uint64_t>(begin),
                static_cast<uint64_t>(end),
                {}};
  return window;
}

void WindowContents::collect(llvm::ArrayRef<isa::Instruction> code) {
  uint64_t total = 0;
  for (const isa::Instruction &inst : code) {
    const auto *op = std::get_if<isa::PeMatmul>(&inst);
    // Windows that cannot be are refused when their instruction is reached.
    if (!op || op->window != isa::Window::Identity || checkWindow(*op))
      continue;
    Window window = windowOf(*op);
    if (static_cast<int64_t>(window.begin) < 0 || window.end <= window.begin ||
        window.end - window.begin > maxElements)
      continue;
    // `bytes` are equal if the places are: nothing is known yet.
    const uint64_t bytes = window.rows * (window.end - window.begin);
    auto samePlace = [&](const Window &other) { return isAt(other, window); };
    if (windows.size() == maxWindows || bytes > maxBytes - total ||
        llvm::any_of(windows, samePlace))
      continue;
    total += bytes;
    window.bytes.assign(bytes, -1);
    windows.push_back(std::move(window));
  }
}

bool WindowContents::touches(const Window &window,
                             llvm::ArrayRef<Access> accesses) const {
  return llvm::any_of(accesses, [&](const Access &access) {
    return access.write && access.space == Space::Sb &&
           access.partBegin < window.part + window.rows &&
           window.part < access.partEnd &&
           access.begin < static_cast<int64_t>(window.end) &&
           static_cast<int64_t>(window.begin) < access.end;
  });
}

/// Nothing is known of what the boxes of the writes cover.
void WindowContents::forget(Window &window,
                            llvm::ArrayRef<Access> accesses) const {
  const uint64_t width = window.end - window.begin;
  for (const Access &access : accesses) {
    if (!touches(window, access))
      continue;
    const uint64_t p0 = std::max<uint64_t>(access.partBegin, window.part);
    const uint64_t p1 =
        std::min<uint64_t>(access.partEnd, window.part + window.rows);
    const uint64_t b0 = std::max<int64_t>(access.begin, window.begin);
    const uint64_t b1 = std::min<int64_t>(access.end, window.end);
    for (uint64_t p = p0; p < p1; ++p)
      std::fill_n(window.bytes.begin() +
                      ((p - window.part) * width + b0 - window.begin),
                  b1 - b0, int16_t(-1));
  }
}

void WindowContents::put(uint64_t address, llvm::ArrayRef<uint8_t> bytes) {
  const uint64_t partition = address / pitch, offset = address % pitch;
  for (Window &window : windows) {
    if (partition < window.part || partition >= window.part + window.rows)
      continue;
    for (uint64_t i = 0; i < bytes.size(); ++i)
      if (offset + i >= window.begin && offset + i < window.end)
        window.bytes[(partition - window.part) * (window.end - window.begin) +
                     offset + i - window.begin] = bytes[i];
  }
}

/// Calls fn(source address, destination address) for every element.
template <typename Fn>
static void forElements(llvm::ArrayRef<uint64_t> counts,
                        llvm::ArrayRef<int64_t> src,
                        llvm::ArrayRef<int64_t> dst, Fn fn) {
  uint64_t total = 1;
  for (uint64_t count : counts)
    total *= count;
  for (uint64_t k = 0; k < total; ++k) {
    int64_t from = 0, to = 0;
    uint64_t rest = k;
    for (size_t d = counts.size(); d-- > 0; rest /= counts[d]) {
      from += static_cast<int64_t>(rest % counts[d]) * src[d];
      to += static_cast<int64_t>(rest % counts[d]) * dst[d];
    }
    fn(from, to);
  }
}

void WindowContents::copy(const isa::DmaCopy &op,
                          const container::Program &program) {
  if (op.srcMem != isa::Memory::Dram)
    return;
  const isa::LinearOperand source = operandSrc(op), result = operandDst(op);
  const container::Segment *segment = nullptr;
  forElements(source.counts(), source.strides(), result.strides(),
              [&](int64_t from, int64_t to) {
                const uint64_t at = op.srcBase + static_cast<uint64_t>(from);
                auto holds = [&](const container::Segment &s) {
                  return at >= s.dramOffset &&
                         at + op.elemBytes <= s.dramOffset + s.bytes.size();
                };
                if (!segment || !holds(*segment)) {
                  // The last one that begins no later.
                  const auto after = llvm::upper_bound(
                      program.constants, at,
                      [](uint64_t place, const container::Segment &s) {
                        return place < s.dramOffset;
                      });
                  segment = after != program.constants.begin() &&
                                    holds(*std::prev(after))
                                ? &*std::prev(after)
                                : nullptr;
                }
                if (segment)
                  put(op.dstBase + static_cast<uint64_t>(to),
                      llvm::ArrayRef(segment->bytes)
                          .slice(at - segment->dramOffset, op.elemBytes));
              });
}

void WindowContents::fill(const isa::DmaFill &op) {
  const isa::LinearOperand result = operandDst(op);
  uint8_t bytes[8];
  for (unsigned i = 0; i < 8; ++i)
    bytes[i] = static_cast<uint8_t>(op.value >> (8 * i));
  forElements(result.counts(), result.strides(), result.strides(),
              [&](int64_t, int64_t to) {
                put(op.dstBase + static_cast<uint64_t>(to),
                    llvm::ArrayRef(bytes).take_front(op.elemBytes));
              });
}

void WindowContents::step(const isa::Instruction &inst,
                          llvm::ArrayRef<Access> accesses,
                          const container::Program &program, ProofWork &work) {
  pitch = program.machine.sb.bytesPerPartition;
  bool touched = false;
  for (Window &window : windows)
    if (touches(window, accesses)) {
      forget(window, accesses);
      touched = true;
    }
  work.spend(windows.size() * accesses.size());
  if (!touched)
    return;
  auto small = [&](const auto &op) {
    uint64_t total = 1;
    for (uint64_t count : {op.n0, op.n1, op.n2, op.n3, op.n4})
      total = std::min<uint64_t>(total * count, maxElements + 1);
    return total <= maxElements && work.spend(total * (8 + windows.size()));
  };
  if (const auto *op = std::get_if<isa::DmaCopy>(&inst); op && small(*op))
    copy(*op, program);
  if (const auto *op = std::get_if<isa::DmaFill>(&inst); op && small(*op))
    fill(*op);
}

std::optional<Finding> WindowContents::check(const isa::PeMatmul &op) const {
  if (op.window != isa::Window::Identity)
    return std::nullopt;
  Window key = windowOf(op);
  const auto window =
      llvm::find_if(windows, [&](const Window &w) { return isAt(w, key); });
  if (window == windows.end())
    return std::nullopt;
  const unsigned bytes = storedBytes(op.type, op.mantissa);
  const Pattern pattern{{op.n0, op.n1, op.n2},
                        {op.stride0, op.stride1, op.stride2}};
  std::optional<Finding> found;
  pattern.forRuns(
      0, pattern.size(), [&](uint64_t step, int64_t at, uint64_t n) {
        for (uint64_t k = step; k < step + n; ++k, at += op.stride2)
          for (uint64_t i = 0; i < op.rows && !found; ++i) {
            const int16_t *element =
                &window
                     ->bytes[i * (key.end - key.begin) +
                             static_cast<uint64_t>(op.offset + at) - key.begin];
            const auto parts = llvm::ArrayRef(element, bytes);
            const bool known = !llvm::is_contained(parts, -1);
            const bool set =
                llvm::any_of(parts, [](int16_t b) { return b != 0; });
            if (known && set != (i == k))
              found = Finding{FaultKind::BadField, notAnIdentity(i, k, i == k)};
          }
      });
  return found;
}
