// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands, attributes and helper nodes of a node under Flow.

#include "FlowNode.h"

#include "llvm/Support/xxhash.h"

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

/// Version of the nodes that Flow makes.
static constexpr int64_t kMadeOpset = 13;

onnx::AttributeProto ashlar::frontend::intAttribute(const char *name,
                                                    int64_t value) {
  onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
  return attribute;
}

Expected<std::string> FlowNode::input(size_t i) const {
  if (hasInput(i))
    return node.inputs[i];
  return makeError(ErrorClass::Malformed, "input {} is missing", i);
}

const onnx::AttributeProto *FlowNode::find(StringRef name) const {
  for (const onnx::AttributeProto *attribute : node.attributes)
    if (attribute->name() == name)
      return attribute;
  return nullptr;
}

int64_t FlowNode::getInt(StringRef name, int64_t otherwise) const {
  const onnx::AttributeProto *attribute = find(name);
  return attribute ? attribute->i() : otherwise;
}

double FlowNode::getFloat(StringRef name, double otherwise) const {
  const onnx::AttributeProto *attribute = find(name);
  return attribute ? static_cast<double>(attribute->f()) : otherwise;
}

std::vector<int64_t> FlowNode::getInts(StringRef name) const {
  const onnx::AttributeProto *attribute = find(name);
  if (!attribute)
    return {};
  return {attribute->ints().begin(), attribute->ints().end()};
}

Expected<const onnx::GraphProto *> FlowNode::graph(StringRef name) const {
  const onnx::AttributeProto *attribute = find(name);
  if (attribute && attribute->has_g())
    return &attribute->g();
  return makeError(ErrorClass::Malformed, "the graph '{}' is missing",
                   name.str());
}

Expected<std::vector<int64_t>> FlowNode::known(const std::string &name,
                                               StringRef what) const {
  Expected<std::optional<std::vector<int64_t>>> numbers = host.integers(name);
  if (!numbers)
    return numbers.takeError();
  if (*numbers)
    return **numbers;
  return makeError(ErrorClass::Unsupported,
                   "{} ('{}') is not a constant of integers; it must be known "
                   "at compile time{}",
                   what.str(), printable(name), host.remedy(name));
}

Expected<int64_t> FlowNode::knownOne(const std::string &name,
                                     StringRef what) const {
  Expected<std::vector<int64_t>> numbers = known(name, what);
  if (!numbers)
    return numbers.takeError();
  if (numbers->size() != 1)
    return makeError(ErrorClass::Malformed, "{} has {} elements, expected 1",
                     what.str(), numbers->size());
  return numbers->front();
}

Expected<OperandKind> FlowNode::kind(const std::string &name) const {
  Expected<std::optional<OperandKind>> found = host.kind(name);
  if (!found)
    return found.takeError();
  if (*found)
    return **found;
  return makeError(ErrorClass::Unsupported,
                   "'{}' is not a tensor or depends on an unsupported node",
                   printable(name));
}

Expected<Names> FlowNode::list(const std::string &name) const {
  auto found = flow.lists.find(name);
  if (found != flow.lists.end())
    return found->second;
  return makeError(ErrorClass::Unsupported,
                   "'{}' is not a sequence whose length is known at compile "
                   "time",
                   printable(name));
}

void FlowNode::setList(size_t output, Names values) {
  if (hasOutput(output))
    flow.lists[node.outputs[output]] = std::move(values);
}

void FlowNode::setAbsent(size_t output) {
  if (hasOutput(output))
    flow.absent[node.outputs[output]] = true;
}

Error FlowNode::alias(const std::string &name, const std::string &of) {
  if (isAbsent(of)) {
    flow.absent[name] = true;
    return Error::success();
  }
  auto list = flow.lists.find(of);
  if (list != flow.lists.end()) {
    Names values = list->second;
    flow.lists[name] = std::move(values);
    return Error::success();
  }
  return host.alias(name, of);
}

Error FlowNode::setAlias(size_t output, const std::string &of) {
  return hasOutput(output) ? alias(node.outputs[output], of) : Error::success();
}

Error FlowNode::setGuard(const std::string &condition) {
  flow.guard = condition;
  return host.setGuard(condition);
}

