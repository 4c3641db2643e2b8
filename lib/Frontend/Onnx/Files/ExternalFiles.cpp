// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which files a model names, wherever a tensor may be: in graphs, in attributes
// of nodes, in functions.

#include "ExternalFiles.h"

#include "ashlar/Support/FileUse.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::Error;
using llvm::StringRef;

namespace {

class Files {
public:
  explicit Files(StringRef folder) : folder(folder) {}

  void addGraph(const onnx::GraphProto &graph) {
    for (const onnx::TensorProto &tensor : graph.initializer())
      addTensor(tensor);
    addNodes(graph.node());
  }

  template <typename Nodes>
  void addNodes(const Nodes &nodes) {
    for (const onnx::NodeProto &node : nodes)
      for (const onnx::AttributeProto &attribute : node.attribute()) {
        addTensor(attribute.t());
        for (const onnx::TensorProto &tensor : attribute.tensors())
          addTensor(tensor);
        if (attribute.has_g())
          addGraph(attribute.g());
        for (const onnx::GraphProto &graph : attribute.graphs())
          addGraph(graph);
      }
  }

  Error check() const {
    for (const auto &location : locations) {
      llvm::SmallString<256> path(folder);
      llvm::sys::path::append(path, location.getKey());
      if (Error error = support::checkRead(
              {"the model", path.str().str(), support::FileUse::Reads}))
        return error;
    }
    return Error::success();
  }

private:
  void addTensor(const onnx::TensorProto &tensor) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL)
      return;
    for (const onnx::StringStringEntryProto &entry : tensor.external_data())
      if (entry.key() == "location")
        locations.insert(entry.value());
  }

  StringRef folder;
  llvm::StringSet<> locations;
};

} // namespace

Error ashlar::frontend::checkExternalFiles(const onnx::ModelProto &model,
                                           StringRef folder) {
  Files files(folder);
  files.addGraph(model.graph());
  for (const onnx::FunctionProto &function : model.functions())
    files.addNodes(function.node());
  return files.check();
}
