// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which outputs replace which inputs, and how.

#include "States.h"

#include "ashlar/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::Error;
using llvm::Expected;

namespace {

template <typename List>
bool hasName(const List &list, StringRef name) {
  return llvm::any_of(list,
                      [&](const auto &value) { return value.name() == name; });
}

template <typename List>
std::string namesOf(const List &list) {
  std::string text;
  for (const auto &value : list)
    text += (text.empty() ? "" : ", ") + value.name();
  return printable(text);
}

Error checkPair(const onnx::GraphProto &graph, const StatePair &pair) {
  if (!hasName(graph.output(), pair.output))
    return makeError(ErrorClass::Usage,
                     "--state names '{}', which is not an output; the outputs "
                     "are: {}",
                     printable(pair.output), namesOf(graph.output()));
  if (!hasName(graph.input(), pair.input) ||
      hasName(graph.initializer(), pair.input))
    return makeError(ErrorClass::Usage,
                     "--state names '{}', which is not an input; the inputs "
                     "are: {}",
                     printable(pair.input), namesOf(graph.input()));
  return Error::success();
}

/// The input that an output replaces by the names that exporters give them.
std::string conventionalInput(const onnx::GraphProto &graph, StringRef output) {
  for (StringRef prefix : {"present_key_values", "present"}) {
    StringRef rest = output;
    if (!rest.consume_front(prefix))
      continue;
    for (StringRef past : {"past_key_values", "past"})
      if (std::string name = (past + rest).str();
          hasName(graph.input(), name) && !hasName(graph.initializer(), name))
        return name;
  }
  return {};
}

} // namespace

Error ashlar::frontend::addState(ImportOptions &options, StringRef flag) {
  if (flag == "auto") {
    options.autoStates = true;
    return Error::success();
  }
  // Names of exporters may contain colons; the pair is parted at the first.
  auto [output, input] = flag.split(':');
  if (output.empty() || input.empty())
    return makeError(ErrorClass::Usage,
                     "found '{}', expected --state=OUTPUT:INPUT or auto",
                     flag.str());
  if (!options.states.try_emplace(output.str(), input.str()).second)
    return makeError(ErrorClass::Usage, "--state of '{}' is given twice",
                     printable(output));
  return Error::success();
}

Expected<std::vector<StatePair>>
ashlar::frontend::resolveStates(const onnx::GraphProto &graph,
                                const ImportOptions &options) {
  std::vector<StatePair> pairs;
  llvm::StringSet<> outputs, inputs;
  for (const auto &[output, input] : options.states) {
    if (Error error = checkPair(graph, {output, input}))
      return error;
    if (!outputs.insert(output).second || !inputs.insert(input).second)
      return makeError(ErrorClass::Usage,
                       "--state names '{}' or '{}' in two pairs",
                       printable(output), printable(input));
    pairs.push_back({output, input});
  }
  if (!options.autoStates)
    return pairs;
  for (const onnx::ValueInfoProto &output : graph.output())
    if (std::string input = conventionalInput(graph, output.name());
        !input.empty() && !options.constants.count(input) &&
        !outputs.contains(output.name()) && inputs.insert(input).second)
      pairs.push_back({output.name(), input});
  if (pairs.empty())
    return makeError(ErrorClass::Usage,
                     "--state=auto finds no output called present... with an "
                     "input called past... or past_key_values...; name pairs "
                     "by --state=OUTPUT:INPUT. The outputs are: {}",
                     namesOf(graph.output()));
  return pairs;
}

/// The rows that a concatenation has after `past`; null if it is another.
static Value rowsAfter(nn::ConcatOp concat, Value past,
                       mlir::OpBuilder &builder) {
  mlir::OperandRange parts = concat.getInputs();
  if (parts.size() < 2 || parts[0] != past ||
      llvm::is_contained(llvm::drop_begin(parts), past))
    return nullptr;
  if (parts.size() == 2)
    return parts[1];
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(concat);
  const auto axis = static_cast<int64_t>(concat.getAxis());
  Shape shape(shapeOf(concat.getResult()));
  shape[axis] -= shapeOf(past)[axis];
  auto type = mlir::RankedTensorType::get(shape, elementOf(past));
  return nn::ConcatOp::create(builder, concat.getLoc(), type,
                              llvm::to_vector<4>(llvm::drop_begin(parts)),
                              axis);
}

Expected<StateUpdate> ashlar::frontend::updateOf(const StatePair &pair,
                                                 Value past, Value result,
                                                 const RowUpdates &updates) {
  StateUpdate update;
  if (auto found = updates.find(result); found != updates.end()) {
    if (found->second.past == past) {
      update.rows = found->second.rows;
      update.axis = found->second.axis;
      update.position = found->second.position;
      return update;
    }
  }
  mlir::OpBuilder builder(past.getContext());
  if (auto concat = result.getDefiningOp<nn::ConcatOp>())
    if (Value rows = rowsAfter(concat, past, builder)) {
      update.rows = rows;
      update.axis = static_cast<int64_t>(concat.getAxis());
      update.joined = concat;
      if (shapeOf(rows)[update.axis] > shapeOf(past)[update.axis])
        return makeError(ErrorClass::Unsupported,
                         "output '{}' adds {} rows in a run to input '{}', "
                         "which has room for {}: give it more with "
                         "--input-shape",
                         printable(pair.output), shapeOf(rows)[update.axis],
                         printable(pair.input), shapeOf(past)[update.axis]);
      return update;
    }
  if (result.getType() != past.getType())
    return makeError(ErrorClass::Unsupported,
                     "output '{}', {}, cannot replace input '{}', {}: expected "
                     "the same type, or the input with new rows after it",
                     printable(pair.output), typeText(result),
                     printable(pair.input), typeText(past));
  update.rows = result;
  return update;
}
