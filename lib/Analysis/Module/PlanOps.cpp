// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of plan operations: one short function per family.

#include "PlanOps.h"

#include "dialects/BFP/BFPOps.h"
#include "dialects/NN/NNOps.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
namespace json = llvm::json;

namespace ashlar::analysis {

json::Value numberToJson(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value > 0 ? "inf" : "-inf";
  return value;
}

static json::Array toJson(ArrayRef<int64_t> values) {
  json::Array array;
  for (int64_t value : values)
    array.push_back(value);
  return array;
}

static json::Object describeFunction(StringRef name, const APFloat &alpha,
                                     const APFloat &beta) {
  return json::Object{{"name", name},
                      {"alpha", numberToJson(alpha.convertToDouble())},
                      {"beta", numberToJson(beta.convertToDouble())}};
}

/// Strides, pads and dilations, which windows and convolutions share.
template <typename OpTy>
static void addWindow(PlanOp &plan, OpTy op) {
  plan.attrs["strides"] = toJson(op.getStrides());
  plan.attrs["pads"] = toJson(op.getPads());
  plan.attrs["dilations"] = toJson(op.getDilations());
}

/// Factors, then the epilogue operands that are there, in operand order.
template <typename OpTy>
static void addProduct(PlanOp &plan, OpTy op) {
  plan.roles = {"x", "w"};
  if (op.getBias())
    plan.roles.push_back("bias");
  if (op.getScale())
    plan.roles.push_back("scale");
  if (op.getSlope())
    plan.roles.push_back("slope");
  if (op.getResidual())
    plan.roles.push_back("residual");
  plan.function =
      describeFunction(op.getFunction(), op.getAlpha(), op.getBeta());
  if (op.getIntegerEpilogue())
    plan.attrs["epilogue"] = "integer";
}

static bool describeProduct(Operation *op, PlanOp &plan) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](bfp::ConvOp conv) {
        addProduct(plan, conv);
        addWindow(plan, conv);
        plan.attrs["group"] = static_cast<int64_t>(conv.getGroup());
        return true;
      })
      .Case([&](bfp::MatmulOp matmul) {
        addProduct(plan, matmul);
        return true;
      })
      .Case([&](bfp::RequantiseConvOp conv) {
        plan.kind = "conv";
        plan.roles = {"x", "w", "scale"};
        if (conv.getBias())
          plan.roles.push_back("bias");
        addWindow(plan, conv);
        plan.attrs["group"] = static_cast<int64_t>(conv.getGroup());
        plan.attrs["zero_point"] = static_cast<int64_t>(conv.getZeroPoint());
        plan.function =
            describeFunction(conv.getFunction(), APFloat(0.0f), APFloat(0.0f));
        return true;
      })
      .Case([&](bfp::IntegerMatmulOp matmul) {
        plan.kind = "matmul";
        plan.roles = {"x", "w"};
        plan.attrs["x_zero"] = static_cast<int64_t>(matmul.getAZero());
        plan.attrs["w_zero"] = static_cast<int64_t>(matmul.getBZero());
        return true;
      })
      .Case([&](nn::ConvOp conv) {
        plan.roles = {"x", "w"};
        addWindow(plan, conv);
        plan.attrs["group"] = static_cast<int64_t>(conv.getGroup());
        return true;
      })
      .Case([&](nn::MatMulOp) {
        plan.roles = {"x", "w"};
        return true;
      })
      .Case<bfp::EncodeOp, bfp::DecodeOp>([&](auto) { return true; })
      .Default([](Operation *) { return false; });
}

static void describeRequantise(bfp::RequantiseOp op, PlanOp &plan) {
  plan.roles = {"a"};
  plan.attrs["a_scale"] = numberToJson(op.getAScale().convertToDouble());
  plan.attrs["a_zero"] = static_cast<int64_t>(op.getAZero());
  if (op.getInputs().size() > 1) {
    plan.roles.push_back("b");
    plan.attrs["b_scale"] = numberToJson(op.getBScale().convertToDouble());
    plan.attrs["b_zero"] = static_cast<int64_t>(op.getBZero());
    plan.attrs["limited"] = op.getLimited();
  }
  plan.attrs["step"] = numberToJson(op.getStep().convertToDouble());
  plan.attrs["zero_point"] = static_cast<int64_t>(op.getZeroPoint());
  plan.function =
      describeFunction(op.getFunction(), op.getAlpha(), op.getBeta());
}

