// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layouts of blocks, to a table with a row for each block of queries.

#include "SparseLayouts.h"

#include "../Attention/Unread.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

/// Reads block layouts in CSR form. Padding follows the columns of the last
/// row.
std::optional<Layouts> ashlar::frontend::readLayouts(Node &n) {
  auto rows = n.constantIntegers(5, "block_row_indices");
  auto columns = n.constantIntegers(6, "block_col_indices");
  Layouts l;
  l.size = n.getInt("sparse_block_size", 0);
  if (n.failed() || !rows || !columns)
    return std::nullopt;
  const ShapeRef shape = shapeOf(n.input(5)), other = shapeOf(n.input(6));
  bool fit = shape.size() == 2 && other.size() == 2 && shape[0] == other[0] &&
             shape[0] > 0 && shape[1] > 1 && shape[1] <= (1 << 12) &&
             l.size > 0 && l.size <= (1 << 20);
  if (fit) {
    l.count = shape[0];
    l.blocks = shape[1] - 1;
    l.flags.assign(l.count * l.blocks * l.blocks, 0);
  }
  for (int64_t k = 0; fit && k < l.count * l.blocks; ++k) {
    const int64_t layout = k / l.blocks, row = k % l.blocks,
                  *bounds = rows->data() + layout * (l.blocks + 1) + row;
    fit = bounds[0] >= 0 && bounds[0] <= bounds[1] && bounds[1] <= other[1];
    for (int64_t i = bounds[0]; fit && i < bounds[1]; ++i) {
      const int64_t column = (*columns)[layout * other[1] + i];
      fit = column >= 0 && column < l.blocks;
      if (fit)
        l.flags[k * l.blocks + column] = 1;
    }
  }
  if (fit)
    return l;
  n.malformed(
      "block_row_indices {} and block_col_indices {} do not name blocks "
      "of {} keys",
      typeText(n.input(5)), typeText(n.input(6)), l.size);
  return std::nullopt;
}

Value ashlar::frontend::blockTerms(Node &n, const Layouts &l, Value positions,
                                   int64_t heads, int64_t keys, Type element) {
  if (!positions)
    return nullptr;
  const int64_t batch = shapeOf(positions)[0], length = shapeOf(positions)[1];
  const Type narrow = mlir::IntegerType::get(n.context(), 32);
  SmallVector<int64_t> blockOf, layoutOf;
  for (int64_t key = 0; key < keys; ++key)
    blockOf.push_back(key / l.size);
  for (int64_t head = 0; head < heads; ++head)
    layoutOf.push_back(head % l.count);
  Value table = n.transpose(
      n.integers(l.flags, {l.count, l.blocks, l.blocks}, narrow), {1, 0, 2});
  table = n.reshape(n.gather(table, 2, blockOf), {l.blocks, l.count * keys});
  Value own =
      n.binary<DivOp>(positions, n.integers(l.size, {}, elementOf(positions)));
  Value rows = n.takeAt(table, n.reshape(own, {batch * length, 1}), 0);
  rows = n.transpose(n.reshape(rows, {batch, length, l.count, keys}),
                     {0, 2, 1, 3});
  Value kept = n.compare(CompareKind::Greater, n.gather(rows, 1, layoutOf),
                         n.integers(0, {}, narrow));
  return n.where(kept, n.splat(0, element), n.splat(kExcluded, element));
}
