// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks the sorted nodes and calls their handlers.

#include "Importer.h"
#include "Extents/ExtentRules.h"
#include "Flow/Arity.h"
#include "Flow/GraphLists.h"
#include "Inputs.h"
#include "Registry.h"
#include "Tensors.h"

#include "ashlar/Support/Tensor.h"
#include "dialects/NN/NNElements.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::Error;
using llvm::Expected;
using mlir::ModuleOp;
using mlir::OwningOpRef;

namespace {

std::string qualifiedOp(const FlatNode &node) {
  return node.domain.empty() ? printable(node.op)
                             : printable(node.domain + "." + node.op);
}

std::string operandTypes(ArrayRef<Value> inputs) {
  return llvm::join(llvm::map_range(inputs,
                                    [](Value input) {
                                      return input ? typeText(input)
                                                   : std::string("-");
                                    }),
                    ", ");
}

/// Names of the operations, each once, in order.
std::string operationNames(ArrayRef<mlir::Operation *> operations) {
  llvm::SmallVector<StringRef> names;
  for (mlir::Operation *op : operations) {
    StringRef name = op->getName().getStringRef();
    if (!llvm::is_contained(names, name))
      names.push_back(name);
  }
  return llvm::join(names, ", ");
}

NodeState stateOf(const Node &node) {
  if (node.made().size() == 1)
    return NodeState::Mapped;
  if (!node.made().empty())
    return NodeState::Rewritten;
  for (Value output : node.outputs())
    if (output && constantOf(output))
      return NodeState::Folded;
  return NodeState::Removed;
}

} // namespace

StringRef ashlar::frontend::nodeStateName(NodeState state) {
  switch (state) {
  case NodeState::Mapped:
    return "mapped";
  case NodeState::Rewritten:
    return "rewritten";
  case NodeState::Folded:
    return "folded";
  case NodeState::Removed:
    return "removed";
  case NodeState::Dead:
    return "dead";
  case NodeState::Unreached:
    return "unreached";
  case NodeState::Unsupported:
    return "unsupported";
  }
  return "";
}

Importer::Importer(Model &model, const ImportOptions &options,
                   mlir::MLIRContext *context, PlaceUses places)
    : model(model), options(options), builder(context), flow(model, *this),
      places(std::move(places)) {
  context->loadDialect<mlir::func::FuncDialect, nn::NNDialect>();
  onnx::GraphProto &graph = *model.proto.mutable_graph();
  module = ModuleOp::create(builder, nameLoc(model.path));
  std::string name = graph.name().empty()
                         ? llvm::sys::path::stem(model.path).str()
                         : graph.name();
  (*module)->setAttr(nn::modelNameAttr, builder.getStringAttr(printable(name)));
  for (onnx::TensorProto &tensor : *graph.mutable_initializer())
    initializers[tensor.name()] = &tensor;
  for (const onnx::ValueInfoProto &value : graph.value_info())
    declared[value.name()] = &value.type();
  for (const onnx::ValueInfoProto &value : graph.output()) {
    declared[value.name()] = &value.type();
    readNames.insert(value.name());
  }
  for (const FlatNode &node : model.nodes)
    if (node.live)
      for (const std::string &input : operandsOf(node))
        readNames.insert(input);
}

mlir::Location Importer::nameLoc(StringRef name) {
  return mlir::NameLoc::get(builder.getStringAttr(printable(name)));
}

void Importer::define(StringRef name, Value value) {
  values[name] = value;
  if (onValue)
    onValue(name, value);
}

static Error checkOpset(const FlatNode &node) {
  if (!node.live || !node.domain.empty() ||
      (node.opset >= oldestOpset && node.opset <= newestOpset))
    return Error::success();
  return makeError(ErrorClass::Unsupported,
                   "node '{}' uses operator set {}, expected {} to {}",
                   node.name, node.opset, oldestOpset, newestOpset);
}

Error Importer::checkOpsets() const {
  for (const FlatNode &node : model.nodes)
    if (Error error = checkOpset(node))
      return error;
  return Error::success();
}