static bool describeMath(Operation *op, PlanOp &plan) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<nn::AddOp, nn::SubOp, nn::MulOp, nn::DivOp, nn::MaxOp, nn::MinOp,
            nn::PowOp, nn::PReluOp>([&](auto) {
        plan.roles = {"a", "b"};
        return true;
      })
      .Case([&](nn::ModOp mod) {
        plan.roles = {"a", "b"};
        plan.attrs["fmod"] = mod.getFmod();
        return true;
      })
      .Case([&](nn::CompareOp compare) {
        plan.roles = {"a", "b"};
        plan.attrs["kind"] = nn::stringifyCompareKind(compare.getKind());
        return true;
      })
      .Case([&](nn::LogicalOp logical) {
        plan.roles = {"a", "b"};
        plan.attrs["kind"] = nn::stringifyLogicalKind(logical.getKind());
        return true;
      })
      .Case([&](nn::WhereOp) {
        plan.roles = {"condition", "a", "b"};
        return true;
      })
      .Case([&](nn::UnaryOp unary) {
        plan.function =
            describeFunction(nn::stringifyUnaryFunction(unary.getFunction()),
                             unary.getAlpha(), unary.getBeta());
        return true;
      })
      .Case([&](nn::BatchNormOp norm) {
        plan.roles = {"x", "scale", "bias", "mean", "var"};
        plan.attrs["epsilon"] =
            numberToJson(norm.getEpsilon().convertToDouble());
        return true;
      })
      .Case([&](nn::CastOp) { return true; })
      .Case([&](bfp::ArithmeticOp arithmetic) {
        plan.roles = {"a", "b"};
        plan.attrs["kind"] = arithmetic.getKind();
        return true;
      })
      .Case([&](bfp::AffineOp affine) {
        if (affine.getScale())
          plan.roles.push_back("scale");
        if (affine.getBias())
          plan.roles.push_back("bias");
        if (affine.getExponent())
          plan.roles.push_back("exponent");
        plan.function = describeFunction(affine.getFunction(),
                                         affine.getAlpha(), affine.getBeta());
        return true;
      })
      .Case([&](bfp::RequantiseOp requantise) {
        describeRequantise(requantise, plan);
        return true;
      })
      .Default([](Operation *) { return false; });
}

static bool describeReduction(Operation *op, PlanOp &plan) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](nn::MaxPoolOp pool) {
        plan.attrs["kernel"] = toJson(pool.getKernel());
        addWindow(plan, pool);
        return true;
      })
      .Case([&](nn::AvgPoolOp pool) {
        plan.attrs["kernel"] = toJson(pool.getKernel());
        plan.attrs["count_include_pad"] = pool.getCountIncludePad();
        if (pool.getSums())
          plan.attrs["sums"] = true;
        addWindow(plan, pool);
        return true;
      })
      .Case([&](nn::ReduceOp reduce) {
        plan.attrs["kind"] = nn::stringifyReduceKind(reduce.getKind());
        plan.attrs["axes"] = toJson(reduce.getAxes());
        plan.attrs["keepdims"] = reduce.getKeepdims();
        return true;
      })
      .Case([&](nn::ArgReduceOp reduce) {
        plan.kind = reduce.getKind() == nn::ArgKind::Max ? "argmax" : "argmin";
        plan.attrs["axis"] = static_cast<int64_t>(reduce.getAxis());
        plan.attrs["keepdims"] = reduce.getKeepdims();
        plan.attrs["select_last"] = reduce.getSelectLast();
        return true;
      })
      .Case<nn::SoftmaxOp, nn::LogSoftmaxOp>([&](auto softmax) {
        plan.attrs["axis"] = static_cast<int64_t>(softmax.getAxis());
        return true;
      })
      .Default([](Operation *) { return false; });
}

