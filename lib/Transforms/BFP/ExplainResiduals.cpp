// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the storage of residual operands costs, as decisions for reports. Input:
// the plan after formats have been chosen. Changes attributes only.

#include "StoragePlan.h"

#include "dialects/Ashlar/Decision.h"
#include "dialects/BFP/BFPOps.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace ashlar::bfp {

static int64_t elementsOf(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

/// Mantissas and one byte per block.
static int64_t encodedBytes(BlockType type, ArrayRef<int64_t> shape) {
  return elementsOf(shape) * type.getMantissaBytes() +
         elementsOf(getExponentShape(type, shape));
}

/// The encoding that products read of `value`: its own storage or one beside
/// it; null if no product reads it.
static BlockType encodingOf(Value value) {
  if (BlockType type = getBlockType(value.getType()))
    return type;
  for (Operation *user : value.getUsers())
    if (auto encode = dyn_cast<EncodeOp>(user))
      return getBlockType(encode.getType());
  return {};
}

static std::string storageName(Type type) {
  if (isEncoded(type))
    return "bfp";
  std::string name;
  llvm::raw_string_ostream stream(name);
  stream << getElementTypeOrSelf(type);
  return name;
}

static records::Decision describeStorage(Value value) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  BlockType encoding = encodingOf(value);
  std::string reason = "residual operand";
  if (encoding && !isEncoded(value.getType()))
    reason += ", stored next to the encoding that products read";
  else if (encoding)
    reason += ", one storage with what products read";
  records::Decision decision(
      value.getContext(), "residual-" + storageName(value.getType()), reason);
  int64_t elements = elementsOf(shape);
  // A float storage comes on top of the encoding, if there is one.
  int64_t beside = encoding ? encodedBytes(encoding, shape) : 0;
  decision.facts.set("bytes_f32", 4 * elements + beside)
      .set("bytes_bf16", 2 * elements + beside);
  if (encoding)
    decision.facts.set("bytes_bfp", beside);
  return decision;
}

void explainResiduals(func::FuncOp function) {
  function.walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (isResidualUse(operand)) {
        describeStorage(operand.get()).record(op, kResidualDecisionAttr);
        return;
      }
  });
}

} // namespace ashlar::bfp
