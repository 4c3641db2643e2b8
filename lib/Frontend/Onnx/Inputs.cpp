// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graph inputs and the flags that complete them.

#include "Inputs.h"
#include "Model.h"
#include "Tensors.h"
#include "Types/NarrowType.h"

#include "ashlar/Support/Npy.h"
#include "dialects/NN/NNElements.h"
#include "dialects/NN/NNShapes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::Error;
using llvm::Expected;
using llvm::SmallVector;
using llvm::StringRef;
using mlir::RankedTensorType;

namespace {

/// Splits NAME=VALUE at the last '=', as ONNX names may contain one.
Expected<std::pair<std::string, std::string>> splitFlag(StringRef flag,
                                                        StringRef form) {
  auto [name, value] = flag.rsplit('=');
  if (name.empty() || value.empty() || !flag.contains('='))
    return makeError(ErrorClass::Usage, "found '{}', expected {}", flag.str(),
                     form.str());
  return std::pair(name.str(), value.str());
}

/// "Nx3x?x224": the declared shape as the user knows it.
std::string declaredShape(const onnx::TypeProto_Tensor &tensor) {
  if (!tensor.has_shape())
    return "unknown rank";
  std::string text;
  for (const onnx::TensorShapeProto_Dimension &dim : tensor.shape().dim()) {
    if (!text.empty())
      text += 'x';
    if (dim.has_dim_value())
      text += std::to_string(dim.dim_value());
    else
      text += dim.dim_param().empty() ? "?" : printable(dim.dim_param());
  }
  return text.empty() ? "scalar" : text;
}

Error checkFlagShape(const onnx::TypeProto_Tensor &tensor, StringRef name,
                     nn::ShapeRef shape) {
  if (!tensor.has_shape())
    return Error::success();
  bool fits = static_cast<size_t>(tensor.shape().dim_size()) == shape.size();
  for (int i = 0; fits && i < tensor.shape().dim_size(); ++i) {
    const onnx::TensorShapeProto_Dimension &dim = tensor.shape().dim(i);
    fits = !dim.has_dim_value() || dim.dim_value() == shape[i];
  }
  if (fits)
    return Error::success();
  return makeError(ErrorClass::Usage,
                   "--input-shape gives input '{}' the shape {}, the model "
                   "declares {}",
                   printable(name), nn::shapeToString(shape),
                   declaredShape(tensor));
}

/// The names whose sum a dimension is: "past_sequence_length + 1" is how
/// exporters write one.
SmallVector<StringRef> termsOf(StringRef dimension) {
  SmallVector<StringRef> terms;
  dimension.split(terms, '+');
  for (StringRef &term : terms)
    term = term.trim();
  return terms;
}

/// The size of a named dimension, or of a sum of names and numbers.
std::optional<int64_t> sizeOfName(StringRef dimension,
                                  const ImportOptions &options) {
  auto whole = options.dimensions.find(dimension.str());
  if (whole != options.dimensions.end())
    return whole->second;
  int64_t sum = 0;
  for (StringRef term : termsOf(dimension)) {
    int64_t size = 0;
    auto named = options.dimensions.find(term.str());
    if (named != options.dimensions.end())
      size = named->second;
    else if (term.getAsInteger(10, size) || size < 0)
      return std::nullopt;
    sum = llvm::SaturatingAdd<uint64_t>(sum, size) > INT64_MAX ? INT64_MAX
                                                               : sum + size;
  }
  return sum;
}

/// Size of a dimension, as far as the model or the command line says; the first
/// one that both leave open is that of the batch.
std::optional<int64_t> sizeOf(const onnx::TensorShapeProto_Dimension &dim,
                              bool first, const ImportOptions &options) {
  if (dim.has_dim_value())
    return dim.dim_value();
  if (!dim.dim_param().empty())
    if (auto size = sizeOfName(dim.dim_param(), options))
      return size;
  if (first && options.batch > 0)
    return options.batch;
  return std::nullopt;
}

/// What the model says of an input: `what` names it in messages.
struct Declaration {
  onnx::TypeProto_Tensor tensor;
  support::ElementType element; ///< Of the array that a user gives.
  const NarrowType *narrow;     ///< Null unless the array has codes.
  std::string what;
};

Expected<Declaration> declarationOf(const onnx::ValueInfoProto &input) {
  if (!input.has_type())
    return makeError(ErrorClass::Malformed, "graph input '{}' has no type",
                     printable(input.name()));
  if (!input.type().has_tensor_type())
    return makeError(ErrorClass::Unsupported,
                     "graph input '{}' is not a tensor, nor a sequence or an "
                     "optional of tensors",
                     printable(input.name()));
  std::string what = "graph input '" + printable(input.name()) + "'";
  const onnx::TypeProto_Tensor &tensor = input.type().tensor_type();
  if (const NarrowType *narrow = findNarrow(tensor.elem_type()))
    return Declaration{tensor, narrow->outside, narrow, std::move(what)};
  Expected<support::ElementType> element =
      elementTypeOf(tensor.elem_type(), what);
  if (!element)
    return element.takeError();
  return Declaration{tensor, *element, nullptr, std::move(what)};
}

} // namespace