Error Importer::checkOptions() const {
  llvm::SmallVector<std::string> names;
  for (const onnx::ValueInfoProto &input : model.proto.graph().input())
    names.push_back(input.name());
  auto check = [&](StringRef flag, const std::string &name) -> Error {
    if (llvm::is_contained(names, name))
      return Error::success();
    llvm::SmallVector<std::string> texts;
    for (const std::string &known : names)
      texts.push_back(printable(known));
    return makeError(ErrorClass::Usage,
                     "{} names '{}', which is not an input; the inputs are: {}",
                     flag.str(), printable(name),
                     printable(llvm::join(texts, ", ")));
  };
  for (const auto &[name, file] : options.constants)
    if (Error error = check("--constant", name))
      return error;
  return Error::success();
}

Error Importer::readConstants() {
  for (const onnx::ValueInfoProto &input : model.proto.graph().input()) {
    auto flag = options.constants.find(input.name());
    if (flag == options.constants.end())
      continue;
    Expected<mlir::ElementsAttr> elements =
        readConstantInput(input, flag->second, builder.getContext());
    if (!elements)
      return elements.takeError();
    values[input.name()] = nn::ConstantOp::create(
        builder, nameLoc(input.name()), elements->getType(), *elements);
  }
  return Error::success();
}

/// Attributes of arguments or results: set all at once, since each change
/// rewrites the whole list.
SmallVector<mlir::DictionaryAttr>
Importer::nameAttrs(ArrayRef<const onnx::ValueInfoProto *> declarations) {
  SmallVector<mlir::DictionaryAttr> attributes;
  for (const onnx::ValueInfoProto *declaration : declarations)
    attributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
        nn::nameAttr, builder.getStringAttr(declaration->name()))));
  return attributes;
}

Error Importer::addInputs() {
  std::vector<std::string> open;
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<const onnx::ValueInfoProto *> inputs;
  for (const onnx::ValueInfoProto &input : model.proto.graph().input()) {
    // An initialiser with the name of an input is its default value: constant.
    if (options.constants.count(input.name()) ||
        initializers.contains(input.name()))
      continue;
    Expected<mlir::RankedTensorType> type =
        inputType(input, options, builder.getContext(), open);
    if (!type)
      return type.takeError();
    types.push_back(*type);
    inputs.push_back(&input);
  }
  if (!open.empty())
    return makeError(ErrorClass::Usage,
                     "the shapes of these inputs are not fixed: {}; give each "
                     "with --input-shape=NAME=1x3x224x224, or its dimensions "
                     "by name, --input-shape=batch=1,seq=128",
                     llvm::join(open, ", "));
  builder.setInsertionPointToEnd(module->getBody());
  function = mlir::func::FuncOp::create(builder, module->getLoc(), "main",
                                        builder.getFunctionType(types, {}));
  mlir::Block *body = function.addEntryBlock();
  function.setAllArgAttrs(nameAttrs(inputs));
  for (auto [i, input] : llvm::enumerate(inputs)) {
    body->getArgument(i).setLoc(nameLoc(input->name()));
    define(input->name(), body->getArgument(i));
  }
  builder.setInsertionPointToEnd(body);
  for (const onnx::ValueInfoProto *input : inputs)
    if (Error error = decodeInput(input->name()))
      return error;
  return Error::success();
}

Expected<Value> Importer::lookup(StringRef name) {
  auto known = values.find(name);
  if (known != values.end())
    return known->second;
  auto found = initializers.find(name);
  if (found == initializers.end())
    return Value();
  Expected<mlir::ElementsAttr> elements = convertTensor(
      *found->second, model.files, "initialiser '" + printable(name) + "'",
      options.maxElements, builder.getContext());
  if (!elements)
    return elements.takeError();
  Value value = nn::ConstantOp::create(builder, nameLoc(name),
                                       elements->getType(), *elements);
  values[name] = value;
  return value;
}

llvm::BitVector Importer::usedOutputs(const FlatNode &node) const {
  llvm::BitVector used(node.outputs.size());
  for (auto [i, output] : llvm::enumerate(node.outputs))
    used[i] = !output.empty() && readNames.contains(output);
  return used;
}

