// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes of the npu dialect that no operation has of its own: those of a
// module. Everything else in the namespace is refused. A module comes from a
// file as often as from a pass.

#include "dialects/NPU/NPUDialect.h"
#include "dialects/NPU/Placement.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace ashlar::npu {

LogicalResult NPUDialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attr) {
  StringRef name = attr.getName();
  auto complain = [&]() -> InFlightDiagnostic {
    return op->emitOpError() << "attribute '" << name << "' ";
  };
  const bool isText = name == "npu.profile" || name == "npu.dense_reason";
  const bool isTarget = name == kTargetAttr, isUnit = name == kBanksApartAttr;
  if (!isText && !isTarget && !isUnit && name != "npu.constants")
    return complain() << "is none of the npu dialect";
  if (!isa<ModuleOp>(op))
    return complain() << "is allowed only on modules";
  const bool fits = isText     ? isa<StringAttr>(attr.getValue())
                    : isTarget ? isa<TargetAttr>(attr.getValue())
                    : isUnit   ? isa<UnitAttr>(attr.getValue())
                               : isa<RegionAttr>(attr.getValue());
  if (fits)
    return success();
  return complain() << "must be "
                    << (isText     ? "a string"
                        : isTarget ? "a #npu.target"
                        : isUnit   ? "a unit attribute"
                                   : "a #npu.region")
                    << ", found " << attr.getValue();
}

} // namespace ashlar::npu
