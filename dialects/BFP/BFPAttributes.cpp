// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes of the bfp dialect that no operation has of its own. Everything
// else in the namespace is refused. A module comes from a file as often as from
// a pass.

#include "ashlar/Numerics/Format.h"
#include "dialects/BFP/BFPDialect.h"
#include "dialects/BFP/BFPOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace ashlar::bfp {

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
  auto text = dyn_cast<StringAttr>(attr.getValue());
  if (!text)
    return complain() << "must be a text, found " << attr.getValue();
  if (!onProduct)
    return success();
  auto format = numerics::parseFormat(text);
  return format ? success()
                : complain()
                      << "is no format: " << llvm::toString(format.takeError());
}

} // namespace ashlar::bfp
