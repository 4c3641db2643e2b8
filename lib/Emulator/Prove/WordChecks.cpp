// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fields of word instructions, and the entries of PSUM that hold words.

#include "WordChecks.h"
#include "../State/Pattern.h"
#include "../State/TensorView.h"
#include "../State/Words.h"
#include "FieldRules.h"
#include "ashlar/Isa/ElementBytes.h"
#include <algorithm>
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::Access;
using isa::ElemType;
using isa::OperandMode;
using isa::Orientation;
using isa::Space;
using machine::Description;

//===- Fields -------------------------------------------------------------===//

static bool isFloat(ElemType type) {
  return type == ElemType::F32 || type == ElemType::F16 ||
         type == ElemType::Bf16;
}

/// Bytes of a tile of exponent cells along the free axis.
static int64_t tileBytes(ElemType type, unsigned mantissa,
                         const Description &machine) {
  return static_cast<int64_t>(machine.xmGroup * storedBytes(type, mantissa));
}

/// Whether elements of blocks along the free axis have whole elements' places.
static Result checkFree(const char *what, int64_t bytes, int64_t offset,
                        llvm::ArrayRef<int64_t> strides) {
  for (int64_t at : strides)
    if (at % bytes != 0 || offset % bytes != 0)
      return bad("{} has blocks along the free axis and offsets that are no "
                 "multiples of its {} bytes",
                 what, bytes);
  return std::nullopt;
}

template <typename Op>
static Result checkModeTypes(const Op &op) {
  if (op.mode == OperandMode::Float && !isFloat(op.type))
    return bad("mode float with elements of type {}, expected f16, bf16 or f32",
               isa::name(op.type).str());
  if (op.orientation == Orientation::F && !isa::isBlock(op.type))
    return bad("blocks along the free axis with elements of type {}",
               isa::name(op.type).str());
  return std::nullopt;
}

Result emulator::checkOrientation(const isa::PeLoad &op,
                                  const Description &machine) {
  if (Result finding = checkModeTypes(op))
    return finding;
  if (!isa::isBlock(op.type))
    return std::nullopt;
  const int64_t bytes = storedBytes(op.type, op.mantissa);
  if (op.orientation == Orientation::F)
    if (Result finding =
            checkFree("the operand", storedBytes(op.type, op.mantissa),
                      op.offset, {op.colStride}))
      return finding;
  if (op.mode != OperandMode::Select)
    return std::nullopt;
  // A transposed block must find its cells in one place again.
  if (op.orientation == Orientation::P && op.part % machine.xmGroup != 0)
    return bad("encoded words from partition {}, expected a multiple of {}",
               op.part, machine.xmGroup);
  if (op.orientation == Orientation::F &&
      (op.colStride != bytes ||
       op.offset % tileBytes(op.type, op.mantissa, machine) != 0))
    return bad("encoded words with blocks along the free axis at offset {} and "
               "stride {}, expected a multiple of {} and {}",
               op.offset, op.colStride,
               tileBytes(op.type, op.mantissa, machine), bytes);
  return std::nullopt;
}

Result emulator::checkOrientation(const isa::PeMatmul &op,
                                  const Description &) {
  if (Result finding = checkModeTypes(op))
    return finding;
  if (op.orientation == Orientation::P)
    return std::nullopt;
  if (op.groups > 1)
    return bad("{} row groups with blocks along the free axis", op.groups);
  return checkFree("the operand", storedBytes(op.type, op.mantissa), op.offset,
                   {op.stride0, op.stride1, op.stride2});
}

Result emulator::checkWindow(const isa::PeMatmul &op) {
  if (op.window != isa::Window::Identity)
    return std::nullopt;
  const uint64_t steps = uint64_t(op.n0) * op.n1 * op.n2;
  if (op.groups != 1 || steps != op.rows)
    return bad("an identity window of {} rows and {} steps", op.rows, steps);
  auto whole = [](int64_t lo, int64_t hi, uint64_t n) {
    return lo <= 0 && hi >= static_cast<int64_t>(n);
  };
  if (!whole(op.lo0, op.hi0, op.n0) || !whole(op.lo1, op.hi1, op.n1) ||
      !whole(op.lo2, op.hi2, op.n2))
    return bad("an identity window with steps that read nothing");
  return std::nullopt;
}