void Importer::addPlaceholders(const FlatNode &node) {
  Value first = node.inputs.empty() ? Value() : values.lookup(node.inputs[0]);
  for (const std::string &output : node.outputs) {
    if (output.empty())
      continue;
    mlir::Type tensor = guessTypes && first ? first.getType() : mlir::Type();
    if (auto type = declared.find(output); type != declared.end())
      if (auto known = staticType(*type->second, options, builder.getContext()))
        tensor = known;
    // The module is discarded: an extra block argument never gets out.
    if (tensor)
      define(output, function.front().addArgument(tensor, nameLoc(output)));
  }
}

Error Importer::runHandler(const FlatNode &node, SmallVector<Value> inputs,
                           NodeStatus &status) {
  auto refuse = [&](std::string why) {
    status.state = NodeState::Unsupported;
    status.detail = std::move(why);
    addPlaceholders(node);
    return Error::success();
  };
  std::string why;
  const OperatorRow *row = findOperator(node.domain, node.op, node.opset, why);
  if (!row)
    return refuse(why);
  why = model.narrow.whyRefused(node);
  if (!why.empty())
    return refuse(why);
  model.narrow.addResults(node);
  if (status.state == NodeState::Unreached)
    return Error::success();
  Node view(node, std::move(inputs), usedOutputs(node), model, quantised,
            extents, builder, nameLoc(node.name), options.maxElements);
  view.setGuard(guard);
  runWithExtents(view, row->handler);
  if (!view.failed() && !view.unreadAttribute().empty())
    view.unsupported("attribute '{}' is not understood for {} of operator set "
                     "{}",
                     printable(view.unreadAttribute()), node.op, node.opset);
  for (size_t i = 0; !view.failed() && i < node.outputs.size(); ++i)
    if (view.outputUsed(i) && !view.outputs()[i])
      view.unsupported("output {} is used but not computed", i);
  if (view.failed() && view.errorClass() == ErrorClass::Unsupported)
    return refuse(view.errorMessage());
  if (view.failed())
    return makeError(view.errorClass(), "node '{}' ({}): {}", node.name,
                     qualifiedOp(node), view.errorMessage());
  for (auto [i, output] : llvm::enumerate(node.outputs))
    if (!output.empty() && view.outputs()[i])
      define(output, view.outputs()[i]);
  status.state = stateOf(view);
  status.detail = operationNames(view.made());
  return Error::success();
}

Expected<SmallVector<Value>> Importer::operandValues(const FlatNode &node,
                                                     bool &unreached) {
  SmallVector<Value> values;
  for (const std::string &name : operandsOf(node)) {
    Expected<Value> value = name.empty() || flow.isList(name)
                                ? Expected<Value>(Value())
                                : lookup(name);
    if (!value)
      return value.takeError();
    unreached |= !name.empty() && !flow.isList(name) && !*value;
    if (auto use = places.find({node.name, values.size()});
        use != places.end() && *value) {
      value = positionOf(name, use->second);
      if (!value)
        return value.takeError();
    }
    if (values.size() < node.inputs.size())
      values.push_back(*value);
  }
  return values;
}

Error Importer::importNode(const FlatNode &node) {
  NodeStatus status;
  status.name = node.name;
  status.op = qualifiedOp(node);
  status.state = NodeState::Dead;
  if (Error error = node.live ? checkArity(node) : Error::success())
    return error;
  Error error = Error::success();
  if (node.live) {
    status.state = NodeState::Mapped;
    bool unreached = false;
    Expected<SmallVector<Value>> inputs = operandValues(node, unreached);
    if (!inputs)
      return inputs.takeError();
    if (unreached) {
      status.state = NodeState::Unreached;
      status.detail = "depends on an unsupported node";
    }
    status.shapes = operandTypes(*inputs);
    error = flow.takes(node) ? importFlow(node, status)
                             : runHandler(node, std::move(*inputs), status);
  }
  statuses.push_back(std::move(status));
  return error;
}

