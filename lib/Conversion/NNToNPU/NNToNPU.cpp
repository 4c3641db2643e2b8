// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operation by operation conversion of nn and bfp to npu. Constants and their
// encodings stay: code generation packs them.

#include "ashlar/Conversion/NNToNPU/NNToNPU.h"

#include "AccessPatterns.h"
#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Analysis/Module/ModuleForm.h"
#include "ashlar/Analysis/Module/NumericPlan.h"
#include "ashlar/Numerics/BlockArithmetic.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/NN/NNOps.h"
#include "dialects/NPU/HostOps.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ashlar {
namespace {

/// Converts one operation; null if no engine can run it.
class Converter {
public:
  explicit Converter(OpBuilder &builder) : builder(builder) {}

  Operation *convert(Operation *op) {
    builder.setInsertionPoint(op);
    if (std::optional<Movement> movement = movementOf(op))
      return move(op, *movement);
    return llvm::TypeSwitch<Operation *, Operation *>(op)
        .Case([&](bfp::ConvOp conv) { return product(conv); })
        .Case([&](bfp::MatmulOp matmul) { return product(matmul); })
        .Case([&](bfp::RequantiseConvOp conv) { return product(conv); })
        .Case([&](bfp::IntegerMatmulOp matmul) { return product(matmul); })
        .Case([&](nn::ConvOp conv) { return integerProduct(conv); })
        .Case([&](nn::MatMulOp matmul) { return integerProduct(matmul); })
        .Case<bfp::EncodeOp, bfp::DecodeOp, nn::CastOp>(
            [&](Operation *o) { return map(o, "copy"); })
        .Case([&](bfp::AffineOp op) {
          SmallVector<Value, 2> inputs{op.getX()};
          if (op.getExponent())
            inputs.push_back(op.getExponent());
          return npu::VecMapOp::create(builder, op->getLoc(),
                                       op->getResultTypes(), inputs,
                                       op.getScale(), op.getBias(),
                                       builder.getStringAttr(op.getFunction()),
                                       f32(op.getAlpha()), f32(op.getBeta()));
        })
        .Case([&](bfp::RequantiseOp op) -> Operation * {
          return npu::VecRequantiseOp::create(
              builder, op.getLoc(), op.getOutput().getType(), op.getInputs(),
              op.getFunctionAttr(), f32(op.getAlpha()), f32(op.getBeta()),
              builder.getBoolAttr(op.getLimited()), f32(op.getAScale()),
              i64(op.getAZero()), f32(op.getBScale()), i64(op.getBZero()),
              f32(op.getStep()), i64(op.getZeroPoint()));
        })
        .Case([&](nn::UnaryOp unary) {
          return map(unary, nn::stringifyUnaryFunction(unary.getFunction()),
                     unary.getAlpha(), unary.getBeta());
        })
        .Case([&](bfp::ArithmeticOp op) {
          auto function =
              *numerics::blockFunctionOf(op.getKind()); // arithmetic_c1
          return map(op, numerics::name(function));
        })
        .Case([&](nn::CompareOp c) {
          return map(c, nn::stringifyCompareKind(c.getKind()));
        })
        .Case([&](nn::LogicalOp l) {
          return map(l, nn::stringifyLogicalKind(l.getKind()));
        })
        .Case<nn::AddOp, nn::SubOp, nn::MulOp, nn::DivOp, nn::MaxOp, nn::MinOp,
              nn::PowOp, nn::PReluOp>(
            [&](Operation *o) { return map(o, o->getName().stripDialect()); })
        .Case([&](nn::ModOp mod) -> Operation * {
          return mod.getFmod() ? nullptr : map(mod, "mod");
        })
        .Case([&](nn::MaxPoolOp p) { return pool(p, "max", false); })
        .Case([&](nn::AvgPoolOp p) {
          return pool(p, p.getSums() ? "sum" : "avg", p.getCountIncludePad());
        })
        .Case([&](nn::ReduceOp r) {
          return reduce(r, nn::stringifyReduceKind(r.getKind()), r.getAxes(),
                        false);
        })
        .Case([&](nn::ArgReduceOp r) {
          return reduce(r,
                        r.getKind() == nn::ArgKind::Max ? "argmax" : "argmin",
                        {static_cast<int64_t>(r.getAxis())}, r.getSelectLast());
        })
        .Case([&](nn::TakeOp t) -> Operation * {
          return npu::VecGatherOp::create(builder, t.getLoc(),
                                          t.getY().getType(), t.getX(),
                                          t.getIndices(), i64(t.getAxis()));
        })
        .Case([&](nn::SoftmaxOp s) { return softmax(s, false); })
        .Case([&](nn::LogSoftmaxOp s) { return softmax(s, true); })
        .Default([&](Operation *o) { return npu::bindToHost(builder, o); });
  }

private:
  FloatAttr f32(const APFloat &value) {
    return builder.getF32FloatAttr(value.convertToFloat());
  }
  IntegerAttr i64(uint64_t value) {
    return builder.getI64IntegerAttr(static_cast<int64_t>(value));
  }

