// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of operators that are carried out while the graph is walked.

#include "Flow.h"

#include "FlowNode.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::Error;
using llvm::Expected;

FlowHost::~FlowHost() = default;

Error FlowHost::choose(const std::string &, const std::string &condition,
                       const std::string &, const std::string &) {
  return makeError(ErrorClass::Unsupported, "'{}' is not known",
                   printable(condition));
}

const std::vector<FlowRow> &ashlar::frontend::flowTable() {
  static constexpr const char *list =
      "names of tensors; lengths and positions must be constant";
  static constexpr const char *definition = "the body of ONNX's definition";
  static const std::vector<FlowRow> table = {
      {"ConcatFromSequence", {11}, "one operation", "", {"axis", "new_axis"}},
      {"If",
       {1, 11, 13, 16, 19, 21, 23, 24, 25},
       "constant condition: its branch; run-time condition: both branches and "
       "a choice by element; results may differ in one extent",
       "",
       {"then_branch", "else_branch"}},
      {"Loop",
       {1, 11, 13, 16, 19, 21, 23, 24, 25},
       "its body for every round; with a count or condition known at run time "
       "all rounds run and results are chosen, and the count must have a "
       "bound in the model",
       "",
       {"body"}},
      {"NegativeLogLikelihoodLoss",
       {12, 13, 22},
       definition,
       "",
       {"ignore_index", "reduction"}},
      {"Optional", {15}, "nothing", "", {"type"}},
      {"OptionalGetElement", {15, 18}, "nothing"},
      {"OptionalHasElement", {15, 18}, "a constant"},
      {"Scan",
       {8},
       "its body for every element",
       "",
       {"body", "num_scan_inputs", "directions"}},
      {"Scan",
       {9, 11, 16, 19, 21, 23, 24, 25},
       "its body for every element",
       "",
       {"body", "num_scan_inputs", "scan_input_axes", "scan_input_directions",
        "scan_output_axes", "scan_output_directions"}},
      {"SequenceAt", {11}, list},
      {"SequenceConstruct", {11}, list},
      {"SequenceEmpty", {11}, list, "", {"dtype"}},
      {"SequenceErase", {11}, list},
      {"SequenceInsert", {11}, list},
      {"SequenceLength", {11}, "a constant"},
      {"SequenceMap", {17}, "its body for every element", "", {"body"}},
      {"SoftmaxCrossEntropyLoss",
       {12, 13},
       definition,
       "",
       {"ignore_index", "reduction"}},
      {"SplitToSequence",
       {11, 24},
       "slices; lengths must be constant",
       "",
       {"axis", "keepdims"}},
      {"FlexAttention",
       {1},
       "two products and a softmax, with the graphs of the node between",
       "ai.onnx.preview",
       {"prob_mod", "scale", "score_mod", "softmax_precision"}},
  };
  return table;
}

/// The row of the newest version that the node's operator set includes; null
/// for other operators.
static const FlowRow *rowOf(const FlatNode &node) {
  const FlowRow *found = nullptr;
  for (const FlowRow &row : flowTable())
    if (row.op == node.op && row.domain == node.domain &&
        row.versions.front() <= node.opset)
      found = &row;
  return found;
}

bool ashlar::frontend::isFlowOperator(const FlatNode &node) {
  return rowOf(node) != nullptr;
}

/// Unsupported if the node has an attribute that nothing would look at.
static Error checkAttributes(const FlatNode &node) {
  const FlowRow *row = rowOf(node);
  if (!row)
    return Error::success();
  for (const onnx::AttributeProto *attribute : node.attributes)
    if (!llvm::is_contained(row->attributes, attribute->name()))
      return makeError(ErrorClass::Unsupported,
                       "attribute '{}' is not understood for {} of operator "
                       "set {}",
                       printable(attribute->name()), node.op, node.opset);
  return Error::success();
}

bool Flow::takes(const FlatNode &node) const {
  return isFlowOperator(node) ||
         llvm::any_of(node.inputs,
                      [&](const std::string &name) { return isList(name); });
}

/// The node as the function that ONNX defines it by.
static Error runFunction(FlowNode &n) {
  std::vector<std::optional<OperandKind>> operands;
  for (size_t i = 0; i < n.flat().inputs.size(); ++i) {
    operands.emplace_back();
    if (!n.hasInput(i))
      continue;
    Expected<OperandKind> kind = n.kind(n.flat().inputs[i]);
    if (!kind)
      return kind.takeError();
    operands.back() = std::move(*kind);
  }
  if (!hasFunctionBody(n.flat()))
    return makeError(ErrorClass::Unsupported,
                     "this version is not defined as a function");
  Expected<const onnx::FunctionProto *> function =
      functionBody(n.owner(), n.flat(), operands);
  if (!function)
    return function.takeError();
  Expected<Expansion> body = expandFunction(n.owner(), n.flat(), **function);
  return body ? n.run(*body) : body.takeError();
}

Error Flow::run(const FlatNode &node) {
  if (Error error = checkAttributes(node))
    return error;
  FlowNode view(*this, node);
  using Rule = Error (*)(FlowNode &);
  const Rule rule =
      llvm::StringSwitch<Rule>(node.op)
          .Case("If", runIf)
          .Case("Loop", runLoop)
          .Case("Scan", runScan)
          .Case("SequenceMap", runSequenceMap)
          .Case("FlexAttention", runFlexAttention)
          .Cases({"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"},
                 runFunction)
          .Default(runList);
  return rule(view);
}
