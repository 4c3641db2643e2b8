// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Type inference by importing in a child process, which reports each type as
// soon as it is known.

#include "ValueTypes.h"
#include "Importer.h"
#include "Inputs.h"
#include "Tensors.h"

#include "dialects/NN/NNElements.h"
#include "llvm/ADT/StringExtras.h"

#include <array>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::StringRef;

namespace {

/// Longer than any model that people shrink takes; an importer that hangs shall
/// not hang the tool.
constexpr unsigned kSeconds = 120;

std::optional<ValueType> valueTypeOf(mlir::RankedTensorType type) {
  auto elements =
      type ? nn::toElementType(type.getElementType()) : std::nullopt;
  if (!elements || !type.hasStaticShape())
    return std::nullopt;
  return ValueType{onnxTypeOf(*elements), type.getShape().vec()};
}

/// One line per value: data type, rank, dimensions, name (which may hold blanks
/// but, being hostile, also a line break: such a value stays untyped).
std::string lineOf(StringRef name, const ValueType &type) {
  std::string line = fmt::format("{} {}", type.elements, type.shape.size());
  for (int64_t extent : type.shape)
    line += fmt::format(" {}", extent);
  return line + " " + name.str() + "\n";
}

void readLine(StringRef line, ValueTypes &types) {
  ValueType type;
  size_t rank = 0;
  if (line.consumeInteger(10, type.elements) || !line.consume_front(" ") ||
      line.consumeInteger(10, rank) || rank > line.size())
    return;
  type.shape.resize(rank);
  for (int64_t &extent : type.shape)
    if (!line.consume_front(" ") || line.consumeInteger(10, extent))
      return;
  if (line.consume_front(" "))
    types[line.str()] = std::move(type);
}

/// What the child does; never returns.
[[noreturn]] void reportTypes(const std::string &path,
                              const ImportOptions &options, int pipe) {
  const rlimit noCore = {0, 0};
  setrlimit(RLIMIT_CORE, &noCore);
  alarm(kSeconds);
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(null, STDOUT_FILENO);
  dup2(null, STDERR_FILENO);
  auto model = loadModel(path, options);
  if (!model) {
    llvm::consumeError(model.takeError());
    _exit(1);
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  Importer importer(**model, options, &context);
  importer.guessTypes = true;
  importer.onValue = [&](StringRef name, Value value) {
    auto type =
        valueTypeOf(llvm::dyn_cast<mlir::RankedTensorType>(value.getType()));
    // A value of a narrow type is not of the type that holds it.
    if (!type || name.contains('\n') || (*model)->narrow.find(name))
      return;
    std::string line = lineOf(name, *type);
    for (StringRef rest = line; !rest.empty();) {
      const ssize_t written = write(pipe, rest.data(), rest.size());
      if (written <= 0)
        _exit(1);
      rest = rest.drop_front(written);
    }
  };
  llvm::consumeError(importer.run());
  _exit(0);
}

ValueTypes declaredTypes(const onnx::GraphProto &graph,
                         const ImportOptions &options) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<nn::NNDialect>();
  ValueTypes types;
  auto add = [&](const auto &values) {
    for (const onnx::ValueInfoProto &value : values)
      if (findNarrow(value.type().tensor_type().elem_type()))
        continue;
      else if (auto type =
                   valueTypeOf(staticType(value.type(), options, &context)))
        types[value.name()] = *type;
  };
  add(graph.value_info());
  add(graph.output());
  add(graph.input());
  return types;
}

} // namespace

ValueTypes ashlar::frontend::inferTypes(const std::string &path,
                                        const onnx::GraphProto &graph,
                                        const ImportOptions &options) {
  ValueTypes types = declaredTypes(graph, options);
  std::array<int, 2> ends;
  if (pipe(ends.data()) != 0)
    return types;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    reportTypes(path, options, ends[1]);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 65536> part;
  for (ssize_t got;
       child > 0 && (got = read(ends[0], part.data(), part.size())) > 0;)
    text.append(part.data(), got);
  close(ends[0]);
  if (child > 0)
    waitpid(child, nullptr, 0);
  for (StringRef line : llvm::split(text, '\n'))
    readLine(line, types);
  return types;
}

void ashlar::frontend::setType(onnx::ValueInfoProto &value,
                               const ValueType &type) {
  onnx::TypeProto_Tensor *tensor = value.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type.elements);
  tensor->mutable_shape()->clear_dim();
  for (int64_t extent : type.shape)
    tensor->mutable_shape()->add_dim()->set_dim_value(extent);
}
