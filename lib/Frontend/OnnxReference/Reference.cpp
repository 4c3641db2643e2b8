// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks the sorted nodes of a model. A value is dropped after its last reader,
// and initialisers are widened when the first one comes.

#include "ashlar/Frontend/OnnxReference/Reference.h"

#include "Judge.h"
#include "Narrow.h"
#include "Registry.h"

#include "ashlar/Reference/Constants.h"
#include "ashlar/Support/Error.h"
#include "lib/Frontend/Onnx/Flow/GraphLists.h"
#include "lib/Frontend/Onnx/Inputs.h"
#include "lib/Frontend/Onnx/Tensors.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace ashlar;
using namespace ashlar::onnxref;
using frontend::FlatNode;
using llvm::Error;
using llvm::Expected;

struct ModelReference::State {
  std::unique_ptr<frontend::Model> model;
  frontend::ImportOptions options;
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  llvm::StringMap<onnx::TensorProto *> initializers;
  /// Constants as stored, once read.
  llvm::StringMap<mlir::ElementsAttr> stored;
  llvm::DenseMap<const onnx::TensorProto *, mlir::ElementsAttr> attributes;
  /// Readers of each value among live nodes and outputs.
  llvm::StringMap<unsigned> readers;

  Expected<std::optional<Tensor>> constant(StringRef name);
  Expected<Tensor> attribute(const onnx::TensorProto &tensor);
  std::vector<std::string> inputNames() const;
};

namespace {

/// A value under evaluation.
struct Known {
  const Tensor *tensor = nullptr;
  std::unique_ptr<Tensor> own; ///< Empty if the tensor is an imported one.
  unsigned readers = 0;        ///< Still to come.
  bool constant = false;       ///< Depends on no input.
  /// The very number that the import continues with. A value that it has no
  /// longer it may have rounded in another place.
  bool exact = false;
  /// Made of dequantised integers, which the import may multiply as such.
  bool ofIntegers = false;
};

} // namespace

static Expected<Tensor> widen(mlir::ElementsAttr elements) {
  Expected<HostTensor> host = reference::readElements(elements);
  return host ? reference::fromHost(*host) : host.takeError();
}

/// The elements of a tensor attribute. Nodes of inlined functions share it.
Expected<Tensor>
ModelReference::State::attribute(const onnx::TensorProto &tensor) {
  mlir::ElementsAttr &known = attributes[&tensor];
  if (!known) {
    onnx::TensorProto copy = tensor;
    Expected<mlir::ElementsAttr> elements =
        frontend::convertTensor(copy, model->files, "a tensor attribute",
                                options.maxElements, &context);
    if (!elements)
      return elements.takeError();
    known = *elements;
  }
  return widen(known);
}

/// The constant of that name, if it is one.
Expected<std::optional<Tensor>>
ModelReference::State::constant(StringRef name) {
  mlir::ElementsAttr &known = stored[name];
  if (!known) {
    auto initializer = initializers.find(name);
    if (initializer == initializers.end())
      return std::optional<Tensor>();
    Expected<mlir::ElementsAttr> elements = frontend::convertTensor(
        *initializer->second, model->files,
        "initialiser '" + frontend::printable(name) + "'", options.maxElements,
        &context);
    if (!elements)
      return elements.takeError();
    known = *elements;
  }
  Expected<Tensor> tensor = widen(known);
  if (!tensor)
    return tensor.takeError();
  return std::optional<Tensor>(std::move(*tensor));
}

std::vector<std::string> ModelReference::State::inputNames() const {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto &input : model->proto.graph().input())
    if (!options.constants.count(input.name()) &&
        !initializers.contains(input.name()))
      names.push_back(input.name());
  return names;
}

namespace {

/// One evaluation of a model for one set of inputs.
class Run : private frontend::FlowHost {
public:
  using Constants =
      llvm::function_ref<Expected<std::optional<Tensor>>(StringRef)>;

  Run(frontend::Model &model, const llvm::StringMap<unsigned> &readers,
      Constants constants, TensorReader readTensor, ImportedValue imported,
      double tolerance)
      : model(model), readers(readers), constants(constants),
        readTensor(std::move(readTensor)), imported(imported),
        tolerance(tolerance), flow(model, *this) {}

  void define(StringRef name, Known value);
  Error evaluate();
  Expected<std::vector<Tensor>> outputs();

  Comparison comparison;

private:
  Error evaluateNode(const FlatNode &node);
  /// A node that stands for others (Flow.h).
  Error evaluateFlow(const FlatNode &node);
  Expected<Known *> lookup(StringRef name);

  Error run(const FlatNode &node) override { return evaluateNode(node); }
  void keep(const std::string &) override {}
  Error alias(const std::string &name, const std::string &of) override;
  Expected<std::optional<std::vector<int64_t>>>
  integers(const std::string &name) override;
  Expected<std::optional<frontend::OperandKind>>
  kind(const std::string &name) override;