static bool describeMovement(Operation *op, PlanOp &plan) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](nn::ConcatOp concat) {
        plan.roles.clear();
        for (unsigned i = 0; i < concat.getInputs().size(); ++i)
          plan.roles.push_back("x" + std::to_string(i));
        plan.attrs["axis"] = static_cast<int64_t>(concat.getAxis());
        return true;
      })
      .Case([&](nn::InterleaveOp interleave) {
        plan.roles.clear();
        for (unsigned i = 0; i < interleave.getInputs().size(); ++i)
          plan.roles.push_back("x" + std::to_string(i));
        plan.attrs["factors"] = toJson(interleave.getFactors());
        return true;
      })
      .Case([&](nn::SliceOp slice) {
        plan.attrs["starts"] = toJson(slice.getStarts());
        plan.attrs["steps"] = toJson(slice.getSteps());
        plan.attrs["sizes"] =
            toJson(cast<RankedTensorType>(slice.getY().getType()).getShape());
        return true;
      })
      .Case([&](nn::PadOp pad) {
        SmallVector<int64_t> interior;
        for (unsigned dim = 0; dim < pad.getLow().size(); ++dim)
          interior.push_back(pad.interiorAt(dim));
        plan.attrs["low"] = toJson(pad.getLow());
        plan.attrs["high"] = toJson(pad.getHigh());
        plan.attrs["interior"] = toJson(interior);
        plan.attrs["mode"] = nn::stringifyPadMode(pad.getMode());
        plan.attrs["value"] = numberToJson(pad.getValue().convertToDouble());
        return true;
      })
      .Case([&](nn::TransposeOp transpose) {
        plan.attrs["perm"] = toJson(transpose.getPerm());
        return true;
      })
      .Case([&](nn::GatherOp gather) {
        plan.attrs["axis"] = static_cast<int64_t>(gather.getAxis());
        plan.attrs["indices"] = toJson(gather.getIndices());
        return true;
      })
      .Case([&](nn::TakeOp take) {
        plan.roles = {"x", "indices"};
        plan.attrs["axis"] = static_cast<int64_t>(take.getAxis());
        return true;
      })
      .Case([&](nn::Im2ColOp im2col) {
        plan.attrs["kernel"] = toJson(im2col.getKernel());
        addWindow(plan, im2col);
        return true;
      })
      .Case([&](nn::BroadcastOp) {
        plan.kind = "expand";
        return true;
      })
      .Case([&](nn::ReshapeOp) { return true; })
      .Default([](Operation *) { return false; });
}

/// Work of the host, called as in `nn`.
static bool describeHost(Operation *op, PlanOp &plan) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([](nn::NonzeroOp) { return true; })
      .Case([&](nn::ArgSortOp sort) {
        plan.attrs["axis"] = static_cast<int64_t>(sort.getAxis());
        plan.attrs["descending"] = sort.getDescending();
        return true;
      })
      .Case([&](nn::UniqueOp unique) {
        plan.attrs["sorted"] = unique.getSorted();
        return true;
      })
      .Case([&](nn::NmsOp nms) {
        plan.roles = {"boxes", "scores", "most", "iou", "least"};
        plan.attrs["center"] = nms.getCenter();
        plan.attrs["filtered"] = nms.getFiltered();
        return true;
      })
      .Default([](Operation *) { return false; });
}

PlanOp describeOperation(Operation *op) {
  PlanOp plan;
  plan.kind = op->getName().stripDialect().str();
  plan.roles = {"x"};
  if (describeProduct(op, plan) || describeMath(op, plan) ||
      describeReduction(op, plan) || describeMovement(op, plan) ||
      describeHost(op, plan))
    return plan;
  plan.kind = op->getName().getStringRef().str();
  plan.roles.clear();
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    plan.roles.push_back("x" + std::to_string(i));
  return plan;
}

} // namespace ashlar::analysis
