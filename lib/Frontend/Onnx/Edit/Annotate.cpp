// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts into the nodes of a model.

#include "ashlar/Frontend/Onnx/Annotate.h"

#include "../Model.h"
#include "ashlar/Support/FileIO.h"
#include "llvm/Support/Path.h"

using namespace ashlar;
using namespace ashlar::frontend;

llvm::Error frontend::annotate(llvm::StringRef path, llvm::StringRef output,
                               const llvm::StringMap<std::string> &texts,
                               llvm::StringRef otherwise) {
  auto buffer = support::readFile(path);
  if (!buffer)
    return buffer.takeError();
  Model model;
  model.path = path.str();
  model.folder = llvm::sys::path::parent_path(path).str();
  if (model.folder.empty())
    model.folder = ".";
  if (llvm::Error error = parseModel((*buffer)->getBuffer(), model))
    return withContext(std::move(error), model.path);
  buffer->reset();
  size_t index = 0;
  for (onnx::NodeProto &node : *model.proto.mutable_graph()->mutable_node()) {
    const std::string name = nodeName(node, index++);
    auto text = texts.find(name);
    std::string documentation = node.doc_string();
    if (!documentation.empty())
      documentation += "\n";
    documentation += text == texts.end() ? otherwise.str() : text->second;
    node.set_doc_string(documentation);
  }
  std::string bytes;
  if (!model.proto.SerializeToString(&bytes))
    return makeError(ErrorClass::Capacity,
                     "'{}' with annotations is larger than protobuf can write",
                     model.path);
  return support::writeFileAtomically(output, llvm::StringRef(bytes));
}
