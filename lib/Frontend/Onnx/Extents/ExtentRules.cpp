// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of rules, and what they share.

#include "ExtentRules.h"
#include "Carry.h"
#include "RunTimeShape.h"

#include "llvm/ADT/StringMap.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

/// Which indices of the axis are below the extent.
static Value insideExtent(Node &n, Value value, RunTimeExtent extent) {
  const int64_t rank = rankOf(value);
  return n.compare(CompareKind::Less,
                   n.iota(shapeOf(value)[extent.axis], extent.axis, rank,
                          mlir::IntegerType::get(n.context(), 64)),
                   n.reshape(extent.count, Shape(rank, 1)));
}

Value ashlar::frontend::withoutRest(Node &n, Value value, RunTimeExtent extent,
                                    Value fill) {
  if (!value || !fill)
    return nullptr;
  return n.where(insideExtent(n, value, extent), value, fill);
}

Value ashlar::frontend::withoutRest(Node &n, Value value, RunTimeExtent extent,
                                    double fill) {
  if (!value)
    return nullptr;
  // Zeros of booleans and integers need no choice.
  if (fill == 0 && elementOf(value).isInteger(1))
    return n.logical(LogicalKind::And, value, insideExtent(n, value, extent));
  if (fill == 0 && !isFloatElement(value))
    return n.binary<MulOp>(
        value, n.cast(insideExtent(n, value, extent), elementOf(value)));
  return withoutRest(n, value, extent,
                     n.splat(fill, elementOf(value), Shape(rankOf(value), 1)));
}

Value ashlar::frontend::countIndices(Node &n, Value indices) {
  if (!indices)
    return nullptr;
  // Reductions are not cut: long ones go row by row.
  constexpr int64_t kRow = 1024;
  const Type type = mlir::IntegerType::get(n.context(), 32);
  const int64_t length = elementCount(shapeOf(indices));
  Value found =
      n.compare(CompareKind::GreaterOrEqual, n.reshape(indices, length),
                n.integers(int64_t(0), {1}, elementOf(indices)));
  Value count = n.cast(found, type);
  while (count && shapeOf(count)[0] > kRow) {
    const int64_t rest = shapeOf(count)[0] % kRow;
    if (rest)
      count = n.pad(count, {0}, {kRow - rest}, PadMode::Constant, 0);
    if (!count)
      return nullptr;
    const int64_t rows = shapeOf(count)[0] / kRow;
    count = n.reduce(ReduceKind::Sum, n.reshape(count, {rows, kRow}), {1},
                     /*keepdims=*/false);
  }
  return n.cast(n.reduce(ReduceKind::Sum, count, {0}, /*keepdims=*/true),
                mlir::IntegerType::get(n.context(), 64));
}

namespace {

using Table = llvm::StringMap<ExtentRule>;

/// Element by element: the result has the broadcast extents.
void addElementwise(Table &table) {
  for (auto family : {elementwiseRows, unaryRows, trigonometryRows, bitRows})
    for (const OperatorRow &row : family())
      table[row.op] = {nullptr, nullptr, carryBroadcast};
  for (const char *op : {"Cast", "CastLike", "Clip", "Where", "Identity",
                         "Dropout", "IsNaN", "IsInf"})
    table[op] = {nullptr, nullptr, carryBroadcast};
}

Table makeTable() {
  Table table;
  addElementwise(table);
  table["Transpose"] = {nullptr, nullptr, carryTranspose};
  for (const char *op : {"Reshape", "Flatten"})
    table[op] = {nullptr, nullptr, carryReshape};
  table["Concat"] = {nullptr, joinExtents, nullptr};
  table["Expand"] = {nullptr, expandAtRunTime, nullptr};
  table["Squeeze"] = {nullptr, nullptr, carrySqueeze};
  table["Unsqueeze"] = {nullptr, nullptr, carryUnsqueeze};
  for (const char *op : {"Split", "LayerNormalization", "RMSNormalization"})
    table[op] = {nullptr, nullptr, carryOtherAxis};
  for (const char *op : {"Softmax", "LogSoftmax"})
    table[op] = {prepareSoftmax, nullptr, carrySame};
  for (const char *op : {"CumSum", "CumProd"})
    table[op] = {prepareCumulation, nullptr, carrySame};
  table["TopK"] = {prepareTopK, nullptr, carryTopK};
  for (const char *op :
       {"ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
        "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare",
        "ArgMax", "ArgMin"})
    table[op] = {prepareReduce, nullptr, carryReduce};
  table["ReduceMean"] = {prepareReduce, meanOfExtents, carryReduce};
  for (const char *op :
       {"Conv", "ConvTranspose", "BatchNormalization", "InstanceNormalization",
        "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "Gemm"})
    table[op] = {nullptr, nullptr, carryBatch};
  table["MatMul"] = {prepareMatMul, nullptr, carryMatMul};
  for (const char *op : {"Gather", "GatherElements", "GatherND"})
    table[op] = {prepareIndices, nullptr, carryIndices};
  for (const char *op : {"ScatterND", "ScatterElements"})
    table[op] = {prepareUpdates, nullptr, nullptr};
  table["RoiAlign"] = {prepareRegions, nullptr, carryRegions};
  table["NonMaxSuppression"] = {prepareSuppression, nullptr, nullptr};
  table["NonZero"] = {prepareZeros, nullptr, nullptr};
  table["Compress"] = {prepareCondition, nullptr, nullptr};
  table["Slice"] = {nullptr, nullptr, carrySlice};
  table["Shape"] = {nullptr, shapeOfExtents, nullptr};
  table["Size"] = {nullptr, sizeOfExtents, nullptr};
  return table;
}

} // namespace

const ExtentRule *ashlar::frontend::findExtentRule(StringRef op) {
  static const Table table = makeTable();
  auto found = table.find(op);
  return found == table.end() ? nullptr : &found->second;
}

void ashlar::frontend::runWithExtents(Node &n, Handler handler) {
  const ExtentRule *rule = nullptr;
  for (size_t i = 0; i < n.numInputs() && !rule; ++i) {
    std::optional<RunTimeExtent> extent = n.extentOf(i);
    if (!extent)
      continue;
    rule = findExtentRule(n.op());
    if (!rule) {
      n.unsupported("input {} has a data-dependent extent on axis {} (at most "
                    "{}), which {} does not support",
                    i, extent->axis, shapeOf(n.optionalInput(i))[extent->axis],
                    n.op().str());
      return;
    }
  }
  if (rule && rule->prepare)
    rule->prepare(n);
  if (n.failed())
    return;
  (rule && rule->handler ? rule->handler : handler)(n);
  if (rule && rule->carry && !n.failed())
    rule->carry(n);
}
