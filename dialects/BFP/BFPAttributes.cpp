// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The attribute of requested formats, and the attributes that the bfp dialect
// allows on operations besides their own. Everything else in the namespace is
// refused. A module comes from a file as often as from a pass.

#include "dialects/BFP/BFPAttrs.h"
#include "dialects/BFP/BFPDialect.h"
#include "dialects/BFP/BFPOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ashlar::bfp {

// The words of a block length are the same numbers in both.
static_assert(BlockType::kWholeAxis == numerics::BlockFormat::kAxis &&
              BlockType::kWholeTensor == numerics::BlockFormat::kTensor);

static numerics::BlockFormat toFormat(int mantissa, int64_t block, int range,
                                      bool dropsSigns, int rows) {
  numerics::BlockFormat format;
  format.mantissa = mantissa;
  format.block = static_cast<int>(block);
  format.range = range;
  format.dropsSigns = dropsSigns;
  format.rows = rows;
  return format;
}

FormatAttr FormatAttr::get(MLIRContext *context,
                           const numerics::BlockFormat &format) {
  return get(context, format.mantissa, format.block, format.range,
             format.dropsSigns, format.rows);
}

numerics::BlockFormat FormatAttr::getFormat() const {
  return toFormat(getMantissa(), getBlock(), getRange(), getDropsSigns(),
                  getRows());
}

LogicalResult FormatAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int mantissa, int64_t block, int range,
                                 bool dropsSigns, int rows) {
  if (!llvm::isInt<32>(block))
    return emitError() << "format_c1: block length is " << block
                       << ", expected 8, 16, 32, 64, axis or tensor";
  if (llvm::Error error = numerics::validate(
          toFormat(mantissa, block, range, dropsSigns, rows)))
    return emitError() << "format_c1: " << llvm::toString(std::move(error));
  return success();
}

LogicalResult BFPDialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attr) {
  const StringRef name = attr.getName();
  auto complain = [&]() -> InFlightDiagnostic {
    return op->emitOpError() << "attribute '" << name << "' ";
  };
  const bool onProduct = name == kActivationsAttr || name == kWeightsAttr;
  if (!onProduct && name != kFormatAttr && name != kRangeReasonAttr)
    return complain() << "is not an attribute of the bfp dialect";
  if (onProduct ? !isa<ConvOp, MatmulOp>(op) : !isa<ModuleOp>(op))
    return complain() << "is allowed only on "
                      << (onProduct ? "products" : "modules");
  if (onProduct ? isa<FormatAttr>(attr.getValue())
                : isa<StringAttr>(attr.getValue()))
    return success();
  return complain() << "must be a " << (onProduct ? "#bfp.format" : "text")
                    << ", found " << attr.getValue();
}

} // namespace ashlar::bfp
