// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folders of the `nn` dialect: identities only. Folding of values belongs to
// the simplify phase, whose arithmetic is specified (docs/Numerics.md 6).

#include "dialects/NN/NNOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ashlar::nn;

namespace {

bool allEqual(ArrayRef<int64_t> values, int64_t expected) {
  return llvm::all_of(values, [&](int64_t v) { return v == expected; });
}

/// The operand if the operation changes neither order nor type.
template <class OpTy>
OpFoldResult foldIdentity(OpTy op, bool sameOrder) {
  if (sameOrder && op.getX().getType() == op.getType())
    return op.getX();
  return {};
}

} // namespace

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

OpFoldResult UnaryOp::fold(FoldAdaptor) {
  return foldIdentity(*this, getFunction() == UnaryFunction::Copy);
}

OpFoldResult CastOp::fold(FoldAdaptor) { return foldIdentity(*this, true); }

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  if (getInputs().size() == 1 && getInputs()[0].getType() == getType())
    return getInputs()[0];
  return {};
}

OpFoldResult InterleaveOp::fold(FoldAdaptor) {
  if (getInputs().size() == 1 && getInputs()[0].getType() == getType())
    return getInputs()[0];
  return {};
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  // Equal shapes with unit steps admit no other start.
  return foldIdentity(*this, allEqual(getSteps(), 1));
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  return foldIdentity(*this, allEqual(getLow(), 0) && allEqual(getHigh(), 0) &&
                                 allEqual(getInterior(), 0));
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) { return foldIdentity(*this, true); }

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  return foldIdentity(*this, llvm::is_sorted(getPerm()));
}

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  return foldIdentity(*this, true);
}

OpFoldResult GatherOp::fold(FoldAdaptor) {
  ArrayRef<int64_t> indices = getIndices();
  for (auto [i, index] : llvm::enumerate(indices))
    if (index != static_cast<int64_t>(i))
      return {};
  return foldIdentity(*this, true);
}