Error ashlar::frontend::addInputShape(ImportOptions &options, StringRef flag) {
  auto parts = splitFlag(flag, "--input-shape=NAME=1x3x224x224");
  if (!parts)
    return parts.takeError();
  SmallVector<int64_t> shape;
  SmallVector<StringRef> dims;
  StringRef(parts->second).split(dims, 'x');
  if (parts->second == "scalar")
    dims.clear();
  for (StringRef text : dims) {
    int64_t dim;
    if (text.getAsInteger(10, dim) || dim < 0)
      return makeError(ErrorClass::Usage,
                       "--input-shape of '{}' has the dimension '{}', expected "
                       "a number, as in 1x3x224x224",
                       printable(parts->first), printable(text));
    shape.push_back(dim);
  }
  if (!options.inputShapes.try_emplace(parts->first, shape).second)
    return makeError(ErrorClass::Usage, "--input-shape of '{}' is given twice",
                     printable(parts->first));
  return Error::success();
}

/// Names of the open dimensions of all inputs, each once.
static std::vector<std::string> namedDimensions(const onnx::GraphProto &graph) {
  std::vector<std::string> names;
  auto add = [&](StringRef name) {
    int64_t number;
    if (!name.empty() && name.getAsInteger(10, number) &&
        !llvm::is_contained(names, name))
      names.push_back(name.str());
  };
  for (const onnx::ValueInfoProto &input : graph.input())
    for (const auto &dim : input.type().tensor_type().shape().dim())
      for (StringRef term : termsOf(dim.dim_param()))
        add(term);
  return names;
}

/// Whether an input, fixed by no option, has one sample: then the network is
/// imported for one, and made larger as a whole (ashlar-nn-set-batch).
static bool hasUnitBatch(const onnx::GraphProto &graph,
                         const ImportOptions &options) {
  auto isInitializer = [&](StringRef name) {
    return llvm::any_of(graph.initializer(),
                        [&](const auto &t) { return t.name() == name; });
  };
  for (const onnx::ValueInfoProto &input : graph.input()) {
    const auto &shape = input.type().tensor_type().shape();
    if (!options.inputShapes.count(input.name()) &&
        !options.constants.count(input.name()) && shape.dim_size() > 0 &&
        shape.dim(0).has_dim_value() && shape.dim(0).dim_value() == 1 &&
        !isInitializer(input.name()))
      return true;
  }
  return false;
}

/// Reads "batch=1,seq" with the size of the last name as named dimensions.
/// Nothing if it is something else.
static std::optional<std::map<std::string, int64_t>>
parseDimensions(StringRef names, nn::ShapeRef last) {
  if (last.size() != 1)
    return std::nullopt;
  std::map<std::string, int64_t> sizes;
  SmallVector<StringRef> parts;
  names.split(parts, ',');
  for (StringRef part : llvm::drop_end(parts)) {
    auto [name, text] = part.rsplit('=');
    int64_t size = 0;
    if (name.empty() || text.getAsInteger(10, size) || size < 0 ||
        !sizes.try_emplace(name.str(), size).second)
      return std::nullopt;
  }
  if (parts.back().empty() ||
      !sizes.try_emplace(parts.back().str(), last[0]).second)
    return std::nullopt;
  return sizes;
}

Expected<ImportOptions>
ashlar::frontend::resolveShapes(const onnx::GraphProto &graph,
                                const ImportOptions &options) {
  ImportOptions resolved = options;
  const std::vector<std::string> known = namedDimensions(graph);
  SmallVector<std::string> inputs;
  for (const onnx::ValueInfoProto &input : graph.input())
    inputs.push_back(input.name());
  auto refuse = [&](StringRef name) {
    return makeError(
        ErrorClass::Usage,
        "--input-shape names '{}', which is not an input; the inputs are: {}{}",
        printable(name), printable(llvm::join(inputs, ", ")),
        known.empty() ? ""
                      : "; their named dimensions are: " +
                            printable(llvm::join(known, ", ")));
  };
  for (const auto &[name, shape] : options.inputShapes) {
    if (llvm::is_contained(inputs, name))
      continue;
    auto sizes = parseDimensions(name, shape);
    if (!sizes)
      return refuse(name);
    resolved.inputShapes.erase(name);
    for (const auto &[dimension, size] : *sizes) {
      if (!llvm::is_contained(known, dimension))
        return refuse(dimension);
      if (!resolved.dimensions.try_emplace(dimension, size).second)
        return makeError(ErrorClass::Usage,
                         "--input-shape gives the dimension '{}' twice",
                         printable(dimension));
    }
  }
  if (resolved.batch > 0 && hasUnitBatch(graph, resolved))
    resolved.batch = 1;
  return resolved;
}

