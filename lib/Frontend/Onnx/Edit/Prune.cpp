// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranking of weights by magnitude, and the model file around it.

#include "ashlar/Frontend/Onnx/Prune.h"

#include "ashlar/Frontend/Onnx/Import.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/Tensor.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/NNElements.h"
#include "lib/Frontend/Onnx/Model.h"
#include "lib/Frontend/Onnx/Tensors.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <tuple>

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace {

constexpr const char *kRecipeKey = "ashlar.prune";

/// Weights that are kept or zeroed together.
struct Unit {
  size_t tensor = 0;
  double score = 0; ///< Sum, then mean of magnitudes.
  std::vector<size_t> elements;
};

/// Place of an element in the row of its output channel: taps outside, input
/// channels inside.
struct Place {
  int64_t output = 0, tap = 0, input = 0;
};

Place placeOf(const PruneTensor &tensor, size_t index) {
  Place place;
  auto rest = static_cast<int64_t>(index);
  int64_t weight = 1;
  for (int64_t axis = static_cast<int64_t>(tensor.shape.size()) - 1; axis >= 0;
       --axis) {
    int64_t at = rest % tensor.shape[axis];
    rest /= tensor.shape[axis];
    if (axis == tensor.outputAxis) {
      place.output = at;
    } else if (axis == tensor.inputAxis) {
      place.input = at;
    } else {
      place.tap += at * weight;
      weight *= tensor.shape[axis];
    }
  }
  return place;
}

/// The units of one tensor, in row-major order of their first element.
std::vector<Unit> unitsOf(const PruneTensor &tensor, size_t index,
                          const PruneOptions &options) {
  std::vector<Unit> units;
  int64_t inputs = tensor.shape[tensor.inputAxis];
  int64_t blocks = (inputs + options.block - 1) / options.block;
  int64_t perOutput = 1;
  for (int64_t extent : tensor.shape)
    perOutput *= extent;
  int64_t taps = std::max<int64_t>(
      perOutput / std::max<int64_t>(inputs, 1) /
          std::max<int64_t>(tensor.shape[tensor.outputAxis], 1),
      1);
  std::vector<size_t> unitAt;
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    Place place = placeOf(tensor, i);
    auto key = static_cast<int64_t>(i);
    if (options.pattern == PrunePattern::Channel)
      key = place.output;
    else if (options.pattern == PrunePattern::Block)
      key = (place.output * taps + place.tap) * blocks +
            place.input / options.block;
    if (static_cast<size_t>(key) >= unitAt.size())
      unitAt.resize(key + 1, SIZE_MAX);
    if (unitAt[key] == SIZE_MAX) {
      unitAt[key] = units.size();
      units.push_back({index, 0, {}});
    }
    Unit &unit = units[unitAt[key]];
    unit.score += std::fabs(tensor.values[i]);
    unit.elements.push_back(i);
  }
  for (Unit &unit : units)
    unit.score /= static_cast<double>(unit.elements.size());
  return units;
}

/// Keeps the best units of one ranking.
void keepBest(std::vector<PruneTensor> &tensors, std::vector<Unit> &units,
              int64_t count) {
  std::sort(units.begin(), units.end(), [](const Unit &a, const Unit &b) {
    return std::tuple(-a.score, a.tensor, a.elements.front()) <
           std::tuple(-b.score, b.tensor, b.elements.front());
  });
  for (int64_t i = 0; i < count; ++i)
    for (size_t element : units[i].elements)
      tensors[units[i].tensor].keep[element] = true;
}

/// The n largest of every m weights of an output channel.
void keepNofM(PruneTensor &tensor, const PruneOptions &options) {
  int64_t inputs = tensor.shape[tensor.inputAxis];
  std::vector<std::vector<std::pair<int64_t, size_t>>> rows(
      tensor.shape[tensor.outputAxis]);
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    Place place = placeOf(tensor, i);
    rows[place.output].push_back({place.tap * inputs + place.input, i});
  }
  for (auto &row : rows) {
    std::sort(row.begin(), row.end());
    for (size_t first = 0; first < row.size(); first += options.m) {
      auto begin = row.begin() + static_cast<int64_t>(first);
      auto end =
          row.begin() +
          static_cast<int64_t>(std::min<size_t>(first + options.m, row.size()));
      std::sort(begin, end, [&](const auto &a, const auto &b) {
        return std::pair(-std::fabs(tensor.values[a.second]), a.first) <
               std::pair(-std::fabs(tensor.values[b.second]), b.first);
      });
      for (auto it = begin; it != end && it - begin < options.n; ++it)
        tensor.keep[it->second] = true;
    }
  }
}

/// A constant tensor of the main graph and the axes that its readers give it.
struct Weight {
  onnx::TensorProto *proto = nullptr;
  int64_t outputAxis = 0, inputAxis = 1;
};

