// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration and verifiers of the ashlar dialect.

#include "dialects/Ashlar/AshlarDialect.h"

#include "ashlar/Machine/Parameters.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

namespace ashlar::numerics {

/// Of the canonical text: equal policies have equal ones.
static llvm::hash_code hash_value(const ScalePolicy &policy) {
  return llvm::hash_value(llvm::StringRef(toString(policy)));
}

} // namespace ashlar::numerics

#include "dialects/Ashlar/AshlarDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Ashlar/AshlarAttrs.cpp.inc"

using namespace mlir;

namespace ashlar::records {

void AshlarDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Ashlar/AshlarAttrs.cpp.inc"
      >();
}

static constexpr llvm::StringLiteral kCount = "an i64 that is not negative";

static bool isCount(Attribute attr) {
  auto number = dyn_cast<IntegerAttr>(attr);
  return number && number.getType().isSignlessInteger(64) &&
         number.getInt() >= 0;
}

LogicalResult
DecisionAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                     StringAttr choice, StringAttr reason,
                     DictionaryAttr alternatives, DictionaryAttr facts) {
  if (choice.empty() || reason.empty())
    return emitError() << "decision_c1: expected a choice and a reason, found "
                       << choice << " and " << reason;
  auto entries = [](DictionaryAttr of) {
    return of ? of.getValue() : llvm::ArrayRef<NamedAttribute>();
  };
  for (NamedAttribute entry : entries(alternatives))
    if (!isCount(entry.getValue()))
      return emitError() << "decision_c2: expected the cycles of alternative '"
                         << entry.getName().getValue() << "' as " << kCount
                         << ", found " << entry.getValue();
  constexpr llvm::StringLiteral keys[] = {"choice", "reason", "alternatives",
                                          "node"};
  for (NamedAttribute entry : entries(facts))
    if (llvm::is_contained(keys, entry.getName().getValue()))
      return emitError() << "decision_c3: '" << entry.getName().getValue()
                         << "' is not the name of a fact";
  return success();
}

DecisionAttr decisionOf(Operation *op, llvm::StringRef name) {
  return op->getAttrOfType<DecisionAttr>(name);
}

bool isDecisionName(llvm::StringRef name) {
  return name.consume_front(kDecisionAttr) &&
         (name.empty() || name.starts_with("."));
}

void copyRecords(Operation *from, Operation *to) {
  for (NamedAttribute attr : from->getDiscardableAttrs())
    if (attr.getName().getValue().starts_with("ashlar."))
      to->setAttr(attr.getName(), attr.getValue());
}

namespace {

bool isText(Attribute attr) { return isa<StringAttr>(attr); }
bool isScale(Attribute attr) { return isa<ScaleAttr>(attr); }
bool isTarget(Attribute attr) { return isa<TargetAttr>(attr); }

/// An attribute with a name of its own.
struct Known {
  llvm::StringLiteral name;
  bool (*fits)(Attribute attr);
  llvm::StringLiteral expected;
  bool onModule; ///< and nowhere else
};

constexpr llvm::StringLiteral kText = "a text";
constexpr Known knownAttributes[] = {
    {kTargetAttr, isTarget, "a #ashlar.target", true},
    {kMacsAttr, isCount, kCount, false},
    {kWeightsAttr, isCount, kCount, false},
    {kLeastOnClusterAttr, isCount, kCount, false},
    {kScaleAttr, isScale, "a #ashlar.scale", false},
    {kPhaseAttr, isText, kText, true},
    {kNumericPlanAttr, isText, kText, true},
    {kDecisionsAttr, isText, kText, true},
};

} // namespace

LogicalResult AshlarDialect::verifyOperationAttribute(Operation *op,
                                                      NamedAttribute attr) {
  const llvm::StringRef name = attr.getName();
  auto complain = [&]() -> InFlightDiagnostic {
    return op->emitOpError() << "attribute '" << name << "' ";
  };
  if (isDecisionName(name))
    return isa<DecisionAttr>(attr.getValue())
               ? success()
               : complain()
                     << "must be a #ashlar.decision, found " << attr.getValue();
  const auto *known = llvm::find_if(
      knownAttributes, [&](const Known &one) { return one.name == name; });
  if (known == std::end(knownAttributes))
    return complain() << "is not an attribute of the ashlar dialect";
  if (known->onModule && !isa<ModuleOp>(op))
    return complain() << "is allowed only on modules";
  if (!known->fits(attr.getValue()))
    return complain() << "must be " << known->expected << ", found "
                      << attr.getValue();
  return success();
}

} // namespace ashlar::records
