// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides for every encode event who chooses its scale exponent
// (docs/Numerics.md 5). Input: the plan with storage decided. Output: the same;
// ops whose result is an event of another policy than `runmax` say so.

#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Analysis/Module/NumericPlan.h"
#include "ashlar/Numerics/FormatTable.h"
#include "ashlar/Transforms/BFP/Passes.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/BFP/EncodeEvents.h"
#include "dialects/NN/NNOps.h"

#include "ashlar/Support/Json.h"

#include <cmath>
#include <limits>

using namespace mlir;
using ashlar::numerics::ScaleKind;
using ashlar::numerics::ScalePolicy;

namespace ashlar::bfp {

#define GEN_PASS_DEF_CHOOSESCALES
#include "ashlar/Transforms/BFP/Passes.h.inc"

namespace {
/// The largest magnitude of a value.
struct Range {
  float bound;
  /// Limits are numbers of the model: they may lie far beyond what comes, as
  /// those that keep infinities away.
  bool ofClip = false;
};
} // namespace

/// The range that a unary function gives; nothing if it has none.
static std::optional<Range> rangeOf(StringRef function, float alpha,
                                    float beta) {
  if (function == "clip") {
    const float bound = std::max(std::fabs(alpha), std::fabs(beta));
    // All finite numbers are no range.
    if (!(bound > 0) || bound >= std::numeric_limits<float>::max())
      return std::nullopt;
    return Range{bound, true};
  }
  for (StringRef name :
       {"sigmoid", "tanh", "hardSigmoid", "softsign", "erf", "sign", "not"})
    if (function == name)
      return Range{1.0f};
  return std::nullopt;
}

/// The range of `value` that its op guarantees for any operands.
static std::optional<Range> knownRange(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<EncodeOp, DecodeOp>(op) ||
      (op && isMovement(op) && op->getNumOperands() == 1))
    return isa<nn::PadOp>(op) ? std::nullopt : knownRange(op->getOperand(0));
  auto ofProduct = [](auto product) {
    return rangeOf(product.getFunction(), product.getAlpha().convertToFloat(),
                   product.getBeta().convertToFloat());
  };
  if (auto conv = dyn_cast_if_present<ConvOp>(op))
    return ofProduct(conv);
  if (auto matmul = dyn_cast_if_present<MatmulOp>(op))
    return ofProduct(matmul);
  if (auto unary = dyn_cast_if_present<nn::UnaryOp>(op))
    return rangeOf(nn::stringifyUnaryFunction(unary.getFunction()),
                   unary.getAlpha().convertToFloat(),
                   unary.getBeta().convertToFloat());
  if (auto affine = dyn_cast_if_present<AffineOp>(op))
    return ofProduct(affine);
  if (isa_and_nonnull<nn::SoftmaxOp>(op))
    return Range{1.0f};
  if (auto pool = dyn_cast_if_present<nn::AvgPoolOp>(op);
      pool && pool.getSums())
    return std::nullopt;
  // Windows never leave the range of what they look at.
  if (isa_and_nonnull<nn::MaxPoolOp, nn::AvgPoolOp>(op))
    return knownRange(op->getOperand(0));
  return std::nullopt;
}

namespace {
class ScaleChooser {
public:
  ScaleChooser(func::FuncOp function, const numerics::FormatTable &table)
      : function(function), table(table), events(function), names(function),
        asked(events.getEvents().size()) {}

  LogicalResult readProfile(StringRef text);
  LogicalResult run();
  unsigned numChosen = 0;

private:
  void collect();
  LogicalResult decide(Value root, ScalePolicy policy);
  std::optional<int> exponentOf(Value root);

  func::FuncOp function;
  const numerics::FormatTable &table;
  EncodeEvents events;
  analysis::PlanNames names;
  /// By event: the policy that its products ask for.
  SmallVector<std::optional<ScalePolicy>> asked;
  llvm::StringMap<int> profile;
};

struct ChooseScales : impl::ChooseScalesBase<ChooseScales> {
  using ChooseScalesBase::ChooseScalesBase;

protected:
  void runOnOperation() override;
};
} // namespace