/// Initialisers and Constant nodes by name.
llvm::StringMap<onnx::TensorProto *> constantsOf(onnx::GraphProto &graph) {
  llvm::StringMap<onnx::TensorProto *> constants;
  for (onnx::TensorProto &tensor : *graph.mutable_initializer())
    constants[tensor.name()] = &tensor;
  for (onnx::NodeProto &node : *graph.mutable_node())
    if (node.op_type() == "Constant" && node.output_size() == 1)
      for (onnx::AttributeProto &attribute : *node.mutable_attribute())
        if (attribute.name() == "value" && attribute.has_t())
          constants[node.output(0)] = attribute.mutable_t();
  return constants;
}

/// Axes (output, input) of the second input of a product of `rank`.
std::optional<std::pair<int64_t, int64_t>> axesOf(const onnx::NodeProto &node,
                                                  int64_t rank) {
  StringRef op = node.op_type();
  if (op == "Conv" && rank >= 3)
    return std::pair<int64_t, int64_t>{0, 1};
  if (op == "ConvTranspose" && rank >= 3)
    return std::pair<int64_t, int64_t>{1, 0};
  if (op == "MatMul" && rank >= 2)
    return std::pair{rank - 1, rank - 2};
  if (op != "Gemm" || rank != 2)
    return std::nullopt;
  bool transposed = llvm::any_of(node.attribute(), [](const auto &attribute) {
    return attribute.name() == "transB" && attribute.i() != 0;
  });
  return transposed ? std::pair<int64_t, int64_t>{0, 1}
                    : std::pair<int64_t, int64_t>{1, 0};
}

/// Weights of the graph in the order of their first readers.
std::vector<Weight> weightsOf(onnx::GraphProto &graph) {
  auto constants = constantsOf(graph);
  std::vector<Weight> weights;
  llvm::StringMap<bool> seen;
  for (const onnx::NodeProto &node : graph.node()) {
    if (node.input_size() < 2 || !(node.domain().empty()))
      continue;
    auto found = constants.find(node.input(1));
    if (found == constants.end())
      continue;
    auto axes = axesOf(node, found->second->dims_size());
    if (axes && seen.try_emplace(node.input(1), true).second)
      weights.push_back({found->second, axes->first, axes->second});
  }
  return weights;
}

std::string recipeOf(const PruneOptions &options,
                     llvm::ArrayRef<PrunedTensor> tensors) {
  int64_t weights = 0, kept = 0;
  for (const PrunedTensor &tensor : tensors) {
    weights += tensor.weights;
    kept += tensor.after;
  }
  constexpr const char *names[] = {"unstructured", "n:m", "block", "channel"};
  std::string pattern = names[static_cast<int>(options.pattern)];
  if (options.pattern == PrunePattern::NofM)
    pattern = fmt::format("{}:{}", options.n, options.m);
  llvm::json::Object recipe{{"pattern", pattern},
                            {"scope", options.global ? "global" : "layer"},
                            {"tensors", static_cast<int64_t>(tensors.size())},
                            {"weights", weights},
                            {"non_zero", kept}};
  if (!options.densities.empty())
    recipe["densities"] = llvm::json::Array(options.densities);
  else if (options.pattern != PrunePattern::NofM)
    recipe["density"] = options.density;
  if (options.pattern == PrunePattern::Block)
    recipe["block"] = options.block;
  return llvm::formatv("{0}", llvm::json::Value(std::move(recipe))).str();
}

/// Appends the recipe to those of earlier runs.
void addRecipe(onnx::ModelProto &model, const std::string &recipe) {
  for (onnx::StringStringEntryProto &entry : *model.mutable_metadata_props()) {
    StringRef value = entry.value();
    if (entry.key() != kRecipeKey || !value.consume_back("]"))
      continue;
    entry.set_value(value.str() + "," + recipe + "]");
    return;
  }
  onnx::StringStringEntryProto *entry = model.add_metadata_props();
  entry->set_key(kRecipeKey);
  entry->set_value("[" + recipe + "]");
}

/// Weights of one model while they are pruned.
class Pruner {
public:
  Pruner(Model &model, const PruneOptions &options)
      : model(model), options(options),
        context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<nn::NNDialect>();
  }

  Error collect();
  std::vector<PrunedTensor> apply();

private:
  Model &model;
  const PruneOptions &options;
  mlir::MLIRContext context;
  std::vector<Weight> weights;
  std::vector<std::vector<char>> bytes;
  std::vector<PruneTensor> tensors;
};

