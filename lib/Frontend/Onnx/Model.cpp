// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses a model file and sorts its nodes. libonnx's checker and shape
// inference are not used: they stop at old versions and throw.

#include "Model.h"

#include "Files/ExternalFiles.h"
#include "Flow/GraphLists.h"

#include "ashlar/Frontend/Onnx/Import.h"
#include "ashlar/Support/FileIO.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <limits>
#include <queue>

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace {

/// Value names defined before any node runs.
Expected<llvm::StringSet<>> collectRoots(const onnx::GraphProto &graph) {
  llvm::StringSet<> names, inputs;
  for (const onnx::ValueInfoProto &input : graph.input()) {
    if (input.name().empty())
      return makeError(ErrorClass::Malformed, "a graph input has no name");
    if (!inputs.insert(input.name()).second)
      return makeError(ErrorClass::Malformed,
                       "graph input '{}' is declared twice",
                       printable(input.name()));
    names.insert(input.name());
  }
  llvm::StringSet<> initializers;
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    if (tensor.name().empty())
      return makeError(ErrorClass::Malformed, "an initialiser has no name");
    if (!initializers.insert(tensor.name()).second)
      return makeError(ErrorClass::Malformed,
                       "initialiser '{}' is defined twice",
                       printable(tensor.name()));
    names.insert(tensor.name());
  }
  return names;
}

using Producers = llvm::StringMap<size_t>;

Expected<Producers> collectProducers(const Model &model,
                                     const llvm::StringSet<> &roots) {
  Producers producers;
  for (size_t i = 0; i < model.nodes.size(); ++i)
    for (const std::string &output : model.nodes[i].outputs) {
      if (output.empty())
        continue;
      if (roots.contains(output) || !producers.try_emplace(output, i).second)
        return makeError(ErrorClass::Malformed,
                         "value '{}' is defined twice, the second time by "
                         "node '{}'",
                         printable(output), printable(model.nodes[i].name));
    }
  return producers;
}

/// Execution order that keeps the file's order where it is one. Fills
/// `order` with all nodes; an incomplete order means a cycle.
Error topologicalOrder(const Model &model, const llvm::StringSet<> &roots,
                       const Producers &producers, std::vector<size_t> &order) {
  size_t count = model.nodes.size();
  std::vector<std::vector<size_t>> users(count);
  std::vector<size_t> waiting(count, 0);
  for (size_t i = 0; i < count; ++i)
    for (const std::string &input : operandsOf(model.nodes[i])) {
      if (input.empty() || roots.contains(input))
        continue;
      auto it = producers.find(input);
      if (it == producers.end())
        return makeError(ErrorClass::Malformed,
                         "node '{}' reads the undefined value '{}'",
                         printable(model.nodes[i].name), printable(input));
      users[it->second].push_back(i);
      ++waiting[i];
    }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < count; ++i)
    if (waiting[i] == 0)
      ready.push(i);
  while (!ready.empty()) {
    size_t next = ready.top();
    ready.pop();
    order.push_back(next);
    for (size_t user : users[next])
      if (--waiting[user] == 0)
        ready.push(user);
  }
  for (size_t i = 0; i < count; ++i)
    if (waiting[i] != 0)
      return makeError(ErrorClass::Malformed,
                       "the graph has a cycle through node '{}'",
                       printable(model.nodes[i].name));
  return Error::success();
}

/// Marks what the graph outputs need, walking the sorted list backwards.
Error markLive(Model &model, const llvm::StringSet<> &roots,
               const Producers &producers) {
  llvm::StringSet<> needed;
  for (const onnx::ValueInfoProto &output : model.proto.graph().output()) {
    if (!roots.contains(output.name()) && !producers.contains(output.name()))
      return makeError(ErrorClass::Malformed,
                       "graph output '{}' is not defined by any node",
                       printable(output.name()));
    needed.insert(output.name());
  }
  for (FlatNode &node : llvm::reverse(model.nodes)) {
    node.live = llvm::any_of(node.outputs, [&](const std::string &name) {
      return !name.empty() && needed.contains(name);
    });
    if (node.live)
      for (const std::string &input : operandsOf(node))
        needed.insert(input);
  }
  return Error::success();
}

