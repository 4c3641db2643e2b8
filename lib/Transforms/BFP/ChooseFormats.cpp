// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes every element type its storage. Input: products in `bfp` on floats,
// epilogues fused. Output: the numeric plan as IR. The decisions are
// StoragePlan's; this file rewrites.

#include "AccumulatorProof.h"
#include "StoragePlan.h"

#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Transforms/BFP/Passes.h"
#include "dialects/BFP/BFPAttrs.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/NN/NNElements.h"
#include "dialects/NN/NNOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSwitch.h"

#include <cstring>

using namespace mlir;

namespace ashlar::bfp {

#define GEN_PASS_DEF_CHOOSEFORMATS
#include "ashlar/Transforms/BFP/Passes.h.inc"

namespace {
/// One operand that is to read another value than it does.
struct Reread {
  OpOperand *use;
  /// The dimension to encode along, or nothing to decode.
  std::optional<int64_t> axis;
  bool weights;
  /// The encoding, if there is a dimension.
  BlockType type;
  /// The element type of the decoded value, if there is none.
  Type element = {};
};

struct ChooseFormats : impl::ChooseFormatsBase<ChooseFormats> {
  using ChooseFormatsBase::ChooseFormatsBase;

protected:
  void runOnOperation() override;

private:
  LogicalResult chooseStorage(func::FuncOp function,
                              const AskedFormats &formats,
                              ResidualStorage storage, std::string &reasons);
  SmallVector<Reread> collectRereads(Value value, const StoragePlan &plan);
  Value convert(OpBuilder &builder, Value value, const Reread &reread);
  void applyRereads(Value value, ArrayRef<Reread> rereads);
};
} // namespace

/// The name by which an error calls a tensor.
static std::string describe(Value value) {
  std::string name = analysis::getNodeName(value.getLoc());
  return name.empty() ? "constant" : "constant '" + name + "'";
}

/// Index of the first element of all-ones exponent (an infinity or a NaN), or
/// nothing. `exponentMask` selects the exponent bits of a `Bits`.
template <typename Bits>
static std::optional<size_t> findNonFinite(ArrayRef<char> bytes,
                                           Bits exponentMask) {
  for (size_t index = 0; index * sizeof(Bits) < bytes.size(); ++index) {
    Bits bits;
    std::memcpy(&bits, bytes.data() + index * sizeof(Bits), sizeof(Bits));
    if ((bits & exponentMask) == exponentMask)
      return index;
  }
  return std::nullopt;
}

static std::optional<size_t> findNonFinite(ArrayRef<char> bytes, Type type) {
  if (type.isF64())
    return findNonFinite<uint64_t>(bytes, 0x7ff0000000000000u);
  if (type.isF16())
    return findNonFinite<uint16_t>(bytes, 0x7c00u);
  if (type.isBF16())
    return findNonFinite<uint16_t>(bytes, 0x7f80u);
  return findNonFinite<uint32_t>(bytes, 0x7f800000u);
}

/// Encoding a NaN or an infinity would silently change it: constants must not
/// hold any (docs/Numerics.md 2).
static LogicalResult checkFinite(nn::ConstantOp constant) {
  if (std::optional<nn::ElementFacts> facts = nn::factsOf(constant.getValue());
      facts && facts->isFinite)
    return success();
  nn::ElementStorage storage;
  std::optional<ArrayRef<char>> bytes =
      nn::rawElements(constant.getValue(), storage);
  if (!bytes)
    return constant.emitError("expected readable elements in ")
           << describe(constant.getOutput());
  Type type = constant.getValue().getElementType();
  if (std::optional<size_t> index = findNonFinite(*bytes, type))
    return constant.emitError("expected finite elements in ")
           << describe(constant.getOutput())
           << ", found NaN or an infinity at element " << *index;
  return success();
}

SmallVector<Reread> ChooseFormats::collectRereads(Value value,
                                                  const StoragePlan &plan) {
  SmallVector<Reread> rereads;
  bool stored = plan.getStoredAxis(value).has_value();
  for (OpOperand &use : value.getUses()) {
    std::optional<int64_t> axis = plan.getRequiredAxis(use);
    if (!stored && axis)
      rereads.push_back(
          {&use, axis, isWeightUse(use), plan.getRequiredType(use)});
    else if (stored && !axis && !readsEncoded(use.getOwner()))
      rereads.push_back({&use,
                         std::nullopt,
                         false,
                         {},
                         getElementTypeOrSelf(value.getType())});
  }
  return rereads;
}

Value ChooseFormats::convert(OpBuilder &builder, Value value,
                             const Reread &reread) {
  ++numConversions;
  auto type = cast<RankedTensorType>(value.getType());
  if (!reread.axis) {
    Value decoded = DecodeOp::create(builder, value.getLoc(),
                                     type.clone(builder.getF32Type()), value);
    // Blocks of narrower floats are read as binary32; what moves them keeps
    // their type.
    return reread.element.isF32()
               ? decoded
               : nn::CastOp::create(builder, value.getLoc(),
                                    type.clone(reread.element), decoded);
  }
  ++numEncoded;
  return EncodeOp::create(builder, value.getLoc(), type.clone(reread.type),
                          value, reread.weights);
}

/// One conversion per distinct form. An encoding directly follows its value
/// (the float is needed no longer); a decode right before its first reader (the
/// blocks are the smaller form).
void ChooseFormats::applyRereads(Value value, ArrayRef<Reread> rereads) {
  for (const Reread &first : rereads) {
    if (first.use->get() != value)
      continue; // Served together with an earlier one.
    SmallVector<OpOperand *> same;
    Operation *earliest = first.use->getOwner();
    for (const Reread &reread : rereads)
      if (reread.axis == first.axis && reread.weights == first.weights) {
        same.push_back(reread.use);
        if (reread.use->getOwner()->isBeforeInBlock(earliest))
          earliest = reread.use->getOwner();
      }
    OpBuilder builder(earliest);
    if (first.axis)
      builder.setInsertionPointAfterValue(value);
    Value converted = convert(builder, value, first);
    for (OpOperand *use : same)
      use->set(converted);
  }
}

LogicalResult ChooseFormats::chooseStorage(func::FuncOp function,
                                           const AskedFormats &formats,
                                           ResidualStorage storage,
                                           std::string &reasons) {
  if (function.getBody().empty())
    return success();
  Block &body = function.getBody().front();
  StoragePlan plan(function, formats, storage, blockArithmetic);
  FailureOr<std::string> lowered = plan.proveRanges(function, strictRange);
  if (failed(lowered))
    return failure();
  reasons += *lowered;
  // All decisions are read off the float graph before any of it changes.
  SmallVector<Value> values(body.getArguments().begin(),
                            body.getArguments().end());
  for (Operation &op : body)
    llvm::append_range(values, op.getResults());
  SmallVector<std::pair<Value, SmallVector<Reread>>> rereads;
  for (Value value : values)
    if (SmallVector<Reread> found = collectRereads(value, plan); !found.empty())
      rereads.emplace_back(value, std::move(found));

  for (auto &[value, found] : rereads)
    if (auto constant = value.getDefiningOp<nn::ConstantOp>())
      if (failed(checkFinite(constant)))
        return failure();
  for (Value value : values)
    if (plan.getStoredAxis(value)) {
      auto type = cast<RankedTensorType>(value.getType());
      value.setType(type.clone(plan.getStoredType(value)));
      ++numEncoded;
    } else if (plan.isStoredAsBf16(value)) {
      auto type = cast<RankedTensorType>(value.getType());
      value.setType(type.clone(BFloat16Type::get(&getContext())));
    }
  for (auto &[value, found] : rereads)
    applyRereads(value, found);
  explainResiduals(function);
  return success();
}

/// Takes the format `name` of a product from it; the default if it has none.
static numerics::BlockFormat takeFormat(Operation *op, StringRef name) {
  auto format = dyn_cast_or_null<FormatAttr>(op->removeAttr(name));
  return format ? format.getFormat() : numerics::BlockFormat();
}

/// Takes what assign-formats left from the products.
static AskedFormats takeFormats(ModuleOp module) {
  AskedFormats asked;
  module.walk([&](Operation *op) {
    if (isa<ConvOp, MatmulOp>(op))
      asked[op] = {takeFormat(op, kActivationsAttr),
                   takeFormat(op, kWeightsAttr)};
  });
  return asked;
}

static std::optional<ResidualStorage> parseResidual(StringRef text) {
  return llvm::StringSwitch<std::optional<ResidualStorage>>(text)
      .Case("bfp", ResidualStorage::Bfp)
      .Case("bf16", ResidualStorage::Bf16)
      .Case("f32", ResidualStorage::F32)
      .Default(std::nullopt);
}

void ChooseFormats::runOnOperation() {
  ModuleOp module = getOperation();
  std::optional<ResidualStorage> storage = parseResidual(residual);
  if (!storage) {
    module.emitError("storage of residual operands is '")
        << residual << "', expected bfp, bf16 or f32";
    return signalPassFailure();
  }
  if (blockArithmetic && *storage != ResidualStorage::Bfp) {
    module.emitError("block arithmetic adds encoded residuals, expected the "
                     "storage bfp, found '")
        << residual << "'";
    return signalPassFailure();
  }
  const AskedFormats asked = takeFormats(module);
  std::string reasons;
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(chooseStorage(function, asked, *storage, reasons)))
      return signalPassFailure();
  if (!reasons.empty())
    module->setAttr(kRangeReasonAttr, StringAttr::get(&getContext(), reasons));
}

} // namespace ashlar::bfp