Error Pruner::collect() {
  for (const Weight &weight : weightsOf(*model.proto.mutable_graph())) {
    std::string name = printable(weight.proto->name());
    auto type =
        elementTypeOf(weight.proto->data_type(), "initialiser '" + name + "'");
    if (!type)
      return type.takeError();
    if (!isFloat(*type))
      continue;
    auto raw = makeRaw(*weight.proto, model.files, &context);
    if (!raw)
      return raw.takeError();
    PruneTensor tensor;
    tensor.name = name;
    tensor.shape.assign(weight.proto->dims().begin(),
                        weight.proto->dims().end());
    tensor.outputAxis = weight.outputAxis;
    tensor.inputAxis = weight.inputAxis;
    support::HostTensor host{*type,
                             {tensor.shape.begin(), tensor.shape.end()},
                             {raw->begin(), raw->end()}};
    for (uint64_t i = 0; i < host.numElements(); ++i)
      tensor.values.push_back(host.asDouble(i));
    weights.push_back(weight);
    bytes.push_back(std::move(*raw));
    tensors.push_back(std::move(tensor));
  }
  if (!weights.empty())
    return Error::success();
  return makeError(ErrorClass::Unsupported, "{}",
                   "no Conv, ConvTranspose, Gemm or MatMul has constant "
                   "floating-point weights: nothing to prune");
}

std::vector<PrunedTensor> Pruner::apply() {
  choosePruned(tensors, options);
  std::vector<PrunedTensor> result;
  for (auto [i, tensor] : llvm::enumerate(tensors)) {
    PrunedTensor pruned{tensor.name, static_cast<int64_t>(tensor.values.size()),
                        0, 0};
    size_t width =
        tensor.values.empty() ? 0 : bytes[i].size() / tensor.values.size();
    for (size_t e = 0; e < tensor.values.size(); ++e) {
      pruned.before += tensor.values[e] != 0;
      pruned.after += tensor.keep[e] && tensor.values[e] != 0;
      if (!tensor.keep[e])
        std::memset(&bytes[i][e * width], 0, width);
    }
    storeRaw(*weights[i].proto, bytes[i]);
    result.push_back(std::move(pruned));
  }
  return result;
}

} // namespace

std::string ashlar::frontend::parsePrunePattern(PruneOptions &options,
                                                StringRef text) {
  constexpr const char *expected =
      "expected unstructured, N:M (as 2:4), block or channel";
  if (text == "unstructured")
    options.pattern = PrunePattern::Unstructured;
  else if (text == "block")
    options.pattern = PrunePattern::Block;
  else if (text == "channel")
    options.pattern = PrunePattern::Channel;
  else {
    auto [n, m] = text.split(':');
    if (n.getAsInteger(10, options.n) || m.getAsInteger(10, options.m) ||
        options.n < 1 || options.m < options.n || options.m > 1024)
      return expected;
    options.pattern = PrunePattern::NofM;
  }
  return "";
}

void ashlar::frontend::choosePruned(std::vector<PruneTensor> &tensors,
                                    const PruneOptions &options) {
  std::vector<Unit> all;
  auto share = [](const std::vector<Unit> &units, double density) {
    return static_cast<int64_t>(
        std::llround(density * static_cast<double>(units.size())));
  };
  for (auto [i, tensor] : llvm::enumerate(tensors)) {
    tensor.keep.assign(tensor.values.size(), false);
    if (options.pattern == PrunePattern::NofM) {
      keepNofM(tensor, options);
      continue;
    }
    std::vector<Unit> units = unitsOf(tensor, i, options);
    if (!options.global)
      keepBest(tensors, units,
               share(units, options.densities.empty() ? options.density
                                                      : options.densities[i]));
    else
      std::move(units.begin(), units.end(), std::back_inserter(all));
  }
  if (options.global)
    keepBest(tensors, all, share(all, options.density));
}

Expected<std::vector<PrunedTensor>>
ashlar::frontend::prune(StringRef path, StringRef output,
                        const PruneOptions &options) {
  auto model = readModel(path);
  if (!model)
    return model.takeError();
  Pruner pruner(*model, options);
  if (Error error = pruner.collect())
    return withContext(std::move(error), model->path);
  std::vector<PrunedTensor> result = pruner.apply();
  addRecipe(model->proto, recipeOf(options, result));
  auto bytes = serialise(model->proto, "the pruned model");
  if (!bytes)
    return withContext(bytes.takeError(), model->path);
  if (Error error = support::writeFileAtomically(output, StringRef(*bytes)))
    return error;
  return result;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> ashlar::frontend::importPruned(
    StringRef path, const ImportOptions &import, const PruneOptions &options,
    mlir::MLIRContext *context, std::vector<PrunedTensor> *tensors) {
  return importEdited(path, import, context, [&](Model &model) -> Error {
    Pruner pruner(model, options);
    if (Error error = pruner.collect())
      return error;
    std::vector<PrunedTensor> result = pruner.apply();
    if (tensors)
      *tensors = std::move(result);
    return Error::success();
  });
}
