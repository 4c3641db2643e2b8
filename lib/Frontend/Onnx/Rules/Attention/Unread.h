// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of an attention that no query reads, because a mask of -inf makes
// their weights zero: elements share exponents in block floating point, and
// what is multiplied by zero must not take bits from its neighbours.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_RULES_UNREAD_H
#define ASHLAR_LIB_FRONTEND_ONNX_RULES_UNREAD_H

#include "lib/Frontend/Onnx/Node.h"

#include <limits>

namespace ashlar::frontend {

/// What a mask adds to scores of keys that are not read.
inline constexpr double kExcluded = -std::numeric_limits<double>::infinity();

/// 1 for every key that some query may read and 0 for the others, of \p element
/// type; null if all may be read. \p mask is what is added to the scores,
/// [..., queries, keys]; the result is [..., keys, 1], with 1 for each of
/// \p shared, axes before these two whose entries read the same keys.
Value keysRead(Node &n, Value mask, ArrayRef<int64_t> shared, Type element);

/// The second operand of a product, zero where the first one is a softmax whose
/// masks leave no weight; itself otherwise.
Value withoutUnread(Node &n, Value weights, Value values);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_RULES_UNREAD_H
