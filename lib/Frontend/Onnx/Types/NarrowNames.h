// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which values of a model are of narrow types, by name: the types of ONNX as
// its operators pass them on. Importer and reference ask the same table.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_TYPES_NARROWNAMES_H
#define ASHLAR_LIB_FRONTEND_ONNX_TYPES_NARROWNAMES_H

#include "NarrowType.h"
#include "lib/Frontend/Onnx/Proto.h"

#include "llvm/ADT/StringMap.h"

#include <string>

namespace ashlar::frontend {

struct FlatNode;

class NarrowNames {
public:
  /// Null if the value is of a type that the machine has.
  const NarrowType *find(llvm::StringRef name) const {
    auto found = types.find(name);
    return found == types.end() ? nullptr : found->second;
  }
  /// Notes the type of a value; null forgets it.
  void set(llvm::StringRef name, const NarrowType *type) {
    if (type)
      types[name] = type;
    else
      types.erase(name);
  }
  /// Notes the types of the graph's inputs and constants.
  void addGraph(const onnx::GraphProto &graph);
  /// Notes the types of a node's results, whose operands are noted.
  void addResults(const FlatNode &node);
  /// Why the node cannot have its operands; empty if it can.
  std::string whyRefused(const FlatNode &node) const;

private:
  llvm::StringMap<const NarrowType *> types;
};

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_TYPES_NARROWNAMES_H
