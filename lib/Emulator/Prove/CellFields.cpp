// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fields of copies that compress and expand cells.

#include "FieldRules.h"
#include "ashlar/Partition/Compress.h"

using namespace ashlar;
using namespace ashlar::emulator;
using machine::Description;

Result emulator::checkFormat(const char *what, isa::ElemType type,
                             unsigned mantissa) {
  const bool hasSigns = type != isa::ElemType::Ubfp;
  const unsigned least = hasSigns ? 3 : 4, most = hasSigns ? 16 : 9;
  if (isa::isBlock(type) && (mantissa < least || mantissa > most))
    return bad("{} mantissa is {}, expected {} to {} bits", what, mantissa,
               least, most);
  return std::nullopt;
}

/// Cells of dma.compress and dma.expand: in DRAM one after the other or apart.
template <typename Op>
static Result checkPlaces(const Op &op, const isa::LinearOperand &cells) {
  constexpr uint64_t limit = uint64_t(1) << 24;
  const uint64_t rows = uint64_t(op.n2) * op.n3;
  if (rows > limit || rows * op.n4 > limit)
    return bad("cells of {} x {} elements, at most {} together", rows, op.n4,
               limit);
  if (op.typicalBytes > op.cellBytes)
    return bad("cells of typically {} bytes have room for {}", op.typicalBytes,
               op.cellBytes);
  if (!isInjective(cells.loops, cells.bytes))
    return bad("the strides of the cells let them overlap");
  return std::nullopt;
}

Result emulator::checkCells(const isa::DmaCompress &op,
                            const Description &machine) {
  if (Result finding = checkQueue(op, machine))
    return finding;
  if (op.levels && op.form != isa::MapForm::Quadtree)
    return bad("{} levels of form {}", op.levels, isa::name(op.form).str());
  if (Result finding = checkPlaces(op, operandDst(op)))
    return finding;
  const uint64_t largest = partition::largestBytes(
      static_cast<partition::Format>(op.form), op.levels,
      int64_t(op.n2) * op.n3, op.n4, op.elemBytes);
  if (op.cellBytes < largest)
    return bad("cells of up to {} bytes have room for {}", largest,
               op.cellBytes);
  return std::nullopt;
}

Result emulator::checkCells(const isa::DmaExpand &op,
                            const Description &machine) {
  if (op.cellBytes < partition::kHeaderBytes)
    return bad("cells of {} bytes, their header has {}", op.cellBytes,
               partition::kHeaderBytes);
  if (Result finding = checkPlaces(op, operandSrc(op)))
    return finding;
  return checkDma(op, machine);
}