Error FlowNode::run(const Expansion &expansion, const std::string &condition) {
  const std::string outer = flow.guard;
  if (!condition.empty()) {
    Expected<std::string> inner = outer.empty()
                                      ? Expected<std::string>(condition)
                                      : make("And", {outer, condition});
    if (!inner)
      return inner.takeError();
    if (Error error = setGuard(*inner))
      return error;
  }
  for (const FlatNode *inner : expansion.nodes)
    for (const std::string &name : operandsOf(*inner))
      host.keep(name);
  for (const std::string &name : expansion.outputs)
    host.keep(name);
  for (const FlatNode *inner : expansion.nodes)
    if (Error error = host.run(*inner))
      return error;
  return condition.empty() ? Error::success() : setGuard(outer);
}

std::pair<std::string, bool>
FlowNode::nameFor(StringRef op, const Names &inputs,
                  llvm::ArrayRef<onnx::AttributeProto> attributes) {
  std::string content;
  auto add = [&](const std::string &part) {
    content += fmt::format("{}:{}", part.size(), part);
  };
  for (const std::string &input : inputs)
    add(input);
  for (const onnx::AttributeProto &attribute : attributes)
    add(attribute.SerializeAsString());
  std::string name = fmt::format("{}{}.{:016x}", node.inside, op.str(),
                                 llvm::xxh3_64bits(content));
  for (;; name += '~') {
    auto [known, isNew] = made.try_emplace(name, content);
    if (isNew || known->second == content)
      return {name, isNew};
  }
}

Expected<std::string>
FlowNode::make(const char *op, Names inputs,
               std::vector<onnx::AttributeProto> attributes) {
  auto [name, isNew] = nameFor(op, inputs, attributes);
  if (!isNew)
    return name;
  if (!model.budget.takeOperations(1))
    return makeError(ErrorClass::Capacity,
                     "it becomes more nodes than a file of this size may make");
  FlatNode inner;
  inner.name = name;
  inner.op = op;
  inner.opset = kMadeOpset;
  inner.inputs = std::move(inputs);
  inner.outputs = {inner.name};
  inner.depth = node.depth + 1;
  inner.live = true;
  for (onnx::AttributeProto &attribute : attributes) {
    model.attributes.push_back(std::move(attribute));
    inner.attributes.push_back(&model.attributes.back());
  }
  model.expanded.push_back(std::move(inner));
  const FlatNode &kept = model.expanded.back();
  host.keep(kept.name);
  if (Error error = host.run(kept))
    return error;
  return kept.name;
}

Expected<std::string> FlowNode::choose(const std::string &condition,
                                       const std::string &yes,
                                       const std::string &no) {
  auto [name, isNew] = nameFor("choice", {condition, yes, no}, {});
  if (!isNew)
    return name;
  if (Error error = host.choose(name, condition, yes, no))
    return error;
  return name;
}

Expected<std::string> FlowNode::integers(llvm::ArrayRef<int64_t> values,
                                         bool scalar, bool boolean) {
  onnx::AttributeProto value;
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  onnx::TensorProto &tensor = *value.mutable_t();
  tensor.set_data_type(boolean ? onnx::TensorProto::BOOL
                               : onnx::TensorProto::INT64);
  if (!scalar)
    tensor.add_dims(static_cast<int64_t>(values.size()));
  for (int64_t number : values)
    if (boolean)
      tensor.add_int32_data(static_cast<int32_t>(number));
    else
      tensor.add_int64_data(number);
  return make("Constant", {}, {std::move(value)});
}

Expected<std::string> FlowNode::stack(const Names &parts, int64_t axis) {
  Expected<std::string> axes = integers({axis});
  if (!axes)
    return axes;
  Names wide;
  for (const std::string &part : parts) {
    Expected<std::string> one = make("Unsqueeze", {part, *axes});
    if (!one)
      return one;
    wide.push_back(*one);
  }
  return make("Concat", std::move(wide), {intAttribute("axis", axis)});
}

Expected<std::string> FlowNode::element(const std::string &name, int64_t at,
                                        int64_t axis) {
  Expected<std::string> index = integers({at}, /*scalar=*/true);
  if (!index)
    return index;
  return make("Gather", {name, *index}, {intAttribute("axis", axis)});
}
