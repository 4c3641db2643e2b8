// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that are not computed but carried out while the graph is walked:
// control flow, whose counts and conditions must be known by then, lists of
// tensors, and operators that ONNX defines by functions. All of them end as
// ordinary nodes and as other names for values, so that the importer and the
// reference share them.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_FLOW_FLOW_H
#define ASHLAR_LIB_FRONTEND_ONNX_FLOW_FLOW_H

#include "Expansion.h"

namespace ashlar::frontend {

using Names = std::vector<std::string>;

/// What the walk over a graph offers.
class FlowHost {
public:
  virtual ~FlowHost();
  /// Computes one node, which may be of Flow's own kind again.
  virtual llvm::Error run(const FlatNode &node) = 0;
  /// Says that somebody reads the value, whose node is still to come.
  virtual void keep(const std::string &name) = 0;
  /// `name` stands for the value `of` too.
  virtual llvm::Error alias(const std::string &name, const std::string &of) = 0;
  /// Numbers of an integer or boolean value if they are known now.
  virtual llvm::Expected<std::optional<std::vector<int64_t>>>
  integers(const std::string &name) = 0;
  /// A number that no element of an integer value exceeds, if there is one.
  virtual llvm::Expected<std::optional<int64_t>>
  atMost(const std::string & /*name*/) {
    return std::nullopt;
  }
  /// Element type and shape; nothing if the value hangs on an unsupported
  /// node.
  virtual llvm::Expected<std::optional<OperandKind>>
  kind(const std::string &name) = 0;
  /// `name` is `yes` where `condition`, a boolean number, is true, and else
  /// `no`: two tensors. Unsupported if it cannot be one tensor, and by walks
  /// that know every condition.
  virtual llvm::Error choose(const std::string &name,
                             const std::string &condition,
                             const std::string &yes, const std::string &no);
  /// From now on what nodes compute counts only where `condition`, a boolean
  /// number, is true; always if it is empty.
  virtual llvm::Error setGuard(const std::string & /*condition*/) {
    return llvm::Error::success();
  }
  /// How a value becomes known that is not: the end of a sentence.
  virtual std::string remedy(const std::string & /*name*/) { return {}; }
};

struct FlowRow {
  const char *op;
  std::vector<int> versions;
  const char *notes;
  /// Empty for ONNX's own.
  const char *domain = "";
  /// Those that ONNX defines.
  std::vector<llvm::StringRef> attributes = {};
};

/// The operators of Flow, sorted, for the support page.
const std::vector<FlowRow> &flowTable();

/// True for a node of an operator of the table.
bool isFlowOperator(const FlatNode &node);

class Flow {
public:
  Flow(Model &model, FlowHost &host) : model(model), host(host) {}

  /// True for a node that run() takes: an operator of the table that no rule
  /// computes, or one with a list or an empty optional as operand.
  bool takes(const FlatNode &node) const;
  /// Errors are about the node and do not name it. Unsupported ones leave the
  /// results undefined.
  llvm::Error run(const FlatNode &node);
  /// True for a value that is not a tensor.
  bool isList(const std::string &name) const {
    return lists.contains(name) || absent.contains(name);
  }

  /// The names of a sequence's elements; null for any other value.
  const Names *elementsOf(const std::string &name) const {
    auto found = lists.find(name);
    return found == lists.end() ? nullptr : &found->second;
  }

private:
  friend class FlowNode;

  Model &model;
  FlowHost &host;
  llvm::StringMap<Names> lists;
  /// Optionals without a value.
  llvm::StringMap<bool> absent;
  /// The condition under which nodes count now; empty without one.
  std::string guard;
};

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_FLOW_FLOW_H
