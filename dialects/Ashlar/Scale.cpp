// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// #ashlar.scale: a scale policy as --scale writes it.

#include "dialects/Ashlar/AshlarDialect.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;

namespace ashlar::records {

Attribute ScaleAttr::parse(AsmParser &parser, Type) {
  const SMLoc loc = parser.getCurrentLocation();
  std::string text;
  if (parser.parseLess() || parser.parseString(&text) || parser.parseGreater())
    return {};
  llvm::Expected<numerics::ScalePolicy> policy =
      numerics::parseScalePolicy(text);
  if (policy)
    return parser.getChecked<ScaleAttr>(loc, parser.getContext(), *policy);
  parser.emitError(loc) << llvm::toString(policy.takeError());
  return {};
}

void ScaleAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printString(numerics::toString(getPolicy()));
  printer << ">";
}

LogicalResult
ScaleAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                  numerics::ScalePolicy policy) {
  if (policy.isConstant() && !policy.exponent)
    return emitError() << "scale_c1: expected the exponent of a constant, as "
                          "in fixed(e=-7), found '"
                       << numerics::toString(policy) << "'";
  return success();
}

} // namespace ashlar::records