  void setResults(const FlatNode &node, const EvaluatorRow &row,
                  ArrayRef<Known *> operands,
                  std::vector<std::optional<Tensor>> results);
  void compareResult(const FlatNode &node, const EvaluatorRow &row,
                     ArrayRef<Known *> operands, size_t index,
                     const Tensor &defined, const Tensor &found);
  std::vector<Tensor> variants(const FlatNode &node, const EvaluatorRow &row,
                               ArrayRef<Known *> operands, size_t index) const;
  void report(const FlatNode &node, std::string text) {
    if (!comparison.first)
      comparison.first = Difference{node.name, node.op, std::move(text)};
  }
  void dropOperands(const FlatNode &node);

  /// Readers of a value that a node under Flow makes: it stays.
  static constexpr unsigned kManyReaders = 1u << 30;

  frontend::Model &model;
  const llvm::StringMap<unsigned> &readers;
  Constants constants;
  TensorReader readTensor;
  ImportedValue imported;
  double tolerance;
  frontend::Flow flow;
  unsigned flowDepth = 0;
  llvm::StringMap<Known> values;
};

void Run::define(StringRef name, Known value) {
  if (value.own)
    value.tensor = value.own.get();
  value.readers = flowDepth > 0 ? kManyReaders : readers.lookup(name);
  if (value.readers != 0)
    values[name] = std::move(value);
}

/// The value of that name; null where its node could not be evaluated.
Expected<Known *> Run::lookup(StringRef name) {
  auto known = values.find(name);
  if (known != values.end())
    return &known->second;
  Expected<std::optional<Tensor>> tensor = constants(name);
  if (!tensor)
    return tensor.takeError();
  if (!*tensor)
    return nullptr;
  Known value;
  value.own = std::make_unique<Tensor>(std::move(**tensor));
  value.constant = value.exact = true;
  define(name, std::move(value));
  return &values[name];
}

void Run::dropOperands(const FlatNode &node) {
  if (flowDepth > 0)
    return;
  for (const std::string &name : operandsOf(node))
    if (auto value = values.find(name);
        value != values.end() && --value->second.readers == 0)
      values.erase(value);
}

/// What result `index` becomes for operands that are moved a little; nothing
/// where the operands are exact and a step of the result is one of the node.
std::vector<Tensor> Run::variants(const FlatNode &node, const EvaluatorRow &row,
                                  ArrayRef<Known *> operands,
                                  size_t index) const {
  std::vector<Tensor> results;
  const bool exact = llvm::all_of(operands, [](const Known *operand) {
    return !operand || !operand->tensor->isFloat() ||
           (operand->exact && !operand->ofIntegers);
  });
  if (row.continuity == Continuity::Steps && exact)
    return results;
  for (int move = 0; move < numMoves; ++move) {
    std::vector<Tensor> copies(operands.size());
    SmallVector<const Tensor *> given(operands.size(), nullptr);
    for (auto [i, operand] : llvm::enumerate(operands))
      if (operand) {
        copies[i] = moved(*operand->tensor, move, i);
        given[i] = &copies[i];
      }
    Call call(node, std::move(given), readTensor, model.narrow);
    row.evaluate(call);
    std::vector<std::optional<Tensor>> made = call.takeResults();
    if (!call.failed() && made[index])
      results.push_back(std::move(*made[index]));
  }
  return results;
}

void Run::compareResult(const FlatNode &node, const EvaluatorRow &row,
                        ArrayRef<Known *> operands, size_t index,
                        const Tensor &defined, const Tensor &found) {
  const Judgement judgement = judge(defined, found, tolerance, [&] {
    return variants(node, row, operands, index);
  });
  ++comparison.values;
  if (judgement.worst > comparison.worst || comparison.worstNode.empty()) {
    comparison.worst = judgement.worst;
    comparison.worstNode = node.name;
  }
  if (judgement.text.empty())
    return;
  const std::string which =
      node.outputs.size() == 1
          ? std::string()
          : " of output '" + frontend::printable(node.outputs[index]) + "'";
  report(node, fmt::format("{} {}{}", node.op, judgement.text, which));
}

void Run::setResults(const FlatNode &node, const EvaluatorRow &row,
                     ArrayRef<Known *> operands,
                     std::vector<std::optional<Tensor>> results) {
  auto isConstant = [](const Known *operand) {
    return !operand || operand->constant;
  };
  auto isOfIntegers = [](const Known *operand) {
    return operand && operand->ofIntegers;
  };
  for (auto [i, name] : llvm::enumerate(node.outputs)) {
    if (name.empty() || !results[i])
      continue;
    Known value;
    value.constant = llvm::all_of(operands, isConstant);
    // What is known before the run is computed in its own type.
    if (value.constant && results[i]->isFloat())
      reference::roundToType(*results[i], results[i]->type);
    value.ofIntegers =
        results[i]->isFloat() &&
        (node.op == "DequantizeLinear" || llvm::any_of(operands, isOfIntegers));
    const Tensor *found = imported(name);
    if (found)
      compareResult(node, row, operands, i, *results[i], *found);
    if (found && found->shape == results[i]->shape &&
        found->type == results[i]->type) {
      value.tensor = found;
      value.exact = true;
    } else {
      value.own = std::make_unique<Tensor>(std::move(*results[i]));
    }
    define(name, std::move(value));
  }
}

Error Run::alias(const std::string &name, const std::string &of) {
  Expected<Known *> value = lookup(of);
  if (!value)
    return value.takeError();
  if (!*value)
    return Error::success();
  const Known &source = **value;
  Known copy;
  copy.tensor = source.tensor;
  if (source.own)
    copy.own = std::make_unique<Tensor>(*source.own);
  copy.constant = source.constant;
  copy.exact = source.exact;
  copy.ofIntegers = source.ofIntegers;
  model.narrow.set(name, model.narrow.find(of));
  define(name, std::move(copy));
  return Error::success();
}

Expected<std::optional<std::vector<int64_t>>>
Run::integers(const std::string &name) {
  Expected<Known *> value = lookup(name);
  if (!value)
    return value.takeError();
  if (!*value || (*value)->tensor->isFloat())
    return std::nullopt;
  return (*value)->tensor->ints;
}

Expected<std::optional<frontend::OperandKind>>
Run::kind(const std::string &name) {
  Expected<Known *> value = lookup(name);
  if (!value)
    return value.takeError();
  if (!*value)
    return std::nullopt;
  const Tensor &tensor = *(*value)->tensor;
  const frontend::NarrowType *narrow = model.narrow.find(name);
  return frontend::OperandKind{narrow ? narrow->onnx
                                      : frontend::onnxTypeOf(tensor.type),
                               {tensor.shape.begin(), tensor.shape.end()}};
}

Error Run::evaluateFlow(const FlatNode &node) {
  for (const std::string &name : operandsOf(node)) {
    if (name.empty() || flow.isList(name))
      continue;
    Expected<Known *> value = lookup(name);
    if (!value)
      return value.takeError();
    if (!*value) // The node that it needs has been reported.
      return Error::success();
  }
  ++flowDepth;
  Error error = flow.run(node);
  --flowDepth;
  if (error && support::classify(error) != ErrorClass::Unsupported)
    return error;
  if (error)
    report(node, fmt::format("{} is imported, but by ONNX's definition {}",
                             node.op, llvm::toString(std::move(error))));
  // Elements of a list stay.
  if (llvm::none_of(node.outputs,
                    [&](const std::string &name) { return flow.isList(name); }))
    dropOperands(node);
  return Error::success();
}

Error Run::evaluateNode(const FlatNode &node) {
  if (flow.takes(node))
    return evaluateFlow(node);
  SmallVector<Known *> operands;
  SmallVector<const Tensor *> tensors;
  const EvaluatorRow *row = findEvaluator(node.domain, node.op, node.opset);
  bool missing = false;
  for (const std::string &name : node.inputs) {
    Expected<Known *> value =
        name.empty() ? Expected<Known *>(nullptr) : lookup(name);
    if (!value)
      return value.takeError();
    operands.push_back(*value);
    tensors.push_back(*value ? (*value)->tensor : nullptr);
    missing |= !name.empty() && !*value;
  }
  if (missing) // The node that it needs has been reported.
    return Error::success();
  model.narrow.addResults(node);
  Call call(node, std::move(tensors), readTensor, model.narrow);
  if (!row)
    call.fail("the reference has no evaluator");
  for (size_t i = 0; row && i < row->leastOperands; ++i)
    if (!call.has(i))
      call.fail("operand {} is missing", i);
  if (!call.failed())
    row->evaluate(call);
  std::vector<std::optional<Tensor>> results = call.takeResults();
  if (call.failed())
    report(node, fmt::format("{} is imported, but by ONNX's definition {}",
                             node.op, call.whyFailed()));
  else
    setResults(node, *row, operands, std::move(results));
  dropOperands(node);
  return Error::success();
}

Error Run::evaluate() {
  for (const FlatNode &node : model.nodes)
    if (node.live)
      if (Error error = evaluateNode(node))
        return error;
  return Error::success();
}

Expected<std::vector<Tensor>> Run::outputs() {
  std::vector<Tensor> results;
  auto split = frontend::splitOutputs(model.proto.graph(), flow, *this);
  if (!split)
    return split.takeError();
  for (const onnx::ValueInfoProto &output : *split) {
    Expected<Known *> value = lookup(output.name());
    if (!value)
      return value.takeError();
    if (!*value)
      return makeError(ErrorClass::Unsupported, "node '{}': {}",
                       comparison.first ? comparison.first->node : "",
                       comparison.first ? comparison.first->text : "");
    const frontend::NarrowType *type = model.narrow.find(output.name());
    results.push_back(type ? codesOf(*(*value)->tensor, *type)
                           : *(*value)->tensor);
  }
  return results;
}

} // namespace