/// Encoded words that only move.
static Result checkMovedBlocks(const isa::ActDrain &op,
                               const Description &machine) {
  if (op.dstMantissa < 3 || op.dstMantissa > 16)
    return bad("result mantissa is {}, expected 3 to 16 bits", op.dstMantissa);
  if (op.dstOrientation == Orientation::P) {
    if (op.dstPart % machine.xmGroup != 0)
      return bad("encoded words to partition {}, expected a multiple of {}",
                 op.dstPart, machine.xmGroup);
    return std::nullopt;
  }
  const int64_t tile = tileBytes(op.dstType, op.dstMantissa, machine);
  const int64_t bytes = storedBytes(op.dstType, op.dstMantissa);
  if (op.dstOffset % tile != 0 || op.dstStride2 != bytes ||
      (op.n1 > 1 && op.dstStride1 % tile != 0) ||
      (op.n0 > 1 && op.dstStride0 % tile != 0))
    return bad("encoded words with blocks along the free axis: expected offset "
               "and outer strides in multiples of {} and stride2 of {}",
               tile, bytes);
  return std::nullopt;
}

Result emulator::checkBlocksAlong(const isa::ActDrain &op,
                                  const Description &machine) {
  if (op.dstOrientation != Orientation::F)
    return std::nullopt;
  if (!isa::isBlock(op.dstType) || op.typed || op.fromTcu ||
      op.mode == isa::DrainMode::Int)
    return bad("blocks along the free axis in a drain that neither moves "
               "encoded words nor encodes sums of the array");
  if (op.mode == isa::DrainMode::Raw64)
    return std::nullopt; // checkMovedBlocks
  const int64_t tile = tileBytes(op.dstType, op.dstMantissa, machine);
  const int64_t bytes = storedBytes(op.dstType, op.dstMantissa);
  if (op.n0 != 1 || op.n1 != 1 || op.dstStride2 != bytes ||
      op.dstOffset % tile != 0 || op.dstBlock == 0 ||
      op.dstBlock % machine.xmGroup != 0)
    return bad("a result with blocks along the free axis: expected one run of "
               "steps at a multiple of {}, stride2 of {} and blocks in "
               "multiples of {}",
               tile, bytes, machine.xmGroup);
  return std::nullopt;
}

Result emulator::checkWordDrain(const isa::ActDrain &op,
                                const Description &machine) {
  if (op.hasScale || op.hasBias || op.hasExp || op.alphaFromParam || op.resMode)
    return bad("a raw drain has no epilogue but, with a type, its function");
  if (op.fromTcu && (op.typed || isa::isBlock(op.dstType)))
    return bad("the sparse cluster has no words of a type");
  if (op.typed)
    return std::nullopt;
  if (op.function != isa::Function::Copy)
    return bad("a raw drain applies function {} to words without a type",
               isa::name(op.function).str());
  if (isa::isBlock(op.dstType))
    return checkMovedBlocks(op, machine);
  return std::nullopt;
}

//===- Entries ------------------------------------------------------------===//

void WordEntries::allocate(const Description &machine) {
  entries.assign(machine.psum.entries(), {});
}

void WordEntries::load(const isa::PeLoad &op, llvm::ArrayRef<Access> accesses) {
  shadow = {op.mode, op.type, op.mantissa, op.orientation, {}};
  if (!holdsWords(op.mode))
    return;
  for (const Access &access : accesses)
    if (access.space == Space::Sb)
      shadow.reads.push_back(access);
}

void WordEntries::swap() { active = shadow; }

/// Calls fn(entry) for every entry of the pattern until it gives true.
template <typename Op, typename Fn>
static void anyEntry(const Op &op, uint64_t n2, ProofWork &work, Fn fn) {
  // A shared source is counted for every entry.
  if (!work.spend(uint64_t(op.n0) * op.n1 * n2 * 8))
    return;
  Pattern pattern{{op.n0, op.n1, n2},
                  {op.psumStride0, op.psumStride1, op.psumStride2}};
  bool done = false;
  pattern.forRuns(0, pattern.size(), [&](uint64_t, int64_t at, uint64_t n) {
    for (uint64_t k = 0; k < n && !done; ++k, at += op.psumStride2)
      done = fn(op.psum + static_cast<uint64_t>(at));
  });
}

/// Sources told apart; beyond that a box stands for all of them.
static constexpr size_t mostSources = 512;

/// Words may only be added to words of the same kind.
Result WordEntries::accumulated(const isa::PeMatmul &op, Flow &flow) {
  const bool words = holdsWords(op.mode);
  const Flow *last = nullptr;
  Result found;
  anyEntry(op, op.groups > 1 ? op.validW : op.n2, work, [&](uint64_t e) {
    const Flow *old = entries[e].of(op.cols);
    if (words != (old != nullptr) ||
        (old && old->source.mode != flow.source.mode)) {
      found =
          bad("adds {} to entry {}, which holds {}", isa::name(op.mode).str(),
              e, old ? isa::name(old->source.mode).str() : "sums of integers");
      return true;
    }
    if (old && old != last) {
      flow.source.reads.append(old->source.reads);
      if (flow.source.reads.size() > 4 * mostSources)
        joinReads(flow.source.reads);
      if (!work.spend(64 * old->source.reads.size()))
        return true;
    }
    last = old;
    return false;
  });
  joinReads(flow.source.reads);
  return found;
}