LogicalResult ScaleChooser::readProfile(StringRef text) {
  llvm::Expected<llvm::json::Value> value = support::parseJson(text);
  if (!value)
    return function.emitError("expected exponents as JSON: ")
           << llvm::toString(value.takeError());
  const llvm::json::Object *object = value->getAsObject();
  if (!object)
    return function.emitError("expected exponents as a JSON object");
  for (const auto &[name, entry] : *object) {
    std::optional<int64_t> exponent = entry.getAsInteger();
    if (!exponent || *exponent < -1024 || *exponent > 1024)
      return function.emitError("expected exponents from -1024 to 1024, found "
                                "another value for '")
             << StringRef(name) << "'";
    profile[StringRef(name)] = static_cast<int>(*exponent);
  }
  return success();
}

/// Products ask for what they read. Where they disagree, the policy that never
/// saturates serves them all.
void ScaleChooser::collect() {
  function.walk([&](Operation *op) {
    if (!isa<ConvOp, MatmulOp>(op))
      return;
    ScalePolicy wanted = table.scaleOf(analysis::getNodeName(op->getLoc()));
    for (Value factor : op->getOperands().take_front(2)) {
      std::optional<unsigned> event = events.getEvent(factor);
      if (!event)
        continue;
      for (unsigned leaf : events.getLeaves(*event))
        asked[leaf] =
            asked[leaf].value_or(wanted) == wanted ? wanted : ScalePolicy();
    }
  });
}

/// E of a constant policy: from what the op guarantees, else from the profile;
/// from the profile too if no sample reaches one step of a clip's range.
std::optional<int> ScaleChooser::exponentOf(Value root) {
  const int offset = getBlockType(root.getType()).getExponentOffset();
  std::optional<int> measured;
  if (auto found = profile.find(names.getName(root)); found != profile.end())
    measured = found->second;
  const std::optional<Range> range = knownRange(root);
  if (!range)
    return measured;
  const int covering = std::ilogb(range->bound) - offset;
  const bool unreached = measured && *measured + offset < covering;
  return range->ofClip && unreached ? measured : covering;
}

LogicalResult ScaleChooser::decide(Value root, ScalePolicy policy) {
  Operation *op = root.getDefiningOp();
  if (policy.isConstant() && !policy.exponent)
    policy.exponent = exponentOf(root);
  if (policy.isConstant() && !policy.exponent)
    return op->emitError("scale policy '")
           << numerics::scaleKindName(policy.kind) << "' of '"
           << names.getName(root)
           << "': no known range, expected samples (--calibrate) that are not "
              "all zero here, or an exponent as in fixed(e=-7)";
  if (policy.isStored() && getBlockType(root.getType()).isWholeTensor() &&
      (policy.isStateful() || policy.repairs()))
    return op->emitError("scale policy '")
           << numerics::toString(policy) << "' of '" << names.getName(root)
           << "': a block of the whole tensor has no exponent of its own "
              "before it is complete, expected block=16, whose blocks share "
              "the exponent of the policy all the same";
  op->setAttr(records::kScaleAttr,
              records::ScaleAttr::get(op->getContext(), policy));
  ++numChosen;
  return success();
}

LogicalResult ScaleChooser::run() {
  collect();
  LogicalResult result = success();
  for (auto [id, event] : llvm::enumerate(events.getEvents())) {
    // E of a concat is the maximum of its parts, E of a constant is known.
    if (!event.parts.empty() || analysis::isPlanConstant(event.root))
      continue;
    ScalePolicy policy = asked[id].value_or(table.scale);
    if (policy.kind != ScaleKind::RunMax && failed(decide(event.root, policy)))
      result = failure();
  }
  return result;
}

void ChooseScales::runOnOperation() {
  ModuleOp module = getOperation();
  auto function = module.lookupSymbol<func::FuncOp>("main");
  if (!function)
    return;
  llvm::Expected<numerics::FormatTable> table =
      format.empty() ? numerics::FormatTable()
                     : numerics::parseFormatTable(format, "formats");
  if (!table) {
    module.emitError(llvm::toString(table.takeError()));
    return signalPassFailure();
  }
  ScaleChooser chooser(function, *table);
  if ((!exponents.empty() && failed(chooser.readProfile(exponents))) ||
      failed(chooser.run()))
    return signalPassFailure();
  numChosen += chooser.numChosen;
}

} // namespace ashlar::bfp
