// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes of the npu dialect that no operation has of its own: those of a
// module, and predictions. Everything else in the namespace is refused. A
// module comes from a file as often as from a pass.

#include "dialects/NPU/ModuleAttributes.h"
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

/// Densities by name of the planned tensor.
bool isProfiles(Attribute value) {
  auto profiles = dyn_cast<DictionaryAttr>(value);
  return profiles && llvm::all_of(profiles, [](NamedAttribute entry) {
           return isa<ProfileAttr>(entry.getValue());
         });
}

constexpr StringLiteral kDecision = "a #ashlar.decision";

const ModuleAttribute moduleAttributes[] = {
    {kProfileAttr, isProfiles, "a dictionary of #npu.profile"},
    {kConstantsAttr, is<RegionAttr>, "a #npu.region"},
    {kMeasuredAttr, is<MeasuredAttr>, "a #npu.measured"},
    {kTuningAttr, is<TuningAttr>, "a #npu.tuning"},
    {kBanksDecisionAttr, is<records::DecisionAttr>, kDecision},
    {kExponentsDecisionAttr, is<records::DecisionAttr>, kDecision},
    {kComparisonsDecisionAttr, is<records::DecisionAttr>, kDecision},
};

} // namespace

LogicalResult PredictedAttr::verify(
    llvm::function_ref<InFlightDiagnostic()> emitError,
    std::optional<int64_t> array, std::optional<int64_t> cluster,
    std::optional<int64_t> onChip, std::optional<int64_t> dram) {
  bool any = false;
  for (const std::optional<int64_t> &cycles : {array, cluster, onChip, dram}) {
    any |= cycles.has_value();
    if (cycles && *cycles < 0)
      return emitError() << "predicted_c1: expected cycles, found " << *cycles;
  }
  return any ? success()
             : emitError() << "predicted_c1: expected the cycles of a way";
}

LogicalResult
MeasuredAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                     int64_t dense, int64_t written, DictionaryAttr nodes) {
  if (dense < 0 || written < 0)
    return emitError() << "measured_c2: expected cycles of networks, found "
                       << dense << " and " << written;
  for (NamedAttribute node : nodes) {
    auto cycles = dyn_cast<DenseI64ArrayAttr>(node.getValue());
    if (!cycles || cycles.size() != 2)
      return emitError() << "measured_c1: expected two numbers of cycles for '"
                         << node.getName().getValue() << "', found "
                         << node.getValue();
  }
  return success();
}

TuningAttr TuningAttr::getDefault(MLIRContext *context) {
  return get(context, RowPackingMode::Auto, /*banks_apart=*/false,
             /*packed_exponents=*/false);
}

bool TuningAttr::isDefault() const { return *this == getDefault(getContext()); }

TuningAttr TuningAttr::withPackRows(RowPackingMode mode) const {
  return get(getContext(), mode, getBanksApart(), getPackedExponents());
}

TuningAttr TuningAttr::withBanksApart(bool apart) const {
  return get(getContext(), getPackRows(), apart, getPackedExponents());
}

TuningAttr TuningAttr::withPackedExponents(bool packed) const {
  return get(getContext(), getPackRows(), getBanksApart(), packed);
}

TuningAttr tuningOf(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto tuning =
      module ? module->getAttrOfType<TuningAttr>(kTuningAttr) : TuningAttr();
  return tuning ? tuning : TuningAttr::getDefault(op->getContext());
}

void setTuning(ModuleOp module, TuningAttr tuning) {
  if (tuning.isDefault())
    module->removeAttr(kTuningAttr);
  else
    module->setAttr(kTuningAttr, tuning);
}

LogicalResult NPUDialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attr) {
  StringRef name = attr.getName();
  auto complain = [&]() -> InFlightDiagnostic {
    return op->emitOpError() << "attribute '" << name << "' ";
  };
  if (name == kPredictedAttr) {
    if (!isa<DecisionInterface>(op))
      return complain() << "is allowed only on operations of the npu dialect";
    if (isa<PredictedAttr>(attr.getValue()))
      return success();
    return complain() << "must be a #npu.predicted, found " << attr.getValue();
  }
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
