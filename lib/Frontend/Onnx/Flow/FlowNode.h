// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One node under Flow: operands, attributes and the helper nodes it makes.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_FLOW_FLOWNODE_H
#define ASHLAR_LIB_FRONTEND_ONNX_FLOW_FLOWNODE_H

#include "Flow.h"

namespace ashlar::frontend {

class FlowNode {
public:
  FlowNode(Flow &flow, const FlatNode &node)
      : flow(flow), model(flow.model), host(flow.host), node(node) {}

  const FlatNode &flat() const { return node; }
  bool hasInput(size_t i) const {
    return i < node.inputs.size() && !node.inputs[i].empty();
  }
  bool hasOutput(size_t i) const {
    return i < node.outputs.size() && !node.outputs[i].empty();
  }
  /// A required operand; malformed if it is omitted.
  llvm::Expected<std::string> input(size_t i) const;

  int64_t getInt(llvm::StringRef name, int64_t otherwise) const;
  std::vector<int64_t> getInts(llvm::StringRef name) const;
  double getFloat(llvm::StringRef name, double otherwise) const;
  bool hasAttribute(llvm::StringRef name) const { return find(name); }
  llvm::Expected<const onnx::GraphProto *> graph(llvm::StringRef name) const;

  /// The numbers of an integer value; unsupported, with `what` in the text, if
  /// they are not known now.
  llvm::Expected<std::vector<int64_t>> known(const std::string &name,
                                             llvm::StringRef what) const;
  llvm::Expected<int64_t> knownOne(const std::string &name,
                                   llvm::StringRef what) const;
  /// A number that no element of an integer value exceeds, if there is one.
  llvm::Expected<std::optional<int64_t>> atMost(const std::string &name) const {
    return host.atMost(name);
  }
  /// The shape of a tensor.
  llvm::Expected<OperandKind> kind(const std::string &name) const;

  bool isList(const std::string &name) const {
    return flow.lists.contains(name);
  }
  bool isAbsent(const std::string &name) const {
    return flow.absent.contains(name);
  }
  llvm::Expected<Names> list(const std::string &name) const;
  void setList(size_t output, Names values);
  void setAbsent(size_t output);
  /// Result `output` is the value `of`, list or tensor.
  llvm::Error setAlias(size_t output, const std::string &of);
  llvm::Error alias(const std::string &name, const std::string &of);

  /// Runs all nodes of an expansion, whose results count where `condition`, a
  /// boolean number, is true; always if it is empty.
  llvm::Error run(const Expansion &expansion,
                  const std::string &condition = {});
  /// Runs one made node and gives the name of its result. Walks over a graph
  /// that know more or less of it make other nodes, so the name tells what the
  /// node computes: what two walks call alike is one value.
  llvm::Expected<std::string> make(const char *op, Names inputs,
                                   std::vector<onnx::AttributeProto> = {});
  /// Gives the name of a choice between two tensors.
  llvm::Expected<std::string> choose(const std::string &condition,
                                     const std::string &yes,
                                     const std::string &no);
  /// A constant of 64-bit integers.
  llvm::Expected<std::string> integers(llvm::ArrayRef<int64_t> values,
                                       bool scalar = false,
                                       bool boolean = false);
  /// Each of `parts` under a new first axis, one after the other.
  llvm::Expected<std::string> stack(const Names &parts, int64_t axis);
  /// Element `at` of `name` along `axis`, without the axis.
  llvm::Expected<std::string> element(const std::string &name, int64_t at,
                                      int64_t axis);

  Model &owner() { return model; }

private:
  const onnx::AttributeProto *find(llvm::StringRef name) const;
  llvm::Error setGuard(const std::string &condition);
  /// The name of the value that `op` makes of these, and whether it is new.
  std::pair<std::string, bool>
  nameFor(llvm::StringRef op, const Names &inputs,
          llvm::ArrayRef<onnx::AttributeProto> attributes);

  Flow &flow;
  Model &model;
  FlowHost &host;
  const FlatNode &node;
  /// What the made values are, by name.
  llvm::StringMap<std::string> made;
};

onnx::AttributeProto intAttribute(const char *name, int64_t value);

llvm::Error runIf(FlowNode &n);
llvm::Error runLoop(FlowNode &n);
llvm::Error runScan(FlowNode &n);
llvm::Error runSequenceMap(FlowNode &n);
llvm::Error runFlexAttention(FlowNode &n);
/// The operators of lists and optionals.
llvm::Error runList(FlowNode &n);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_FLOW_FLOWNODE_H
