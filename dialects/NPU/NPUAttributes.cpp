// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes of the npu dialect that no operation has of its own: those of a
// module. Everything else in the namespace is refused. A module comes from a
// file as often as from a pass.

#include "dialects/NPU/NPUDialect.h"
#include "dialects/NPU/Placement.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace ashlar::npu {

namespace {

/// An attribute that a module may have.
struct ModuleAttribute {
  StringRef name;
  bool (*fits)(Attribute value);
  StringRef expected; ///< For diagnostics: "must be ...".
};

template <typename T>
bool is(Attribute value) {
  return isa<T>(value);
}

/// Which packed rows convolutions may have (kPackRowsAttr).
bool isPackRows(Attribute value) {
  auto mode = dyn_cast<StringAttr>(value);
  return mode && (mode == kRowsApart || mode == "columns" ||
                  mode == kRowsCompared || mode == "off");
}

/// Densities by name of the planned tensor.
bool isProfiles(Attribute value) {
  auto profiles = dyn_cast<DictionaryAttr>(value);
  return profiles && llvm::all_of(profiles, [](NamedAttribute entry) {
           return isa<ProfileAttr>(entry.getValue());
         });
}

constexpr StringLiteral kDecision = "a #ashlar.decision";

const ModuleAttribute moduleAttributes[] = {
    {"npu.profile", isProfiles, "a dictionary of #npu.profile"},
    {"npu.dense_reason", is<StringAttr>, "a string"},
    {"npu.constants", is<RegionAttr>, "a #npu.region"},
    {kBanksApartAttr, is<UnitAttr>, "a unit attribute"},
    {kPackedExponentsAttr, is<UnitAttr>, "a unit attribute"},
    {kPackRowsAttr, isPackRows,
     "\"apart\", \"columns\", \"compared\" or \"off\""},
    {kBanksDecisionAttr, is<records::DecisionAttr>, kDecision},
    {kExponentsDecisionAttr, is<records::DecisionAttr>, kDecision},
    {kComparisonsDecisionAttr, is<records::DecisionAttr>, kDecision},
};

} // namespace

LogicalResult NPUDialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attr) {
  StringRef name = attr.getName();
  auto complain = [&]() -> InFlightDiagnostic {
    return op->emitOpError() << "attribute '" << name << "' ";
  };
  const auto *known =
      llvm::find_if(moduleAttributes, [&](const ModuleAttribute &attribute) {
        return attribute.name == name;
      });
  if (known == std::end(moduleAttributes))
    return complain() << "is not an attribute of the npu dialect";
  if (!isa<ModuleOp>(op))
    return complain() << "is allowed only on modules";
  if (known->fits(attr.getValue()))
    return success();
  return complain() << "must be " << known->expected << ", found "
                    << attr.getValue();
}

} // namespace ashlar::npu