Error Importer::run() {
  if (Error error = checkOpsets())
    return error;
  Expected<ImportOptions> resolved =
      resolveShapes(model.proto.graph(), options);
  if (!resolved)
    return resolved.takeError();
  options = std::move(*resolved);
  auto pairs = resolveStates(model.proto.graph(), options);
  if (!pairs)
    return pairs.takeError();
  states = std::move(*pairs);
  model.filledRows = [this](Value past) {
    return isKept(past) ? filledRows() : Value();
  };
  if (Error error = checkOptions())
    return error;
  if (Error error = addInputs())
    return error;
  if (Error error = readConstants())
    return error;
  for (const FlatNode &node : model.nodes)
    if (Error error = importNode(node))
      return error;
  return Error::success();
}

Error Importer::unsupportedNodes() const {
  std::string list;
  size_t count = 0;
  for (const NodeStatus &status : statuses) {
    if (status.state != NodeState::Unsupported)
      continue;
    ++count;
    list += fmt::format("\n  node '{}': {}({}): {}", status.name, status.op,
                        status.shapes, status.detail);
  }
  if (count == 0)
    return Error::success();
  return makeError(ErrorClass::Unsupported, "{} {} not supported:{}", count,
                   count == 1 ? "node is" : "nodes are", list);
}

Error Importer::addResults() {
  auto split = splitOutputs(model.proto.graph(), flow, *this);
  if (!split)
    return split.takeError();
  model.proto.mutable_graph()->clear_output();
  SmallVector<Value> results;
  llvm::StringSet<> names;
  for (onnx::ValueInfoProto &output : *split) {
    Expected<Value> value = lookup(output.name());
    if (!value)
      return value.takeError();
    if (!*value)
      return makeError(ErrorClass::Internal, "graph output '{}' has no value",
                       printable(output.name()));
    if (auto type = staticType(output.type(), options, builder.getContext());
        type && type.getElementType() != elementOf(*value))
      return makeError(
          ErrorClass::Malformed,
          "graph output '{}' is computed as {}, declared as {}",
          printable(output.name()), typeText(*value),
          support::describe(*nn::toElementType(type.getElementType()),
                            type.getShape()));
    // PyTorch declares a value once for every place in which a model returns
    // it. Outputs go by name, so one is enough.
    if (!names.insert(output.name()).second)
      continue;
    results.push_back(*value);
    *model.proto.mutable_graph()->add_output() = std::move(output);
  }
  SmallVector<const onnx::ValueInfoProto *> outputs;
  for (const onnx::ValueInfoProto &output : model.proto.graph().output())
    outputs.push_back(&output);
  SmallVector<mlir::DictionaryAttr> attributes = nameAttrs(outputs);
  addExtents(results, attributes);
  if (Error error = keepStates(results, attributes))
    return error;
  for (auto [output, result] : llvm::zip(model.proto.graph().output(), results))
    if (Error error = encodeOutput(output, result))
      return error;
  mlir::func::ReturnOp::create(builder, function.getLoc(), results);
  function.setType(builder.getFunctionType(
      function.getArgumentTypes(), mlir::ValueRange(results).getTypes()));
  function.setAllResultAttrs(attributes);
  return Error::success();
}

/// Results with data-dependent extents name another result that has the extent.
void Importer::addExtents(SmallVector<Value> &results,
                          SmallVector<mlir::DictionaryAttr> &attributes) {
  llvm::StringSet<> names;
  for (const onnx::ValueInfoProto &output : model.proto.graph().output())
    names.insert(output.name());
  llvm::DenseMap<Value, int64_t> indexOf;
  for (size_t i = 0, declared = results.size(); i < declared; ++i) {
    auto extent = extents.find(results[i]);
    if (!extent)
      continue;
    auto [index, added] = indexOf.try_emplace(
        extent->count, static_cast<int64_t>(results.size()));
    if (added) {
      std::string name =
          attributes[i].getAs<mlir::StringAttr>(nn::nameAttr).str() + ".extent";
      while (!names.insert(name).second)
        name += "_";
      results.push_back(extent->count);
      attributes.push_back(builder.getDictionaryAttr(
          builder.getNamedAttr(nn::nameAttr, builder.getStringAttr(name))));
    }
    mlir::NamedAttrList list(attributes[i]);
    list.set(nn::extentAttr,
             builder.getDenseI64ArrayAttr({extent->axis, index->second}));
    attributes[i] = list.getDictionary(builder.getContext());
  }
}