ModelReference::ModelReference(std::unique_ptr<State> state)
    : state(std::move(state)) {}
ModelReference::ModelReference(ModelReference &&) noexcept = default;
ModelReference::~ModelReference() = default;

Expected<ModelReference>
ModelReference::load(StringRef path, const frontend::ImportOptions &options) {
  auto state = std::make_unique<State>();
  state->options = options;
  auto model = frontend::loadModel(path, options);
  if (!model)
    return model.takeError();
  state->model = std::move(*model);
  onnx::GraphProto &graph = *state->model->proto.mutable_graph();
  for (onnx::TensorProto &tensor : *graph.mutable_initializer())
    state->initializers[tensor.name()] = &tensor;
  for (const onnx::ValueInfoProto &input : graph.input())
    if (auto file = options.constants.find(input.name());
        file != options.constants.end()) {
      auto elements =
          frontend::readConstantInput(input, file->second, &state->context);
      if (!elements)
        return elements.takeError();
      state->stored[input.name()] = *elements;
    }
  for (const FlatNode &node : state->model->nodes)
    if (node.live)
      for (const std::string &input : operandsOf(node))
        ++state->readers[input];
  for (const onnx::ValueInfoProto &output : graph.output())
    ++state->readers[output.name()];
  return ModelReference(std::move(state));
}

