// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The last channel tile of a map in parts, as code generation emits it
// (EmitMap.cpp) and predictors count it.

#include "ashlar/Analysis/Cost/TailParts.h"

#include "ashlar/Analysis/Cost/MovementQueues.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

namespace ashlar::analysis {
namespace {

/// Lengths that a block of an instruction's result may have.
constexpr int64_t kBlocks[] = {8, 16, 32, 64};

/// Bytes from one position to the next where all axes but that of the channels
/// lie in a partition without gaps.
std::optional<int64_t> denseStep(const View &view) {
  std::optional<int64_t> step;
  int64_t next = 0;
  for (int64_t i = view.rank() - 1; i >= 0; --i) {
    if (i == view.axis || view.shape[i] == 1)
      continue;
    if (step && view.strides[i] != next)
      return std::nullopt;
    if (!step)
      step = view.strides[i];
    next = view.strides[i] * view.shape[i];
  }
  return step;
}

/// True if the parts of a view can lie in the partitions after its channels.
/// The channels from \p first on have whole blocks: one that begins in the tile
/// before is a maximum over both.
bool mayPart(const View &view, const View &result, int64_t first) {
  return view.inStateBuffer() && view.axis == result.axis && view.outer < 0 &&
         view.part == 0 && view.shape == result.shape && denseStep(view) &&
         (!view.type.encoded ||
          (view.type.format.block > 0 && view.type.blockAxis == view.axis &&
           first % view.type.format.block == 0));
}

/// Bytes of a partition between the first element of a view and its end.
int64_t spanOf(const View &view, const machine::Description &machine) {
  const auto partitions = static_cast<int64_t>(machine.sb.partitions);
  const int64_t tiles = llvm::divideCeilSigned(view.channels(), partitions);
  int64_t span = view.type.bytes() + (tiles - 1) * view.tileStride;
  for (int64_t i = 0; i < view.rank(); ++i)
    if (!view.isAcross(i))
      span += (view.shape[i] - 1) * view.strides[i];
  return span;
}

/// True if the parts of two views would lie in the same bytes. A result may
/// take the place of an operand, position by position.
bool partsCollide(const View &a, const View &b, bool isResult,
                  const machine::Description &machine) {
  const bool overlaps = a.base < b.base + spanOf(b, machine) &&
                        b.base < a.base + spanOf(a, machine);
  return overlaps && !(isResult ? a.base == b.base : isSamePlace(a, b));
}

bool anyCollide(llvm::ArrayRef<View> operands, const View &result,
                const machine::Description &machine) {
  for (auto [i, view] : llvm::enumerate(operands)) {
    if (partsCollide(view, result, /*isResult=*/true, machine))
      return true;
    for (const View &other : operands.take_front(i))
      if (partsCollide(view, other, /*isResult=*/false, machine))
        return true;
  }
  return false;
}

/// Cycles of copying the channels of all parts but the first, which takes one
/// descriptor, or one for each queue, and another for exponent cells.
int64_t partCopies(const View &view, const TailParts &tail,
                   const machine::Description &machine) {
  auto cyclesOf = [&](int64_t partitions, int64_t elementBytes) {
    const int64_t runs = partitions * (tail.parts - 1);
    const int64_t bytes = runs * tail.count * elementBytes;
    const int64_t queues =
        mayShareQueues(machine, bytes, runs)
            ? std::min(movementQueues(machine), tail.parts - 1)
            : 1;
    return static_cast<int64_t>(machine::dmaInside(
        machine, static_cast<uint64_t>(llvm::divideCeilSigned(bytes, queues)),
        static_cast<uint64_t>(llvm::divideCeilSigned(runs, queues))));
  };
  const int64_t elements = cyclesOf(tail.channels, view.type.bytes());
  if (!view.type.encoded)
    return elements;
  const auto group = static_cast<int64_t>(machine.xmGroup);
  return elements + cyclesOf(llvm::divideCeilSigned(tail.channels, group), 1);
}

/// The channels of a block of the result in a part, and the partitions from one
/// part to the next. False if the parts cannot have blocks of their own.
bool setBlocks(llvm::ArrayRef<View> operands, const View &result, bool mayClear,
               const machine::Description &machine, TailParts &tail) {
  const auto group = static_cast<int64_t>(machine.xmGroup);
  tail.pitch = tail.channels;
  const bool encodes = result.type.encoded;
  const bool decodes =
      llvm::any_of(operands, [](const View &x) { return x.type.encoded; });
  // A block that the channels do not fill has no others in a part either.
  if (encodes) {
    tail.block = result.type.format.block;
    for (int64_t block : kBlocks)
      if (block % group == 0 && tail.channels <= block && block < tail.block)
        tail.block = block;
    tail.pitch = llvm::alignTo(tail.channels, tail.block);
  }
  tail.between = tail.pitch - tail.channels;
  // Cells of an operand belong to whole groups of partitions.
  return decodes ? tail.channels % group == 0 && tail.between == 0
                 : tail.between == 0 || (mayClear && operands.size() == 1);
}

} // namespace

bool keepsZeros(llvm::StringRef function) {
  return function == "copy" || function == "neg" || function == "abs" ||
         function == "relu";
}

bool isSamePlace(const View &a, const View &b) {
  return a.base == b.base && a.axis == b.axis && a.shape == b.shape &&
         a.strides == b.strides && a.tileStride == b.tileStride;
}

View positionsOf(const View &view, int64_t first, int64_t count, int64_t part) {
  View line = view;
  const int64_t step = denseStep(view).value_or(0);
  const int64_t last =
      view.axis == view.rank() - 1 ? view.rank() - 2 : view.rank() - 1;
  for (int64_t i = 0; i < line.rank(); ++i)
    if (i != view.axis)
      line.shape[i] = i == last ? count : 1;
  line.strides[last] = step;
  line.base += first * step;
  line.part = part;
  return line;
}

/// A view of `parts` parts of `channels` channels and `count` positions each.
static View partsOf(const View &view, const TailParts &tail, int64_t parts,
                    int64_t channels) {
  View all = positionsOf(view, 0, tail.count, 0);
  const int64_t step = denseStep(view).value_or(0);
  all.shape = {parts, channels, tail.count};
  all.strides = {step * tail.count, 0, step};
  all.axis = 1;
  all.type.blockAxis = all.type.encoded ? 1 : all.type.blockAxis;
  return all;
}

View partsAtHome(const View &view, const TailParts &tail) {
  View home = partsOf(view, tail, tail.parts - 1, tail.channels);
  home.base += home.strides[0];
  return home;
}

View partsBeside(const View &view, const TailParts &tail) {
  View beside = partsOf(view, tail, tail.parts - 1, tail.channels);
  beside.part = tail.pitch;
  beside.outer = 0, beside.outerStep = tail.pitch;
  return beside;
}

View betweenParts(const View &view, const TailParts &tail) {
  View between = partsOf(view, tail, tail.parts - 1, tail.between);
  between.part = tail.channels;
  between.outer = 0, between.outerStep = tail.pitch;
  return between;
}

std::optional<TailParts> tailParts(llvm::ArrayRef<View> operands,
                                   const View &result, machine::VecCost cost,
                                   machine::VecStore store, bool mayClear,
                                   const machine::Description &machine) {
  const auto partitions = static_cast<int64_t>(machine.sb.partitions);
  TailParts tail;
  tail.channels = result.channels() % partitions;
  tail.first = result.channels() - tail.channels;
  tail.positions = Region::whole(result.shape).elements() /
                   std::max<int64_t>(result.channels(), 1);
  if (result.rank() < 2 || result.axis < 0 || tail.channels == 0 ||
      !mayPart(result, result, tail.first) ||
      !llvm::all_of(
          operands,
          [&](const View &view) {
            return mayPart(view, result, tail.first);
          }) ||
      anyCollide(operands, result, machine) ||
      !setBlocks(operands, result, mayClear, machine, tail))
    return std::nullopt;
  // Nothing has to lie after the channels of the last part.
  tail.parts =
      std::min((partitions - tail.channels) / tail.pitch + 1, tail.positions);
  if (tail.parts < 2)
    return std::nullopt;
  tail.count = tail.positions / tail.parts;
  auto cyclesOf = [&](int64_t channels, int64_t positions) {
    return static_cast<int64_t>(
        machine::vecMap(machine, cost, store, static_cast<uint64_t>(channels),
                        static_cast<uint64_t>(positions))
            .issue);
  };
  const int64_t saved = cyclesOf(tail.channels, tail.parts * tail.count) -
                        cyclesOf(tail.across(), tail.count);
  // Operands are copied while the vector unit works on the tiles before.
  int64_t copied = 0;
  for (auto [i, view] : llvm::enumerate(operands))
    if (llvm::none_of(operands.take_front(i), [&](const View &other) {
          return isSamePlace(view, other);
        }))
      copied += partCopies(view, tail, machine);
  copied = std::max<int64_t>(copied - cyclesOf(tail.first, tail.positions), 0) +
           partCopies(result, tail, machine);
  const auto latencies =
      static_cast<int64_t>(2 * machine.dma.onchipLatency + machine.vec.latency);
  tail.saved = saved, tail.copies = copied + latencies;
  if (tail.saved <= tail.copies)
    return std::nullopt;
  return tail;
}

} // namespace ashlar::analysis
