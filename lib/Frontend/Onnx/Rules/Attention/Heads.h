// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What operators of attention share: heads and rotary positions.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_RULES_HEADS_H
#define ASHLAR_LIB_FRONTEND_ONNX_RULES_HEADS_H

#include "lib/Frontend/Onnx/Node.h"

namespace ashlar::frontend {

/// [batch, length, heads * size] as [batch, heads, length, size]; 4 dimensions
/// stay. An error names \p attribute, which gave the heads.
Value splitHeads(Node &n, Value x, int64_t heads, StringRef attribute);

/// Heads of keys or values [batch, groups, length, size] repeated for \p heads
/// of queries.
Value repeatHeads(Node &n, Value x, int64_t heads);

/// Rows of a table [rows, half] at positions [batch, length]; a table without
/// positions has them already.
Value tableRows(Node &n, Value table, Value positions, int64_t batch,
                int64_t length);

/// [batch, length, heads, size] with its first 2 * half elements turned by the
/// angles of which \p cosine and \p sine are [batch, length, 1, half]: pairs
/// are the two halves, or neighbours.
Value turnHeads(Node &n, Value x, Value cosine, Value sine, bool interleaved);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_RULES_HEADS_H
