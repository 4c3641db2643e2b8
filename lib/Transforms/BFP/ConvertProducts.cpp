// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nn.conv and nn.matmul of floats to bfp.conv and bfp.matmul of floats.
// Input: the canonical `nn` graph. Output: the same graph, products in `bfp`
// with an empty epilogue. Assumption: none beyond the verifiers.

#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Transforms/BFP/Passes.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/NN/NNElements.h"
#include "dialects/NN/NNOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace ashlar::bfp {

#define GEN_PASS_DEF_CONVERTPRODUCTS
#include "ashlar/Transforms/BFP/Passes.h.inc"

static bool isFloatTensor(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

/// `bias` as binary32, which is what an epilogue adds.
static Value toF32(OpBuilder &builder, Value bias) {
  if (!bias)
    return bias;
  auto type = cast<RankedTensorType>(bias.getType());
  if (type.getElementType().isF32())
    return bias;
  // A constant stays one: the array's drain takes no other bias.
  RankedTensorType wide = type.clone(builder.getF32Type());
  if (auto constant = bias.getDefiningOp<nn::ConstantOp>())
    if (const std::vector<float> values =
            nn::floatElements(constant.getValue());
        static_cast<int64_t>(values.size()) == type.getNumElements())
      return nn::ConstantOp::create(
          builder, constant.getLoc(), wide,
          nn::makeElements(
              wide,
              std::string(reinterpret_cast<const char *>(values.data()),
                          values.size() * sizeof(float)),
              analysis::getNodeName(constant.getLoc())));
  return nn::CastOp::create(builder, bias.getLoc(), wide, bias);
}

static Value convert(OpBuilder &builder, nn::ConvOp op) {
  FloatAttr zero = builder.getF32FloatAttr(0.0f);
  return ConvOp::create(builder, op.getLoc(), op.getY().getType(), op.getX(),
                        op.getW(), toF32(builder, op.getBias()), Value(),
                        Value(), Value(), op.getStridesAttr(), op.getPadsAttr(),
                        op.getDilationsAttr(), op.getGroupAttr(),
                        builder.getStringAttr("copy"), zero, zero, UnitAttr());
}

static Value convert(OpBuilder &builder, nn::MatMulOp op) {
  FloatAttr zero = builder.getF32FloatAttr(0.0f);
  return MatmulOp::create(builder, op.getLoc(), op.getY().getType(), op.getA(),
                          op.getB(), Value(), Value(), Value(), Value(),
                          builder.getStringAttr("copy"), zero, zero,
                          UnitAttr());
}

namespace {
struct ConvertProducts : impl::ConvertProductsBase<ConvertProducts> {
  template <typename OpTy>
  void convertAll() {
    getOperation().walk([&](OpTy op) {
      if (!isFloatTensor(op->getOperand(0)) ||
          !isFloatTensor(op->getOperand(1)) || !isFloatTensor(op.getY()))
        return;
      OpBuilder builder(op);
      Value converted = convert(builder, op);
      // Reports read the decisions of earlier passes from the last module.
      records::copyRecords(op, converted.getDefiningOp());
      op.getY().replaceAllUsesWith(converted);
      op->erase();
      ++numConverted;
    });
  }

protected:
  void runOnOperation() override {
    convertAll<nn::ConvOp>();
    convertAll<nn::MatMulOp>();
  }
};
} // namespace

} // namespace ashlar::bfp