/// Some exporters write -1 for an extent that is not known: it becomes one that
/// a flag may set.
void openUnknownExtents(onnx::GraphProto &graph) {
  for (auto *values : {graph.mutable_input(), graph.mutable_output(),
                       graph.mutable_value_info()})
    for (onnx::ValueInfoProto &value : *values) {
      if (!value.type().tensor_type().has_shape())
        continue;
      auto *shape =
          value.mutable_type()->mutable_tensor_type()->mutable_shape();
      for (onnx::TensorShapeProto_Dimension &dim : *shape->mutable_dim())
        if (dim.has_dim_value() && dim.dim_value() == -1)
          dim.clear_dim_value();
    }
}

} // namespace

std::vector<std::string> ashlar::frontend::operandsOf(const FlatNode &node) {
  std::vector<std::string> names = node.inputs;
  for (const CapturedValue &value : node.captured)
    names.push_back(value.flat);
  return names;
}

std::string ashlar::frontend::nodeName(const onnx::NodeProto &node,
                                       size_t index) {
  return printable(node.name().empty()
                       ? node.op_type() + "_" + std::to_string(index)
                       : node.name());
}

std::string ashlar::frontend::printable(StringRef text) {
  constexpr size_t longest = 120;
  std::string result;
  for (char c : text.take_front(longest))
    result += llvm::isPrint(c) || (c & 0x80) ? c : '?';
  if (text.size() > longest)
    result += "...";
  return llvm::json::isUTF8(result) ? result : llvm::json::fixUTF8(result);
}

Expected<Model> ashlar::frontend::readModel(StringRef path) {
  auto buffer = support::readFile(path);
  if (!buffer)
    return buffer.takeError();
  Model model;
  model.path = path.str();
  model.folder = llvm::sys::path::parent_path(path).str();
  if (model.folder.empty())
    model.folder = ".";
  model.files = TensorFiles(model.folder);
  if (Error error = parseModel((*buffer)->getBuffer(), model))
    return withContext(std::move(error), model.path);
  return model;
}

/// What a file is that someone took for a model; empty if that is unknown.
static StringRef foreignFile(StringRef bytes) {
  struct Known {
    StringRef begin, what;
    size_t at = 0;
  };
  const Known known[] = {
      {"version https://git-lfs",
       "a pointer of Git LFS; `git lfs pull` fetches "
       "the file itself"},
      {StringRef("\x1f\x8b", 2), "compressed by gzip; decompress it first"},
      {StringRef("PK\x03\x04", 4), "a ZIP archive, as PyTorch saves weights; "
                                   "export the model to ONNX"},
      {StringRef("\x89HDF", 4),
       "an HDF5 file, as Keras saves models; convert it "
       "to ONNX"},
      {"TFL3", "a TensorFlow Lite model; convert it to ONNX", 4},
      {"<!DOCTYPE", "a web page; fetch the file itself"},
      {"<html", "a web page; fetch the file itself"},
  };
  for (const Known &kind : known)
    if (bytes.drop_front(std::min(kind.at, bytes.size()))
            .starts_with(kind.begin))
      return kind.what;
  return "";
}

Error ashlar::frontend::parseModel(StringRef bytes, Model &model) {
  constexpr size_t limit = std::numeric_limits<int>::max();
  if (bytes.size() > limit)
    return makeError(ErrorClass::Capacity,
                     "the file has {} bytes, protobuf reads at most {}; keep "
                     "weights in external data",
                     bytes.size(), limit);
  google::protobuf::io::ArrayInputStream stream(bytes.data(), bytes.size());
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetTotalBytesLimit(limit);
  coded.SetRecursionLimit(100);
  // Only the whole message's own checks write to standard error, of required
  // fields, and ONNX has none; the handler of such lines is one for the whole
  // process, so it is left alone.
  if (!model.proto.ParsePartialFromCodedStream(&coded) ||
      !coded.ConsumedEntireMessage()) {
    const StringRef what = foreignFile(bytes);
    return makeError(ErrorClass::Malformed, "not an ONNX model: {}",
                     what.empty()
                         ? "the protobuf message is truncated or corrupt"
                         : "it is " + what.str());
  }
  if (!model.proto.has_graph())
    return makeError(ErrorClass::Malformed,
                     "not an ONNX model: it has no graph");
  if (model.proto.has_ir_version() && model.proto.ir_version() < 1)
    return makeError(ErrorClass::Malformed, "the IR version {} is not positive",
                     static_cast<int64_t>(model.proto.ir_version()));
  if (model.proto.ir_version() < 3)
    return makeError(ErrorClass::Unsupported,
                     "the IR version is {}, expected 3 or newer",
                     static_cast<int64_t>(model.proto.ir_version()));
  if (model.proto.graph().output_size() == 0)
    return makeError(ErrorClass::Malformed, "the graph has no outputs");
  if (model.proto.graph().sparse_initializer_size() != 0)
    return makeError(ErrorClass::Unsupported,
                     "sparse initialisers are not supported");
  openUnknownExtents(*model.proto.mutable_graph());
  model.narrow.addGraph(model.proto.graph());
  return checkExternalFiles(model.proto, model.folder);
}

