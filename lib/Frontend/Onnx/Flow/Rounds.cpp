// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rounds of bodies.

#include "Rounds.h"

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::Error;
using llvm::Expected;

Expected<Expansion> ashlar::frontend::expandBody(FlowNode &n,
                                                 llvm::StringRef attribute,
                                                 llvm::StringRef place,
                                                 const Names &operands,
                                                 const std::string &condition) {
  Expected<const onnx::GraphProto *> graph = n.graph(attribute);
  if (!graph)
    return graph.takeError();
  // An empty body makes no node, and would go round for nothing for ever.
  if (!n.owner().budget.takeOperations(1))
    return makeError(ErrorClass::Capacity,
                     "its bodies become more nodes than a file of this size "
                     "may make");
  const std::string prefix = n.flat().inside + place.str() + "/";
  Expected<Expansion> body =
      expandGraph(n.owner(), n.flat(), **graph, prefix, operands);
  if (!body)
    return body;
  if (Error error = n.run(*body, condition))
    return error;
  return body;
}

Error ashlar::frontend::takeRound(Rounds &rounds, const Expansion &body,
                                  size_t first) {
  const size_t needed = first + rounds.carried.size();
  if (body.outputs.size() < needed)
    return makeError(ErrorClass::Malformed,
                     "its graph gives {} results, expected at least {}",
                     body.outputs.size(), needed);
  rounds.collected.resize(body.outputs.size() - needed);
  for (size_t i = 0; i < rounds.carried.size(); ++i)
    rounds.carried[i] = body.outputs[first + i];
  for (size_t i = 0; i < rounds.collected.size(); ++i)
    rounds.collected[i].push_back(body.outputs[needed + i]);
  return Error::success();
}

Error ashlar::frontend::setRounds(FlowNode &n, const Rounds &rounds,
                                  llvm::ArrayRef<int64_t> axes) {
  for (size_t i = 0; i < n.flat().outputs.size(); ++i) {
    if (!n.hasOutput(i))
      continue;
    if (i < rounds.carried.size()) {
      if (Error error = n.setAlias(i, rounds.carried[i]))
        return error;
      continue;
    }
    const size_t k = i - rounds.carried.size();
    if (k < rounds.whole.size() && !rounds.whole[k].empty()) {
      if (Error error = n.setAlias(i, rounds.whole[k]))
        return error;
      continue;
    }
    if (k >= rounds.collected.size() || rounds.collected[k].empty())
      return makeError(
          ErrorClass::Unsupported,
          "result {} collects no parts, because the body never runs; "
          "its shape is not known",
          i);
    Expected<std::string> whole =
        n.stack(rounds.collected[k], k < axes.size() ? axes[k] : 0);
    if (!whole)
      return whole.takeError();
    if (Error error = n.setAlias(i, *whole))
      return error;
  }
  return Error::success();
}

Expected<std::string> ashlar::frontend::choose(FlowNode &n,
                                               const std::string &condition,
                                               const std::string &yes,
                                               const std::string &no,
                                               llvm::StringRef what) {
  if (n.isList(yes) || n.isList(no) || n.isAbsent(yes) || n.isAbsent(no))
    return makeError(ErrorClass::Unsupported,
                     "the condition depends on run-time data, and {} is no "
                     "tensor",
                     what.str());
  Expected<OperandKind> left = n.kind(yes), right = n.kind(no);
  if (!left || !right)
    return joinErrors(left.takeError(), right.takeError());
  Expected<std::string> chosen = n.choose(condition, yes, no);
  if (chosen)
    return chosen;
  Error error = chosen.takeError();
  const ErrorClass kind = support::classify(error);
  return makeError(kind,
                   "the condition depends on run-time data, and {} has another "
                   "shape or type where it is false: {}",
                   what.str(), llvm::toString(std::move(error)));
}
