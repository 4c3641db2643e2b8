// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists at the interface of a model.

#include "GraphLists.h"

#include "Capture.h"

#include "llvm/ADT/StringSet.h"

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace {

/// Elements of an input at most: each is a tensor of the program.
constexpr int64_t kMostElements = 4096;

std::string elementName(const std::string &name, size_t k) {
  return name + "." + std::to_string(k);
}

const onnx::TypeProto &insideOf(const onnx::TypeProto &optional) {
  return optional.optional_type().elem_type();
}

class InputSplit {
public:
  InputSplit(onnx::GraphProto &graph, const ImportOptions &options)
      : graph(graph), options(options), names(definedNames(graph)) {}

  Error run() {
    if (Error error = checkOption())
      return error;
    if (llvm::all_of(graph.input(), [](const onnx::ValueInfoProto &input) {
          return !isList(input.type());
        }))
      return Error::success();
    std::vector<onnx::ValueInfoProto> inputs;
    for (const onnx::ValueInfoProto &input : graph.input())
      if (Error error = add(input, inputs))
        return error;
    graph.clear_input();
    for (onnx::ValueInfoProto &input : inputs)
      *graph.add_input() = std::move(input);
    return Error::success();
  }

private:
  static bool isList(const onnx::TypeProto &type) {
    return type.has_sequence_type() || type.has_optional_type();
  }

  Error checkOption() const {
    for (const auto &[name, count] : options.elements) {
      auto found = llvm::find_if(
          graph.input(), [&, &name = name](const onnx::ValueInfoProto &input) {
            return input.name() == name && isList(input.type());
          });
      if (found == graph.input().end())
        return makeError(ErrorClass::Usage,
                         "--elements names '{}', which is no input that is a "
                         "sequence or an optional",
                         printable(name));
      const bool one = found->type().has_optional_type() &&
                       !insideOf(found->type()).has_sequence_type();
      if (count > (one ? 1 : kMostElements))
        return makeError(ErrorClass::Usage,
                         "--elements gives '{}' {} elements, at most {} are "
                         "possible",
                         printable(name), count, one ? 1 : kMostElements);
    }
    return Error::success();
  }

  /// How many elements of a sequence the options name, from the first on.
  int64_t elementsNamed(const std::string &name) const {
    int64_t count = 0;
    auto isNamed = [&](const std::string &element) {
      return options.inputShapes.count(element) ||
             options.constants.count(element);
    };
    while (count < kMostElements && isNamed(elementName(name, count)))
      ++count;
    return count;
  }

  Error add(const onnx::ValueInfoProto &input,
            std::vector<onnx::ValueInfoProto> &inputs) {
    if (!isList(input.type())) {
      inputs.push_back(input);
      return Error::success();
    }
    const bool optional = input.type().has_optional_type();
    const onnx::TypeProto &type =
        optional ? insideOf(input.type()) : input.type();
    auto given = options.elements.find(input.name());
    if (type.has_sequence_type()) {
      const int64_t count = given != options.elements.end()
                                ? given->second
                                : elementsNamed(input.name());
      return addElements(input, type.sequence_type().elem_type(), count,
                         given != options.elements.end(), inputs);
    }
    if (given != options.elements.end() && given->second == 0) {
      addNode("Optional", input.name(), {});
      return Error::success();
    }
    onnx::ValueInfoProto tensor = input;
    *tensor.mutable_type() = type;
    inputs.push_back(std::move(tensor));
    return Error::success();
  }

  Error addElements(const onnx::ValueInfoProto &input,
                    const onnx::TypeProto &type, int64_t count, bool isGiven,
                    std::vector<onnx::ValueInfoProto> &inputs) {
    const std::string &name = input.name();
    if (count == 0 && !isGiven)
      return makeError(
          ErrorClass::Usage,
          "graph input '{}' is a sequence of unknown length; give the number "
          "of its elements with --elements={}=N, or the shape of each with "
          "--input-shape={}.0=..., --input-shape={}.1=...",
          printable(name), printable(name), printable(name), printable(name));
    Names elements;
    for (int64_t k = 0; k < count; ++k) {
      onnx::ValueInfoProto element;
      element.set_name(elementName(name, k));
      *element.mutable_type() = type;
      if (!names.insert(element.name()).second)
        return makeError(ErrorClass::Unsupported,
                         "element {} of graph input '{}' would be '{}', which "
                         "the model has already; rename one of them",
                         k, printable(name), printable(element.name()));
      elements.push_back(element.name());
      inputs.push_back(std::move(element));
    }
    addNode("SequenceConstruct", name, elements);
    return Error::success();
  }

  void addNode(const char *op, const std::string &name, const Names &operands) {
    onnx::NodeProto &node = *graph.add_node();
    node.set_op_type(op);
    node.set_name(name + "/elements");
    for (const std::string &operand : operands)
      node.add_input(operand);
    node.add_output(name);
  }

  onnx::GraphProto &graph;
  const ImportOptions &options;
  llvm::StringSet<> names;
};

/// The type of the elements of an output, if the model says so.
onnx::TypeProto elementType(const onnx::TypeProto &type) {
  const onnx::TypeProto &whole =
      type.has_optional_type() ? insideOf(type) : type;
  return whole.has_sequence_type() ? whole.sequence_type().elem_type()
                                   : onnx::TypeProto();
}

} // namespace

Error ashlar::frontend::splitInputs(Model &model,
                                    const ImportOptions &options) {
  return InputSplit(*model.proto.mutable_graph(), options).run();
}

Expected<std::vector<onnx::ValueInfoProto>>
ashlar::frontend::splitOutputs(const onnx::GraphProto &graph, Flow &flow,
                               FlowHost &host) {
  std::vector<onnx::ValueInfoProto> outputs;
  llvm::StringSet<> names = definedNames(graph);
  for (const onnx::ValueInfoProto &output : graph.output()) {
    const Names *list = flow.elementsOf(output.name());
    if (!list && !flow.isList(output.name())) {
      outputs.push_back(output);
      if (output.type().has_optional_type())
        *outputs.back().mutable_type() = insideOf(output.type());
      continue;
    }
    const onnx::TypeProto type = elementType(output.type());
    for (size_t k = 0; list && k < list->size(); ++k) {
      onnx::ValueInfoProto element;
      element.set_name(elementName(output.name(), k));
      *element.mutable_type() = type;
      if (!names.insert(element.name()).second)
        return makeError(ErrorClass::Unsupported,
                         "element {} of graph output '{}' would be '{}', which "
                         "the model has already; rename one of them",
                         k, printable(output.name()),
                         printable(element.name()));
      if (flow.isList((*list)[k]))
        return makeError(ErrorClass::Unsupported,
                         "element {} of graph output '{}' is a list itself", k,
                         printable(output.name()));
      if (Error error = host.alias(element.name(), (*list)[k]))
        return error;
      outputs.push_back(std::move(element));
    }
  }
  if (outputs.empty() && graph.output_size() != 0)
    return makeError(ErrorClass::Unsupported,
                     "all outputs are empty: no tensor is left to compute");
  return outputs;
}

Error ashlar::frontend::addElements(ImportOptions &options, StringRef flag) {
  auto [name, text] = flag.rsplit('=');
  int64_t count = 0;
  if (name.empty() || text.getAsInteger(10, count) || count < 0)
    return makeError(ErrorClass::Usage,
                     "found '{}', expected --elements=NAME=N", flag.str());
  if (!options.elements.try_emplace(name.str(), count).second)
    return makeError(ErrorClass::Usage, "--elements of '{}' is given twice",
                     printable(name));
  return Error::success();
}