  Operation *move(Operation *op, const Movement &movement) {
    llvm::SmallVector<Attribute> patterns;
    for (const npu::AccessPattern &pattern : movement.patterns) {
      auto type =
          cast<RankedTensorType>(op->getOperand(pattern.operand).getType());
      patterns.push_back(
          builder.getDenseI64ArrayAttr(pattern.toArray(type.getRank())));
    }
    FloatAttr fill;
    if (movement.fill)
      fill = builder.getF64FloatAttr(*movement.fill);
    return npu::DmaMoveOp::create(
        builder, op->getLoc(), op->getResultTypes(), op->getOperands(),
        builder.getStringAttr(op->getName().stripDialect()),
        builder.getArrayAttr(patterns), fill);
  }

  Operation *map(Operation *op, llvm::StringRef function,
                 APFloat alpha = APFloat(0.0f), APFloat beta = APFloat(0.0f)) {
    return npu::VecMapOp::create(
        builder, op->getLoc(), op->getResultTypes(), op->getOperands(), Value(),
        Value(), builder.getStringAttr(function), f32(alpha), f32(beta));
  }

  Operation *product(bfp::ConvOp op) {
    auto conv = npu::PeConvOp::create(
        builder, op.getLoc(), op.getOutput().getType(), op.getX(), op.getW(),
        op.getBias(), op.getScale(), op.getSlope(), op.getResidual(),
        op.getStridesAttr(), op.getPadsAttr(), op.getDilationsAttr(),
        i64(op.getGroup()), builder.getStringAttr(op.getFunction()),
        f32(op.getAlpha()), f32(op.getBeta()));
    conv.setIntegerEpilogue(op.getIntegerEpilogue());
    return conv;
  }

  Operation *product(bfp::MatmulOp op) {
    auto matmul = npu::PeMatmulOp::create(
        builder, op.getLoc(), op.getOutput().getType(), op.getA(), op.getB(),
        op.getBias(), op.getScale(), op.getSlope(), op.getResidual(),
        builder.getStringAttr(op.getFunction()), f32(op.getAlpha()),
        f32(op.getBeta()));
    matmul.setIntegerEpilogue(op.getIntegerEpilogue());
    return matmul;
  }

  Operation *product(bfp::RequantiseConvOp op) {
    FloatAttr none = builder.getF32FloatAttr(0.0f);
    auto conv = npu::PeConvOp::create(
        builder, op.getLoc(), op.getOutput().getType(), op.getX(), op.getW(),
        op.getBias(), op.getScale(), Value(), Value(), op.getStridesAttr(),
        op.getPadsAttr(), op.getDilationsAttr(), i64(op.getGroup()),
        builder.getStringAttr(op.getFunction()), none, none);
    return withZeroPoints(conv, op.getZeroPoint());
  }

