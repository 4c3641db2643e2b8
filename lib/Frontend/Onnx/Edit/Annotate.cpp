// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts into the nodes of a model.

#include "ashlar/Frontend/Onnx/Annotate.h"

#include "../Model.h"
#include "../Tensors.h"
#include "ashlar/Support/FileIO.h"

using namespace ashlar;
using namespace ashlar::frontend;

llvm::Error frontend::annotate(llvm::StringRef path, llvm::StringRef output,
                               const llvm::StringMap<std::string> &texts,
                               llvm::StringRef otherwise) {
  auto model = readModel(path);
  if (!model)
    return model.takeError();
  size_t index = 0;
  for (onnx::NodeProto &node : *model->proto.mutable_graph()->mutable_node()) {
    const std::string name = nodeName(node, index++);
    auto text = texts.find(name);
    std::string documentation = node.doc_string();
    if (!documentation.empty())
      documentation += "\n";
    documentation += text == texts.end() ? otherwise.str() : text->second;
    node.set_doc_string(documentation);
  }
  auto bytes = serialise(model->proto, "the annotated model");
  if (!bytes)
    return withContext(bytes.takeError(), model->path);
  return support::writeFileAtomically(output, llvm::StringRef(*bytes));
}