void WordEntries::joinReads(llvm::SmallVectorImpl<Access> &reads) {
  // Entries of one stream mostly have one source.
  auto less = [](const Access &a, const Access &b) {
    return std::tie(a.base, a.partBegin) < std::tie(b.base, b.partBegin);
  };
  auto same = [](const Access &a, const Access &b) {
    return a.base == b.base && a.partBegin == b.partBegin &&
           a.partEnd == b.partEnd && a.end == b.end &&
           a.runLength == b.runLength && a.numDims == b.numDims &&
           std::equal(a.dims.begin(), a.dims.begin() + a.numDims,
                      b.dims.begin());
  };
  llvm::sort(reads, less);
  reads.erase(std::unique(reads.begin(), reads.end(), same), reads.end());
  if (reads.size() <= mostSources)
    return;
  Access box = reads.front();
  for (const Access &read : reads) {
    box.partBegin = std::min(box.partBegin, read.partBegin);
    box.partEnd = std::max(box.partEnd, read.partEnd);
    box.begin = std::min(box.begin, read.begin);
    box.end = std::max(box.end, read.end);
  }
  box.base = box.begin;
  box.runLength = static_cast<uint64_t>(box.end - box.begin);
  box.numDims = 0;
  reads.assign(1, box);
}

Result WordEntries::matmul(const isa::PeMatmul &op, llvm::ArrayRef<Access>) {
  const bool words = holdsWords(op.mode);
  anyWords |= words;
  if (!anyWords)
    return std::nullopt;
  Flow flow{active, op.window == isa::Window::Identity && !op.accumulate};
  if (op.accumulate)
    if (Result finding = accumulated(op, flow))
      return finding;
  const auto shared =
      words ? std::make_shared<const Flow>(std::move(flow)) : nullptr;
  anyEntry(op, op.groups > 1 ? op.validW : op.n2, work, [&](uint64_t e) {
    // Columns beyond those that are written keep their words.
    Entry &entry = entries[e];
    if (shared)
      entry = {shared, std::max(entry.columns, op.cols), 0};
    else if (op.cols >= entry.columns)
      entry = {};
    else
      entry.sums = std::max(entry.sums, op.cols);
    return false;
  });
  return std::nullopt;
}

Result WordEntries::drained(const isa::ActDrain &op, const Flow *flow,
                            llvm::ArrayRef<Access> accesses) const {
  const bool raw = op.mode == isa::DrainMode::Raw64;
  if (!flow) {
    if (raw && (op.typed || isa::isBlock(op.dstType)))
      return bad("drains sums of integers as words of a type");
    return std::nullopt;
  }
  if (!raw)
    return bad("drains words in mode {}", isa::name(op.mode).str());
  const Source &source = flow->source;
  const bool encoded = isa::isBlock(source.type);
  if (op.typed && encoded != (isa::isBlock(op.resType)))
    return bad("words of type {} drained as type {}",
               isa::name(source.type).str(), isa::name(op.resType).str());
  if (!op.typed && isa::isBlock(op.dstType) &&
      (!encoded || !flow->identity || source.mantissa != op.dstMantissa ||
       source.orientation == op.dstOrientation))
    return bad("blocks move whole: from encoded words of {} bits through an "
               "identity window to the other orientation",
               op.dstMantissa);
  uint64_t steps = 0;
  for (const Access &write : accesses)
    for (const Access &read : source.reads)
      if (write.write && write.space == Space::Sb &&
          isa::conflict(write, read, steps))
        return bad("the result overwrites what it is transposed from: {}, {}",
                   isa::describe(write), isa::describe(read));
  work.spend(steps);
  return std::nullopt;
}

Result WordEntries::drain(const isa::ActDrain &op,
                          llvm::ArrayRef<Access> accesses) {
  const bool asWords = op.mode == isa::DrainMode::Raw64 &&
                       (op.typed || isa::isBlock(op.dstType));
  if (op.fromTcu || (!anyWords && !asWords))
    return std::nullopt;
  Result found;
  bool first = true;
  const Flow *last = nullptr;
  anyEntry(op, op.n2, work, [&](uint64_t e) {
    const Flow *flow = entries[e].of(op.cols);
    if (first || flow != last)
      found = drained(op, flow, accesses);
    first = false;
    last = flow;
    return found.has_value();
  });
  return found;
}
