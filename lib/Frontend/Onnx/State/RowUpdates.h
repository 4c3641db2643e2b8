// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values that are another one with new rows at a position known at run time.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_STATE_ROWUPDATES_H
#define ASHLAR_LIB_FRONTEND_ONNX_STATE_ROWUPDATES_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include <cstdint>

namespace ashlar::frontend {

/// `past` with `rows` at indices `position` and on of `axis`; the position is
/// an i64 of one element, and all rows lie inside.
struct RowUpdate {
  mlir::Value past, rows, position;
  int64_t axis = 0;
};

/// By the value that is updated.
using RowUpdates = llvm::DenseMap<mlir::Value, RowUpdate>;

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_STATE_ROWUPDATES_H
