// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The search for the smallest model that still shows a failure: delta debugging
// over nodes, then single steps, until nothing helps.

#include "ashlar/Frontend/Onnx/Shrink.h"
#include "ShrinkGraph.h"
#include "lib/Frontend/Onnx/Model.h"
#include "lib/Frontend/Onnx/Tensors.h"

#include "ashlar/Support/FileIO.h"
#include "dialects/NN/NNDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

#include <set>

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace {

/// One search. Every member that takes a step returns whether it found one.
class Shrinker {
public:
  Shrinker(const ShrinkOptions &options, const ShrinkTrial &trial)
      : options(options), trial(trial),
        file(options.scratch + "/candidate.onnx") {}

  Error read(StringRef path);
  Expected<ShrinkResult> run(StringRef output);

private:
  using Step = Expected<bool> (Shrinker::*)();

  Expected<bool> attempt(ModelCopy candidate, StringRef step);
  bool spent() {
    return options.maxTrials != 0 && result.trials >= options.maxTrials;
  }
  Error infer();
  Expected<bool> inferredIf(bool any);

  Expected<bool> cutNodes();
  Expected<bool> bypassNodes();
  Expected<bool> dropOutputs();
  Expected<bool> declarations();
  Expected<bool> constants();
  Expected<bool> dropAttributes();
  Expected<bool> dropOptionalInputs();
  /// Tries smaller values of one extent, the smallest first, until one fails
  /// as the whole does.
  Expected<bool> shrinkExtent(int64_t extent, StringRef step,
                              llvm::function_ref<ModelCopy(int64_t)> replace);
  Expected<bool> shrinkInputs();
  Expected<bool> shrinkExtents();
  Expected<bool> zeroConstants();

  const ShrinkOptions &options;
  const ShrinkTrial &trial;
  std::string file;
  onnx::ModelProto model; ///< The smallest so far.
  ValueTypes types;       ///< Of its values.
  std::set<uint64_t> seen;
  ShrinkResult result;
};

/// Graph inputs of open shape get what `--input-shape` says.
void fixInputs(onnx::GraphProto &graph, const ValueTypes &types) {
  for (onnx::ValueInfoProto &input : *graph.mutable_input())
    if (auto type = types.find(input.name()); type != types.end())
      setType(input, type->second);
}

/// Graph inputs of known type that have no constant default.
std::vector<ShrinkInput> inputsOf(const onnx::ModelProto &candidate) {
  llvm::StringSet<> defaults;
  for (const onnx::TensorProto &tensor : candidate.graph().initializer())
    defaults.insert(tensor.name());
  std::vector<ShrinkInput> inputs;
  for (const onnx::ValueInfoProto &value : candidate.graph().input()) {
    const auto &tensor = value.type().tensor_type();
    auto type = elementTypeOf(tensor.elem_type(), "input");
    if (!type) {
      llvm::consumeError(type.takeError());
      continue;
    }
    if (defaults.contains(value.name()) || !tensor.has_shape())
      continue;
    ShrinkInput input{value.name(), *type, {}};
    for (const auto &extent : tensor.shape().dim())
      input.shape.push_back(extent.has_dim_value() ? extent.dim_value() : -1);
    if (llvm::all_of(input.shape, [](int64_t extent) { return extent >= 0; }))
      inputs.push_back(std::move(input));
  }
  return inputs;
}

Expected<onnx::ModelProto> parseFile(StringRef path) {
  auto buffer = support::readFile(path);
  if (!buffer)
    return buffer.takeError();
  Model parsed;
  parsed.folder = llvm::sys::path::parent_path(path).str();
  if (Error error = parseModel((*buffer)->getBuffer(), parsed))
    return withContext(std::move(error), path.str());
  return std::move(parsed.proto);
}

Error Shrinker::read(StringRef path) {
  auto file = parseFile(path);
  if (!file)
    return file.takeError();
  model = std::move(*file);
  StringRef folder = llvm::sys::path::parent_path(path);
  types = inferTypes(path.str(), model.graph(), options.import);
  // Candidates lie elsewhere: external data moves into the file. What cannot
  // be read may be the failure itself and stays as it is.
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<nn::NNDialect>();
  TensorFiles files(folder.empty() ? "." : folder);
  for (onnx::TensorProto &tensor :
       *model.mutable_graph()->mutable_initializer()) {
    onnx::TensorProto copy = tensor;
    auto raw = makeRaw(copy, files, &context);
    if (raw)
      tensor = std::move(copy);
    else
      llvm::consumeError(raw.takeError());
  }
  fixInputs(*model.mutable_graph(), types);
  result.before = sizeOf(model);
  return Error::success();
}

/// Puts a candidate on trial; what still fails becomes the model.
Expected<bool> Shrinker::attempt(ModelCopy candidate, StringRef step) {
  if (!candidate || spent())
    return false;
  auto bytes = serialise(*candidate, "the candidate");
  if (!bytes)
    return bytes.takeError();
  if (!seen.insert(llvm::xxh3_64bits(*bytes)).second)
    return false;
  if (Error error = support::writeFileAtomically(file, StringRef(*bytes)))
    return error;
  ++result.trials;
  auto fails = trial({file, inputsOf(*candidate)});
  if (!fails || !*fails)
    return fails;
  model = std::move(*candidate);
  if (options.onStep)
    options.onStep(step, sizeOf(model));
  return true;
}

/// Types after extents have changed.
Error Shrinker::infer() {
  auto bytes = serialise(model, "the model");
  if (!bytes)
    return bytes.takeError();
  if (Error error = support::writeFileAtomically(file, StringRef(*bytes)))
    return error;
  types = inferTypes(file, model.graph(), ImportOptions());
  for (onnx::ValueInfoProto &output : *model.mutable_graph()->mutable_output())
    if (auto type = types.find(output.name()); type != types.end())
      setType(output, type->second);
  return Error::success();
}

/// What a step that changes extents returns: shapes are inferred again if it
/// found `any`.
Expected<bool> Shrinker::inferredIf(bool any) {
  if (any)
    if (Error error = infer())
      return error;
  return any;
}

/// Smaller extents worth a trial, smallest first. Steps of one only near the
/// end: they would take a round of the whole search each.
llvm::SmallVector<int64_t, 4> smallerThan(int64_t extent) {
  llvm::SmallVector<int64_t, 4> smaller;
  for (int64_t to : {int64_t(1), extent / 4, extent / 2,
                     extent <= 8 ? extent - 1 : int64_t(0)})
    if (to >= 1 && to < extent && !llvm::is_contained(smaller, to))
      smaller.push_back(to);
  return smaller;
}

/// Cuts away halves, quarters, ... and in the end single nodes.
Expected<bool> Shrinker::cutNodes() {
  bool any = false;
  for (int chunk = std::max(model.graph().node_size() / 2, 1);; chunk /= 2) {
    for (int end = model.graph().node_size(); end > 0;) {
      // From the back: tails are cut most often, and what they read turns into
      // graph outputs, which need no type.
      const int begin = std::max(end - chunk, 0);
      std::vector<bool> keep(model.graph().node_size(), true);
      std::fill(keep.begin() + begin, keep.begin() + end, false);
      auto kept = attempt(keepNodes(model, keep, types), "cut");
      if (!kept)
        return kept;
      any |= *kept;
      end = begin;
    }
    if (chunk <= 1)
      return any;
  }
}

Expected<bool> Shrinker::bypassNodes() {
  bool any = false;
  for (int node = model.graph().node_size() - 1; node >= 0; --node)
    for (int input = 0; node < model.graph().node_size() &&
                        input < model.graph().node(node).input_size();
         ++input) {
      auto kept = attempt(bypassNode(model, node, input, types), "bypass");
      if (!kept)
        return kept;
      any |= *kept;
      if (*kept)
        break;
    }
  return any;
}

Expected<bool> Shrinker::dropOutputs() {
  bool any = false;
  for (int output = model.graph().output_size() - 1; output >= 0; --output) {
    auto kept = attempt(dropOutput(model, output), "output");
    if (!kept)
      return kept;
    any |= *kept;
  }
  return any;
}

Expected<bool> Shrinker::declarations() {
  return attempt(dropDeclarations(model), "declarations");
}

Expected<bool> Shrinker::constants() {
  return attempt(constantsAsInitializers(model), "constants");
}

Expected<bool> Shrinker::dropAttributes() {
  bool any = false;
  for (int node = 0; node < model.graph().node_size(); ++node)
    for (int i = model.graph().node(node).attribute_size() - 1; i >= 0; --i) {
      onnx::ModelProto candidate = model;
      candidate.mutable_graph()
          ->mutable_node(node)
          ->mutable_attribute()
          ->DeleteSubrange(i, 1);
      auto kept = attempt(std::move(candidate), "attribute");
      if (!kept)
        return kept;
      any |= *kept;
    }
  return any;
}

/// Drops last inputs; what only they read goes with the next cut.
Expected<bool> Shrinker::dropOptionalInputs() {
  bool any = false;
  for (int node = 0; node < model.graph().node_size(); ++node)
    while (model.graph().node(node).input_size() > 1) {
      onnx::ModelProto candidate = model;
      candidate.mutable_graph()
          ->mutable_node(node)
          ->mutable_input()
          ->RemoveLast();
      std::vector<bool> all(model.graph().node_size(), true);
      auto kept = attempt(keepNodes(candidate, all, types), "input");
      if (!kept)
        return kept;
      any |= *kept;
      if (!*kept)
        break;
    }
  return any;
}

Expected<bool>
Shrinker::shrinkExtent(int64_t extent, StringRef step,
                       llvm::function_ref<ModelCopy(int64_t)> replace) {
  for (int64_t to : smallerThan(extent)) {
    auto kept = attempt(replace(to), step);
    if (!kept || *kept)
      return kept;
  }
  return false;
}

Expected<bool> Shrinker::shrinkInputs() {
  bool any = false;
  for (int input = 0; input < model.graph().input_size(); ++input) {
    const int rank =
        model.graph().input(input).type().tensor_type().shape().dim_size();
    for (int axis = 0; axis < rank; ++axis) {
      const int64_t extent = model.graph()
                                 .input(input)
                                 .type()
                                 .tensor_type()
                                 .shape()
                                 .dim(axis)
                                 .dim_value();
      auto kept = shrinkExtent(extent, "size", [&](int64_t to) {
        return replaceInputExtent(model, input, axis, to);
      });
      if (!kept)
        return kept;
      any |= *kept;
    }
  }
  return inferredIf(any);
}

Expected<bool> Shrinker::shrinkExtents() {
  bool any = false;
  for (int64_t extent : extentsOf(model)) {
    auto kept = shrinkExtent(extent, "extent", [&](int64_t to) {
      return replaceExtent(model, extent, to);
    });
    if (!kept)
      return kept;
    any |= *kept;
  }
  return inferredIf(any);
}

Expected<bool> Shrinker::zeroConstants() {
  bool any = false;
  for (int i = 0; i < model.graph().initializer_size(); ++i) {
    auto kept = attempt(zeroInitializer(model, i), "zeros");
    if (!kept)
      return kept;
    any |= *kept;
  }
  return any;
}

Expected<ShrinkResult> Shrinker::run(StringRef output) {
  auto shows = attempt(model, "start");
  if (!shows)
    return shows.takeError();
  if (!*shows)
    return makeError(ErrorClass::Usage, "{}",
                     "the model written anew, with external data inside and "
                     "fixed input shapes, does not show the failure");
  constexpr Step steps[] = {
      &Shrinker::cutNodes,       &Shrinker::declarations,
      &Shrinker::constants,      &Shrinker::dropOutputs,
      &Shrinker::bypassNodes,    &Shrinker::shrinkInputs,
      &Shrinker::shrinkExtents,  &Shrinker::dropOptionalInputs,
      &Shrinker::dropAttributes, &Shrinker::zeroConstants};
  for (bool changed = true; changed && !spent();) {
    changed = false;
    for (Step step : steps) {
      auto kept = (this->*step)();
      if (!kept)
        return kept.takeError();
      changed |= *kept;
    }
  }
  result.complete = !spent();
  result.after = sizeOf(model);
  auto bytes = serialise(model, "the result");
  if (!bytes)
    return bytes.takeError();
  if (Error error = support::writeFileAtomically(output, StringRef(*bytes)))
    return error;
  return result;
}

} // namespace

Expected<std::vector<ShrinkInput>>
ashlar::frontend::shrinkInputs(StringRef path, const ImportOptions &options) {
  auto model = parseFile(path);
  if (!model)
    return model.takeError();
  fixInputs(*model->mutable_graph(),
            inferTypes(path.str(), model->graph(), options));
  return inputsOf(*model);
}

Expected<ShrinkResult> ashlar::frontend::shrink(StringRef path,
                                                StringRef output,
                                                const ShrinkOptions &options,
                                                const ShrinkTrial &trial) {
  Shrinker shrinker(options, trial);
  if (Error error = shrinker.read(path))
    return error;
  return shrinker.run(output);
}