Expected<OwningOpRef<ModuleOp>> Importer::finish() {
  if (Error error = addResults())
    return error;
  for (mlir::Operation &op :
       llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (mlir::isOpTriviallyDead(&op))
      op.erase();
  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(builder.getContext(),
                                        [&](mlir::Diagnostic &diagnostic) {
                                          diagnostics += diagnostic.str();
                                          return mlir::success();
                                        });
  if (mlir::failed(mlir::verify(*module)))
    return makeError(ErrorClass::Internal, "the imported module is invalid: {}",
                     diagnostics);
  return std::move(module);
}

ValueNames Importer::valueNames(ModuleOp module) const {
  llvm::DenseSet<Value> present;
  module.walk([&](mlir::Operation *op) {
    present.insert(op->result_begin(), op->result_end());
  });
  ValueNames names;
  for (const auto &entry : values)
    if (entry.second && present.contains(entry.second)) {
      NamedValue named{entry.first().str(), entry.second};
      if (auto extent = extents.find(entry.second)) {
        // Nobody reads the extent: nothing is known of the value.
        if (!present.contains(extent->count))
          continue;
        named.extentAxis = extent->axis;
        named.extent = extent->count;
      }
      names.push_back(std::move(named));
    }
  llvm::sort(names, [](const NamedValue &a, const NamedValue &b) {
    return a.name < b.name;
  });
  return names;
}

/// One import. The operands in \p places become positions; if there are none,
/// those that have to are put there, and the module is not to be used.
static Expected<OwningOpRef<ModuleOp>>
importOnce(StringRef path, const ImportOptions &options,
           mlir::MLIRContext *context, llvm::function_ref<Error(Model &)> edit,
           ValueNames *names, PlaceUses &places) {
  Expected<std::unique_ptr<Model>> model = loadModel(path, options);
  if (!model)
    return model.takeError();
  if (Error error = edit(**model))
    return withContext(std::move(error), path.str());
  if (options.largeConstants)
    (*model)->budget.liftConstants();
  (*model)->useHost = options.useHost;
  Importer importer(**model, options, context, places);
  Error error = importer.run();
  if (!error)
    error = importer.unsupportedNodes();
  if (error)
    return withContext(std::move(error), path.str());
  Expected<OwningOpRef<ModuleOp>> module = importer.finish();
  if (!module)
    return withContext(module.takeError(), path.str());
  const bool again = places.empty() && !importer.placesNeeded().empty();
  if (again)
    places = importer.placesNeeded();
  else if (options.warn)
    (*model)->warnAll(options.warn);
  if (names)
    *names = importer.valueNames(**module);
  return module;
}

Expected<OwningOpRef<ModuleOp>>
ashlar::frontend::importOnnx(StringRef path, const ImportOptions &options,
                             mlir::MLIRContext *context, ValueNames *names) {
  return importEdited(
      path, options, context, [](Model &) { return Error::success(); }, names);
}

Expected<OwningOpRef<ModuleOp>> ashlar::frontend::importEdited(
    StringRef path, const ImportOptions &options, mlir::MLIRContext *context,
    llvm::function_ref<Error(Model &)> edit, ValueNames *names) {
  PlaceUses places;
  auto module = importOnce(path, options, context, edit, names, places);
  if (!module || places.empty())
    return module;
  // Which operands mean positions is known only after an import without them.
  module->release().erase();
  return importOnce(path, options, context, edit, names, places);
}

Expected<std::vector<NodeStatus>>
ashlar::frontend::checkOnnx(StringRef path, const ImportOptions &options) {
  Expected<std::unique_ptr<Model>> model = loadModel(path, options);
  if (!model)
    return model.takeError();
  if (options.largeConstants)
    (*model)->budget.liftConstants();
  (*model)->useHost = options.useHost;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  Importer importer(**model, options, &context);
  if (Error error = importer.run())
    return withContext(std::move(error), path.str());
  return importer.takeStatuses();
}
