// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries of vectors that stand for shapes, of which data decide some.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_EXTENTS_SHAPEENTRIES_H
#define ASHLAR_LIB_FRONTEND_ONNX_EXTENTS_SHAPEENTRIES_H

#include "lib/Frontend/Onnx/Node.h"

namespace ashlar::frontend {

/// Entry \p i of a vector as one i64: the value that was put there, if what
/// builds the vector tells, so that equal entries are computed alike and
/// constant ones are constants.
Value entryOf(Node &n, Value vector, int64_t i);

/// One entry of a shape.
struct ShapeEntry {
  std::optional<int64_t> known;
  Value value; ///< One i64.
};

/// The entries of operand \p i, a vector of integers.
SmallVector<ShapeEntry> shapeEntries(Node &n, size_t i);

/// The extent that an entry of unknown value gives an axis; refused with both
/// remedies if the entry has no bound. \p capacity is the most that it can be.
Value extentOfEntry(Node &n, Value entry, int64_t &capacity);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_EXTENTS_SHAPEENTRIES_H
