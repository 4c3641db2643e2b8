// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Boxes of results, which no two drains of a channel share: so the elements
// that they fill add up to those of a tile once nothing of it is missing.

#include "KeptPixels.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::emulator;
using Result = std::optional<Finding>;

static Finding keptFault(const isa::DmaTile &op, FaultKind kind,
                         std::string what) {
  return {kind, std::move(what), "fmu", op.set};
}

Result KeptPixels::checkFields(const isa::ActDrain &op) const {
  const isa::DmaTile &load = opened.op;
  auto refuse = [&](std::string what) {
    return keptFault(load, FaultKind::BadField, std::move(what));
  };
  if (op.n0 != load.inN || op.n1 != load.inH || op.n2 != load.inW)
    return refuse(fmt::format("results of {}x{}x{} for an operand of {}x{}x{}",
                              op.n0, op.n1, op.n2, load.inN, load.inH,
                              load.inW));
  if (op.dstType != load.type || op.dstMantissa != load.mantissa)
    return refuse("results of another type than the tiles that were opened");
  if (op.slot + uint64_t(op.cols) > opened.channels())
    return refuse(fmt::format("channels [{}..{}), the tiles have {}", op.slot,
                              op.slot + op.cols, opened.channels()));
  if (isa::isBlock(op.dstType) &&
      (op.slot % load.block != 0 || op.dstBlock % load.block != 0))
    return refuse(fmt::format("blocks of {} results from channel {} on, the "
                              "tiles have a plane of cells for {} channels",
                              op.dstBlock, op.slot, load.block));
  return std::nullopt;
}

static bool meet(const isa::MapBox &a, const isa::MapBox &b) {
  return a.n < b.n + b.images && b.n < a.n + a.images && a.y < b.y + b.rows &&
         b.y < a.y + a.rows && a.x < b.x + b.cols && b.x < a.x + a.cols;
}

Result KeptPixels::add(const isa::ActDrain &op,
                       llvm::ArrayRef<isa::MapBox> boxes, ProofWork &work) {
  if (Result finding = checkFields(op))
    return finding;
  Piece piece{op.slot, op.slot + uint64_t(op.cols), {}};
  auto twice = [&] {
    return keptFault(
        opened.op, FaultKind::BadField,
        fmt::format("results of channels [{}..{}) are drained into "
                    "their tiles twice",
                    piece.first, piece.end));
  };
  for (const isa::MapBox &box : boxes) {
    if (llvm::any_of(piece.boxes,
                     [&](const auto &other) { return meet(box, other); }))
      return twice();
    piece.boxes.push_back(box);
  }
  if (!work.spend(boxes.size() * boxes.size()))
    return std::nullopt;
  for (const Piece &other : pieces) {
    if (other.end <= piece.first || piece.end <= other.first)
      continue;
    if (!work.spend(2 * boxes.size() * other.boxes.size()))
      return std::nullopt;
    for (const isa::MapBox &box : boxes)
      if (llvm::any_of(other.boxes,
                       [&](const auto &old) { return meet(box, old); }))
        return twice();
  }
  pieces.push_back(std::move(piece));
  isComplete = false;
  return std::nullopt;
}

/// The channels of one unit, between the places where drains begin and end.
Result KeptPixels::checkUnit(const TileEntry &entry,
                             llvm::ArrayRef<uint64_t> cuts,
                             ProofWork &work) const {
  const machine::TileGeometry geometry = isa::geometryOf(opened.op);
  const uint64_t needed =
      keptElements(opened.op, geometry, entry, operandBox(opened.op));
  const uint64_t begin = uint64_t(entry.group) * opened.op.groupStep;
  const uint64_t end = begin + opened.op.channels;
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    const uint64_t first = std::max(cuts[i], begin);
    if (first >= std::min(cuts[i + 1], end))
      continue;
    uint64_t filled = 0;
    for (const Piece &piece : pieces) {
      if (piece.first > first || first >= piece.end)
        continue;
      if (!work.spend(32 * piece.boxes.size()))
        return std::nullopt;
      for (const isa::MapBox &box : piece.boxes)
        filled += keptElements(opened.op, geometry, entry, box);
    }
    if (filled != needed)
      return keptFault(
          opened.op, FaultKind::UndefinedRead,
          fmt::format("a tile of set {} has {} of {} pixels of channel "
                      "{}: the others were not drained",
                      opened.op.set, filled, needed, first));
  }
  return std::nullopt;
}

Result KeptPixels::complete(ProofWork &work) {
  if (isComplete)
    return std::nullopt;
  std::vector<uint64_t> cuts{0, opened.channels()};
  for (const Piece &piece : pieces) {
    cuts.push_back(piece.first);
    cuts.push_back(piece.end);
  }
  llvm::sort(cuts);
  cuts.erase(llvm::unique(cuts), cuts.end());
  if (!work.spend(cuts.size() * (opened.tiles.size() + pieces.size())))
    return std::nullopt;
  for (const TileEntry &entry : opened.tiles)
    if (!entry.idle())
      if (Result finding = checkUnit(entry, cuts, work))
        return finding;
  isComplete = true;
  return std::nullopt;
}