Error ashlar::frontend::sortNodes(Model &model) {
  Expected<llvm::StringSet<>> roots = collectRoots(model.proto.graph());
  if (!roots)
    return roots.takeError();
  Expected<Producers> producers = collectProducers(model, *roots);
  if (!producers)
    return producers.takeError();
  std::vector<size_t> order;
  if (Error error = topologicalOrder(model, *roots, *producers, order))
    return error;
  std::vector<FlatNode> sorted;
  sorted.reserve(order.size());
  for (size_t index : order)
    sorted.push_back(std::move(model.nodes[index]));
  model.nodes = std::move(sorted);
  return markLive(model, *roots, *producers);
}

/// Parses a file without the raw data of large initialisers, which stay in it.
/// False if it has to be read as a whole.
static Expected<bool> parseSkimmed(Model &model, const ImportOptions &options) {
  if (options.image)
    return false;
  auto file = support::StableFile::open(model.path);
  if (!file) {
    // Whoever reads it as a whole knows more kinds of files.
    llvm::consumeError(file.takeError());
    return false;
  }
  std::optional<SkimmedModel> skimmed = skimModel(**file);
  if (!skimmed || (*file)->size() > std::numeric_limits<int>::max())
    return false;
  // What a run leaves belongs to the programs of one model.
  if (options.autoStates || !options.states.empty()) {
    auto bytes = support::readFile(model.path);
    if (!bytes)
      return bytes.takeError();
    model.checksum = llvm::xxh3_64bits((*bytes)->getBuffer());
  }
  model.budget = support::Budget((*file)->size());
  if (Error error = parseModel(skimmed->message, model))
    return error;
  const onnx::GraphProto &graph = model.proto.graph();
  for (const SkimmedModel::Large &large : skimmed->large)
    if (large.initializer < static_cast<size_t>(graph.initializer_size()))
      model.files.setLeft(
          graph.initializer(static_cast<int>(large.initializer)),
          {*file, large.offset, large.bytes});
  return true;
}

/// Parses what the options have in the place of the file, or all of the file.
static Error parseWhole(Model &model, const ImportOptions &options) {
  std::unique_ptr<llvm::MemoryBuffer> file;
  if (!options.image) {
    auto buffer = support::readFile(model.path);
    if (!buffer)
      return buffer.takeError();
    file = std::move(*buffer);
  }
  StringRef bytes =
      options.image ? options.image->getBuffer() : file->getBuffer();
  model.budget = support::Budget(bytes.size());
  if (options.autoStates || !options.states.empty())
    model.checksum = llvm::xxh3_64bits(bytes);
  if (Error error = parseModel(bytes, model))
    return withContext(std::move(error), model.path);
  return Error::success();
}

Expected<std::unique_ptr<Model>>
ashlar::frontend::loadModel(StringRef path, const ImportOptions &options) {
  auto model = std::make_unique<Model>();
  model->path = path.str();
  model->folder = llvm::sys::path::parent_path(path).str();
  if (model->folder.empty())
    model->folder = ".";
  model->files = TensorFiles(model->folder);
  Expected<bool> skimmed = parseSkimmed(*model, options);
  if (!skimmed)
    return withContext(skimmed.takeError(), model->path);
  if (!*skimmed)
    if (Error error = parseWhole(*model, options))
      return error;
  Error error = splitInputs(*model, options);
  if (!error)
    error = flatten(*model);
  if (!error)
    error = sortNodes(*model);
  if (error)
    return withContext(std::move(error), model->path);
  return model;
}

void Model::warnAll(llvm::function_ref<void(const std::string &)> warn) const {
  for (const std::string &remark : remarks)
    warn(remark);
  if (const uint64_t left = budget.bytesRefused())
    warn(
        fmt::format("the machine makes {} MB of the model's constants in every "
                    "run, more than a file of this size may have made while "
                    "it is compiled; --large-constants stores them in the "
                    "program",
                    (left + (1 << 19)) >> 20));
}
