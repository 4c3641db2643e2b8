// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes of a graph or of a function as flat nodes: values renamed, attribute
// references resolved, calls of the model's functions inlined. Depth and size
// are limited, as a small file can describe an exponentially large graph.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_FLATTEN_H
#define ASHLAR_LIB_FRONTEND_ONNX_FLATTEN_H

#include "Model.h"

#include "llvm/ADT/StringSet.h"

#include <functional>

namespace ashlar::frontend {

/// Calls and graphs inside of each other, at most.
inline constexpr unsigned kMaxDepth = 64;

using ProtoNodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
using BoundAttributes = llvm::StringMap<const onnx::AttributeProto *>;

llvm::StringRef normalDomain(llvm::StringRef domain);

/// Where the nodes being flattened stand. Flat names of a scope begin with its
/// prefix, and no name outside of it does.
struct Scope {
  std::shared_ptr<const Opsets> opsets;
  std::string prefix; ///< Of node and value names; empty at the top.
  /// Inner name -> flat name, where that is not the name with the prefix.
  llvm::StringMap<std::string> values;
  /// Values of the scope that no node of it defines.
  std::vector<llvm::StringRef> roots;
  /// Every name that the scope gives, sorted; empty until one is asked for.
  std::vector<std::string> names;
  const BoundAttributes *bound = nullptr; ///< Attributes of the call.
  unsigned depth = 0;

  std::string flatName(const std::string &name) const;
};

class Flattener {
public:
  using Sink = std::function<void(FlatNode)>;

  Flattener(Model &model, Sink sink) : model(model), sink(std::move(sink)) {}

  /// Reads the model's functions.
  llvm::Error addFunctions();
  llvm::Error expand(const ProtoNodes &nodes, Scope &scope);
  /// The body of `function` in place of `call`, which is in `scope`.
  llvm::Error inlineCall(const FlatNode &call,
                         const onnx::FunctionProto &function,
                         const Scope &scope);

private:
  llvm::Error add(const ProtoNodes &nodes, size_t index, Scope &scope);
  llvm::Error addAttributes(const onnx::NodeProto &node, const Scope &scope,
                            FlatNode &flat);
  void addGraphs(const onnx::AttributeProto &attribute, const Scope &scope,
                 FlatNode &flat);
  llvm::Error bindDefaults(const onnx::FunctionProto &function,
                           BoundAttributes &bound);

  std::string uniqueName(std::string name, size_t index) {
    std::string candidate = name;
    while (!names.insert(candidate).second)
      candidate = name + "_" + std::to_string(index++);
    return candidate;
  }

  Model &model;
  Sink sink;
  llvm::StringMap<const onnx::FunctionProto *> functions;
  llvm::StringSet<> names;
};

/// The imported operator sets of a model or function. Tools that join models
/// leave the imports of all of them; the last of one domain counts, as for
/// ONNX's checker and ONNX Runtime, and `remarks` says so.
template <class Imports>
Opsets readOpsets(const Imports &imports, std::vector<std::string> &remarks) {
  Opsets opsets;
  for (const onnx::OperatorSetIdProto &entry : imports) {
    const auto version = static_cast<int64_t>(entry.version());
    auto [it, isNew] =
        opsets.try_emplace(normalDomain(entry.domain()).str(), version);
    if (isNew || it->second == version)
      continue;
    remarks.push_back(fmt::format(
        "operator set '{}' is imported as versions {} and {}; the last counts",
        printable(it->first), it->second, version));
    it->second = version;
  }
  return opsets;
}

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_FLATTEN_H
