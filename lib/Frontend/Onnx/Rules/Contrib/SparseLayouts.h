// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layouts of SparseAttention: which blocks of keys are read.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_RULES_CONTRIB_SPARSELAYOUTS_H
#define ASHLAR_LIB_FRONTEND_ONNX_RULES_CONTRIB_SPARSELAYOUTS_H

#include "lib/Frontend/Onnx/Node.h"

namespace ashlar::frontend {

/// Which blocks of keys the blocks of queries read, for every layout.
struct Layouts {
  int64_t count = 0, blocks = 0, size = 0;
  SmallVector<int64_t> flags; ///< [layouts, blocks of queries, of keys].
};

/// From operands 5 and 6, the rows and columns that are not 0, which must be
/// constant.
std::optional<Layouts> readLayouts(Node &n);

/// Terms [batch, heads, length, keys] that exclude keys of other blocks for
/// queries at \p positions [batch, length]; heads take the layouts in turn.
Value blockTerms(Node &n, const Layouts &l, Value positions, int64_t heads,
                 int64_t keys, Type element);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_RULES_CONTRIB_SPARSELAYOUTS_H