/// Runs with all inputs defined.
static Error start(Run &run, const frontend::NarrowNames &narrow,
                   ArrayRef<std::string> names, ArrayRef<HostTensor> inputs) {
  if (names.size() != inputs.size())
    return makeError(ErrorClass::Usage, "{} inputs given, expected {}",
                     inputs.size(), names.size());
  for (auto [name, input] : llvm::zip(names, inputs)) {
    Expected<Tensor> tensor = reference::fromHost(input);
    if (!tensor)
      return tensor.takeError();
    Known value;
    const frontend::NarrowType *type = narrow.find(name);
    value.own = std::make_unique<Tensor>(type ? valuesOf(*tensor, *type)
                                              : std::move(*tensor));
    value.exact = true;
    run.define(name, std::move(value));
  }
  return run.evaluate();
}

/// What a run expands is gone after it, and its nodes are free again.
class Expanding {
public:
  /// `read` has the tensors of attributes by address.
  Expanding(frontend::Model &model,
            llvm::DenseMap<const onnx::TensorProto *, mlir::ElementsAttr> &read)
      : model(model), read(read), budget(model.budget),
        attributes(model.attributes.size()) {}
  ~Expanding() {
    read.clear();
    model.expanded.clear();
    model.bodies.clear();
    model.attributes.resize(attributes);
    model.budget = budget;
  }
  Expanding(const Expanding &) = delete;
  Expanding &operator=(const Expanding &) = delete;

private:
  frontend::Model &model;
  llvm::DenseMap<const onnx::TensorProto *, mlir::ElementsAttr> &read;
  support::Budget budget;
  size_t attributes;
};

Expected<Comparison> ModelReference::compare(ArrayRef<HostTensor> inputs,
                                             ImportedValue imported,
                                             double tolerance) {
  Expanding expanding(*state->model, state->attributes);
  auto constants = [&](StringRef name) { return state->constant(name); };
  auto attributes = [&](const onnx::TensorProto &tensor) {
    return state->attribute(tensor);
  };
  Run run(*state->model, state->readers, constants, attributes, imported,
          tolerance);
  if (Error error =
          start(run, state->model->narrow, state->inputNames(), inputs))
    return error;
  return std::move(run.comparison);
}

Expected<std::vector<Tensor>>
ModelReference::evaluate(ArrayRef<HostTensor> inputs) {
  Expanding expanding(*state->model, state->attributes);
  auto constants = [&](StringRef name) { return state->constant(name); };
  auto attributes = [&](const onnx::TensorProto &tensor) {
    return state->attribute(tensor);
  };
  Run run(
      *state->model, state->readers, constants, attributes,
      [](StringRef) { return nullptr; }, /*tolerance=*/0);
  if (Error error =
          start(run, state->model->narrow, state->inputNames(), inputs))
    return error;
  return run.outputs();
}