  Operation *product(bfp::IntegerMatmulOp op) {
    FloatAttr none = builder.getF32FloatAttr(0.0f);
    auto matmul = npu::PeMatmulOp::create(
        builder, op.getLoc(), op.getOutput().getType(), op.getA(), op.getB(),
        Value(), Value(), Value(), Value(), builder.getStringAttr("copy"), none,
        none,
        npu::QuantAttr::get(builder.getContext(), op.getAZero(), op.getBZero(),
                            std::nullopt));
    return matmul;
  }

  /// Bytes are symmetric unless somebody says otherwise. Streamed weights of 16
  /// bits are bytes with a zero point where they can be: one pass of the array
  /// instead of two.
  template <typename Op>
  Operation *withZeroPoints(Op product,
                            std::optional<int64_t> result = std::nullopt) {
    auto isByte = [](Value value) {
      return getElementTypeOrSelf(value).isInteger(8);
    };
    std::optional<int64_t> x, w;
    if (isByte(product.getX()))
      x = 0;
    if (isByte(product.getW()))
      w = 0;
    else if (analysis::hasStreamedWeights(product))
      w = analysis::weightZeroOf(product.getW());
    product.setQuantAttr(
        npu::QuantAttr::get(builder.getContext(), x, w, result));
    return product;
  }

  /// What is left of nn's products multiplies integers (plan_c2).
  Operation *integerProduct(nn::ConvOp op) {
    FloatAttr zero = builder.getF32FloatAttr(0.0f);
    return withZeroPoints(npu::PeConvOp::create(
        builder, op.getLoc(), op.getY().getType(), op.getX(), op.getW(),
        Value(), Value(), Value(), Value(), op.getStridesAttr(),
        op.getPadsAttr(), op.getDilationsAttr(), i64(op.getGroup()),
        builder.getStringAttr("copy"), zero, zero));
  }

  Operation *integerProduct(nn::MatMulOp op) {
    FloatAttr zero = builder.getF32FloatAttr(0.0f);
    return withZeroPoints(npu::PeMatmulOp::create(
        builder, op.getLoc(), op.getY().getType(), op.getA(), op.getB(),
        Value(), Value(), Value(), Value(), builder.getStringAttr("copy"), zero,
        zero));
  }

  template <typename Op>
  Operation *pool(Op op, llvm::StringRef kind, bool countIncludePad) {
    return npu::VecPoolOp::create(builder, op.getLoc(), op.getY().getType(),
                                  op.getX(), builder.getStringAttr(kind),
                                  op.getKernelAttr(), op.getStridesAttr(),
                                  op.getPadsAttr(), op.getDilationsAttr(),
                                  builder.getBoolAttr(countIncludePad));
  }

  Operation *reduce(Operation *op, llvm::StringRef kind,
                    llvm::ArrayRef<int64_t> axes, bool selectLast) {
    return npu::VecReduceOp::create(
        builder, op->getLoc(), op->getResult(0).getType(), op->getOperand(0),
        builder.getStringAttr(kind), builder.getDenseI64ArrayAttr(axes),
        builder.getBoolAttr(selectLast));
  }

  template <typename Op>
  Operation *softmax(Op op, bool log) {
    return npu::VecSoftmaxOp::create(builder, op.getLoc(), op.getY().getType(),
                                     op.getX(), i64(op.getAxis()),
                                     builder.getBoolAttr(log));
  }

