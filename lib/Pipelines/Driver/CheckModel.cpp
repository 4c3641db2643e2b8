// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Import says what it cannot map, all of it at once. Later phases refuse by an
// error that names the node.

#include "CheckModel.h"

#include "ashlar/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

namespace ashlar::pipelines {
namespace {

using frontend::NodeState;
using frontend::NodeStatus;

/// Marks the nodes that the lines of `message` name, each with the rest of its
/// line; a message without one stands in a line of its own.
void markRefused(llvm::StringRef message, std::vector<NodeStatus> &nodes) {
  bool marked = false;
  llvm::SmallVector<llvm::StringRef> lines;
  message.split(lines, '\n');
  for (llvm::StringRef line : lines) {
    llvm::StringRef rest = line.ltrim();
    if (!rest.consume_front("node '"))
      continue;
    // Names may hold quotes: the longest that is known counts.
    NodeStatus *named = nullptr;
    for (NodeStatus &node : nodes)
      if (rest.starts_with(node.name + "'") &&
          (!named || named->name.size() < node.name.size()))
        named = &node;
    if (!named)
      continue;
    named->state = NodeState::Unsupported;
    named->detail = rest.drop_front(named->name.size() + 1).ltrim(": ").str();
    marked = true;
  }
  if (marked)
    return;
  NodeStatus whole;
  whole.name = "-";
  whole.op = "-";
  whole.state = NodeState::Unsupported;
  whole.detail = message.str();
  nodes.push_back(std::move(whole));
}

} // namespace

llvm::Expected<std::vector<NodeStatus>>
checkModel(const CompileOptions &options, mlir::MLIRContext &context) {
  // As when compiling: a machine that cannot be read is an error of its own.
  auto machine = machine::load(options.machine);
  if (!machine)
    return machine.takeError();
  if (llvm::Error error = options.checkMachine(*machine))
    return error;
  auto nodes = frontend::checkOnnx(options.model, options.import);
  if (!nodes || llvm::any_of(*nodes, [](const NodeStatus &node) {
        return node.state == NodeState::Unsupported;
      }))
    return nodes;
  CompileOptions attempt = options;
  attempt.dumpPlan.clear();
  attempt.stopAfter = Phase::Emit;
  auto result = compile(attempt, context);
  if (result)
    return nodes;
  llvm::Error error = result.takeError();
  const ErrorClass kind = support::classify(error);
  const std::string message = llvm::toString(std::move(error));
  if (kind == ErrorClass::Unsupported)
    markRefused(message, *nodes);
  // Of nodes, all that can be said about those that a larger machine holds.
  else if (kind != ErrorClass::Capacity)
    return makeError(kind, "{}", message);
  return nodes;
}

} // namespace ashlar::pipelines