Error ashlar::frontend::addConstant(ImportOptions &options, StringRef flag) {
  auto [name, file] = flag.split('=');
  if (name.empty() || file.empty())
    return makeError(ErrorClass::Usage,
                     "found '{}', expected --constant=NAME=FILE.npy",
                     flag.str());
  if (!options.constants
           .try_emplace(name.str(), ConstantInput{file.str(), nullptr})
           .second)
    return makeError(ErrorClass::Usage, "--constant of '{}' is given twice",
                     printable(name));
  return Error::success();
}

Expected<RankedTensorType> ashlar::frontend::inputType(
    const onnx::ValueInfoProto &input, const ImportOptions &options,
    mlir::MLIRContext *context, std::vector<std::string> &open) {
  Expected<Declaration> declared = declarationOf(input);
  if (!declared)
    return declared.takeError();
  const auto &[tensor, element, narrow, what] = *declared;
  SmallVector<int64_t> shape;
  auto flag = options.inputShapes.find(input.name());
  if (flag != options.inputShapes.end()) {
    shape = flag->second;
    if (Error error = checkFlagShape(tensor, input.name(), shape))
      return error;
  } else {
    bool isOpen = !tensor.has_shape();
    for (const onnx::TensorShapeProto_Dimension &dim : tensor.shape().dim()) {
      const std::optional<int64_t> size = sizeOf(dim, shape.empty(), options);
      isOpen |= !size;
      shape.push_back(size.value_or(0));
    }
    if (isOpen) {
      open.push_back(fmt::format("'{}' ({})", printable(input.name()),
                                 declaredShape(tensor)));
      return RankedTensorType();
    }
  }
  if (Error error = checkSize(shape, options.maxElements, what))
    return error;
  return RankedTensorType::get(shape, nn::toMlirType(context, element));
}

RankedTensorType ashlar::frontend::staticType(const onnx::TypeProto &type,
                                              const ImportOptions &options,
                                              mlir::MLIRContext *context) {
  if (!type.has_tensor_type() || !type.tensor_type().has_shape())
    return {};
  SmallVector<int64_t> shape;
  for (const auto &dim : type.tensor_type().shape().dim()) {
    if (!dim.has_dim_value())
      return {};
    shape.push_back(dim.dim_value());
  }
  Error error = checkSize(shape, options.maxElements, "value");
  Expected<support::ElementType> element =
      storageTypeOf(type.tensor_type().elem_type(), "value");
  bool bad = static_cast<bool>(error) || !element;
  llvm::consumeError(std::move(error));
  if (!element)
    llvm::consumeError(element.takeError());
  if (bad)
    return {};
  return RankedTensorType::get(shape, nn::toMlirType(context, *element));
}

Expected<mlir::ElementsAttr>
ashlar::frontend::readConstantInput(const onnx::ValueInfoProto &input,
                                    const ConstantInput &source,
                                    mlir::MLIRContext *context) {
  Expected<Declaration> declared = declarationOf(input);
  if (!declared)
    return declared.takeError();
  const auto &[tensor, element, narrow, what] = *declared;
  const std::string file = source.name();
  Expected<HostTensor> array = source.array
                                   ? Expected<HostTensor>(*source.array)
                                   : support::readNpy(file);
  if (!array)
    return array.takeError();
  if (!support::isStoredAs(array->type, element))
    return makeError(ErrorClass::Malformed,
                     "{} has elements of type {}, {} is declared with {}", file,
                     support::name(array->type).str(), what,
                     support::name(element).str());
  bool fits = true;
  if (tensor.has_shape()) {
    int rank = tensor.shape().dim_size();
    fits = static_cast<size_t>(rank) == array->shape.size();
    for (int i = 0; fits && i < rank; ++i)
      fits = !tensor.shape().dim(i).has_dim_value() ||
             tensor.shape().dim(i).dim_value() == array->shape[i];
  }
  if (!fits)
    return makeError(
        ErrorClass::Malformed, "{} has the shape {}, {} is declared as {}",
        file, nn::shapeToString(array->shape), what, declaredShape(tensor));
  if (narrow)
    return decodeCodes(
        *narrow,
        StringRef(reinterpret_cast<const char *>(array->data.data()),
                  array->data.size()),
        array->shape, input.name(), context);
  auto type =
      RankedTensorType::get(array->shape, nn::toMlirType(context, element));
  return nn::makeElements(
      type, std::string(array->data.begin(), array->data.end()), input.name());
}