  OpBuilder &builder;
};

/// Constants, and encodings of constants, stay as they are.
bool stays(Operation *op) {
  if (isa<nn::ConstantOp, func::ReturnOp>(op))
    return true;
  auto encode = dyn_cast<bfp::EncodeOp>(op);
  return encode && encode.getWeights();
}

/// True if the operands lie between one another in the result. In DRAM every
/// element would be a burst of its own: what is returned goes there from the
/// state buffer, where products write it.
bool interleaves(Operation *op) {
  auto move = dyn_cast<npu::DmaMoveOp>(op);
  return move && move.getInputs().size() > 1 &&
         llvm::any_of(move.getPatterns(), [](Attribute attr) {
           auto pattern = *npu::AccessPattern::fromArray(
               cast<DenseI64ArrayAttr>(attr).asArrayRef());
           return llvm::any_of(pattern.dims, [](const npu::PatternDim &dim) {
             return dim.extent > 1 && dim.resultStep > 1;
           });
         });
}

/// Every result is written by an operation of its own: arguments, constants,
/// values returned twice and interleaved ones are copied.
void copyForeignResults(func::FuncOp main, OpBuilder &builder) {
  Operation *terminator = main.getBody().front().getTerminator();
  builder.setInsertionPoint(terminator);
  llvm::SmallPtrSet<Operation *, 4> returned;
  for (OpOperand &operand : terminator->getOpOperands()) {
    Operation *producer = operand.get().getDefiningOp();
    if (isa_and_nonnull<npu::NPUDialect>(producer ? producer->getDialect()
                                                  : nullptr) &&
        !interleaves(producer) && returned.insert(producer).second)
      continue;
    Value source = operand.get();
    auto type = cast<RankedTensorType>(source.getType());
    npu::AccessPattern pattern;
    for (auto [i, extent] : llvm::enumerate(type.getShape())) {
      int64_t axis = i;
      pattern.dims.push_back({extent, axis, 1, axis, 1});
    }
    pattern.sourceStart.assign(type.getRank(), 0);
    pattern.resultStart.assign(type.getRank(), 0);
    Attribute patterns =
        builder.getDenseI64ArrayAttr(pattern.toArray(type.getRank()));
    auto copy = npu::DmaMoveOp::create(
        builder, source.getLoc(), type, source, builder.getStringAttr("copy"),
        builder.getArrayAttr(patterns), FloatAttr());
    copy.setOriginAttr(npu::OriginAttr::get(builder.getContext(), StringAttr(),
                                            builder.getStringAttr("copy")));
    operand.set(copy->getResult(0));
    returned.insert(copy);
  }
}

struct ConvertNNToNPUPass
    : PassWrapper<ConvertNNToNPUPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConvertNNToNPUPass)

  StringRef getArgument() const final { return "ashlar-convert-nn-to-npu"; }
  StringRef getDescription() const final {
    return "bind every planned operation to an engine";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<npu::NPUDialect>();
  }

  void runOnOperation() override {
    func::FuncOp main = analysis::mainOf(getOperation());
    if (!main)
      return;
    analysis::PlanNames names(main);
    llvm::SmallVector<Operation *> work;
    for (Operation &op : main.getBody().front()) {
      if (stays(&op))
        continue;
      bool npu = isa_and_present<npu::NPUDialect>(op.getDialect());
      if (npu || op.getNumResults() != 1) {
        op.emitError() << "expected an operation of nn or bfp with one result";
        return signalPassFailure();
      }
      work.push_back(&op);
    }
    OpBuilder builder(&getContext());
    Converter converter(builder);
    bool failed = false;
    for (Operation *op : work) {
      Operation *converted = converter.convert(op);
      if (!converted) {
        op->emitError() << "no engine of the machine runs '" << op->getName()
                        << "'";
        failed = true;
        continue;
      }
      records::copyRecords(op, converted);
      cast<npu::DecisionInterface>(converted).setOriginAttr(
          npu::OriginAttr::get(
              &getContext(),
              builder.getStringAttr(names.getName(op->getResult(0))),
              builder.getStringAttr(op->getName().stripDialect())));
      op->getResult(0).replaceAllUsesWith(converted->getResult(0));
    }
    if (failed)
      return signalPassFailure();
    for (Operation *op : llvm::reverse(work))
      op->erase();
    copyForeignResults(main, builder);
  }
};

} // namespace

std::unique_ptr<Pass> createConvertNNToNPUPass() {
  return std::make_unique<ConvertNNToNPUPass>();
}

void registerConvertNNToNPUPass() { PassRegistration<ConvertNNToNPUPass>(); }

} // namespace ashlar
