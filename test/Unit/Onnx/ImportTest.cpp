// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Imported modules against the reference of ONNX: every value of ONNX's own
// cases, and modules made by hand that are wrong in one place.

#include "BackendCase.h"

#include "ashlar/Frontend/OnnxReference/Reference.h"
#include "ashlar/Reference/Interpreter.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/NNOps.h"
#include "lib/Frontend/Onnx/Tensors.h"
#include "lib/Frontend/OnnxReference/Judge.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

#include <cstdio>
#include <sys/mman.h>
#include <unistd.h>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

constexpr double tolerance = 0x1p-16;

/// The comparison of a module, computed in binary64, with its model.
llvm::Expected<Comparison> compareModule(ModelReference &model,
                                         mlir::ModuleOp module,
                                         const frontend::ValueNames &names,
                                         llvm::ArrayRef<HostTensor> inputs) {
  llvm::DenseMap<mlir::Value, Tensor> values;
  reference::Options options;
  options.precision = reference::Precision::Binary64;
  options.observer = [&](mlir::Value value, const Tensor &tensor) {
    values[value] = tensor;
  };
  auto results = reference::evaluate(module, inputs, options);
  if (!results)
    return results.takeError();
  llvm::StringMap<Tensor> named;
  for (const frontend::NamedValue &known : names) {
    const Tensor &whole = values.find(known.value)->second;
    named[known.name] =
        known.extentAxis < 0
            ? whole
            : reference::firstIndices(
                  whole, known.extentAxis,
                  values.find(known.extent)->second.ints.front());
  }
  return model.compare(
      inputs,
      [&](StringRef name) -> const Tensor * {
        auto found = named.find(name);
        return found == named.end() ? nullptr : &found->second;
      },
      tolerance);
}

/// A model in a file without a name, which lives as long.
class ModelFile {
public:
  explicit ModelFile(const onnx::ModelProto &model)
      : file(memfd_create("model", 0)),
        path("/proc/self/fd/" + std::to_string(file)) {
    EXPECT_TRUE(model.SerializeToFileDescriptor(file));
  }
  ModelFile(const ModelFile &) = delete;
  ModelFile &operator=(const ModelFile &) = delete;
  ~ModelFile() { close(file); }

private:
  int file;

public:
  const std::string path;
};

/// The model of a case with the inputs from index `firstConstant` on as
/// initialisers.
onnx::ModelProto withConstants(const frontend::BackendCase &test,
                               int firstConstant) {
  onnx::ModelProto model = test.model;
  for (size_t i = firstConstant; i < test.inputs.size(); ++i) {
    const HostTensor &input = test.inputs[i];
    onnx::TensorProto &tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name(test.inputNames[i]);
    tensor.set_data_type(frontend::onnxTypeOf(input.type));
    for (int64_t extent : input.shape)
      tensor.add_dims(extent);
    tensor.set_raw_data(input.data.data(), input.data.size());
  }
  return model;
}

/// How many values of a case agree in all forms that can be imported.
uint64_t compareCase(const std::string &folder, std::string &failure) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  frontend::BackendCase test;
  test.folder = folder;
  uint64_t values = 0;
  if (!frontend::loadCase(test, context))
    return values;
  const int count = static_cast<int>(test.inputNames.size());
  for (int dynamic : {count, 1, 0}) {
    if (dynamic > count)
      continue;
    const ModelFile file(withConstants(test, dynamic));
    const std::vector<HostTensor> inputs(test.inputs.begin(),
                                         test.inputs.begin() + dynamic);
    frontend::ImportOptions options;
    for (int i = 0; i < dynamic; ++i)
      options.inputShapes[test.inputNames[i]] = inputs[i].shape;
    frontend::ValueNames names;
    auto module = frontend::importOnnx(file.path, options, &context, &names);
    if (!module) {
      llvm::consumeError(module.takeError());
      continue;
    }
    auto model = ModelReference::load(file.path, options);
    auto found = model ? compareModule(*model, **module, names, inputs)
                       : llvm::Expected<Comparison>(model.takeError());
    if (!found)
      failure = llvm::toString(found.takeError());
    else if (found->first)
      failure = found->first->text;
    else
      values += found->values;
  }
  return values;
}

class ImportSuite
    : public testing::TestWithParam<std::pair<const char *, int>> {};

TEST_P(ImportSuite, IsWhatOnnxDefines) {
  auto [suite, least] = GetParam();
  const std::vector<std::string> folders = frontend::foldersOf(suite);
  if (folders.empty())
    GTEST_SKIP() << "libonnx-testdata is not installed";
  uint64_t values = 0;
  for (const std::string &folder : folders) {
    if (frontend::isExcused(llvm::sys::path::filename(folder)))
      continue;
    std::string failure;
    values += compareCase(folder, failure);
    EXPECT_EQ(failure, "") << llvm::sys::path::filename(folder).str();
  }
  EXPECT_GE(values, static_cast<uint64_t>(least));
  std::printf("%s: %llu values agree\n", suite,
              static_cast<unsigned long long>(values));
}

INSTANTIATE_TEST_SUITE_P(Debian, ImportSuite,
                         testing::Values(std::pair("pytorch-converted", 300),
                                         std::pair("pytorch-operator", 145),
                                         std::pair("simple", 13),
                                         std::pair("node", 3900)));

void addNode(onnx::GraphProto &graph, const char *op, const char *name,
             const char *from, const char *to) {
  onnx::NodeProto &node = *graph.add_node();
  node.set_op_type(op);
  node.set_name(name);
  node.add_input(from);
  node.add_output(to);
}

void declare(onnx::ValueInfoProto &value, const char *name) {
  value.set_name(name);
  auto *tensor = value.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(onnx::TensorProto::FLOAT);
  for (int64_t extent : {2, 3})
    tensor->mutable_shape()->add_dim()->set_dim_value(extent);
}

/// x [2, 3] -> Relu 'relu' -> r -> LpNormalization 'norm' -> y.
onnx::ModelProto normModel() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(13);
  onnx::GraphProto &graph = *model.mutable_graph();
  graph.set_name("g");
  addNode(graph, "Relu", "relu", "x", "r");
  addNode(graph, "LpNormalization", "norm", "r", "y");
  declare(*graph.add_input(), "x");
  declare(*graph.add_output(), "y");
  return model;
}

/// Two rows, of which the second one is zero after the Relu.
HostTensor rows() {
  HostTensor x =
      HostTensor::zeros(ElementType::F32, llvm::ArrayRef<int64_t>{2, 3});
  const float values[] = {1, 2, 2, -1, 0, -3};
  std::memcpy(x.data.data(), values, sizeof(values));
  return x;
}

/// Compares the body of a module of x with the model: %r and %y are its values.
std::optional<Difference> compareBody(StringRef body) {
  const ModelFile file(normModel());
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::func::FuncDialect, nn::NNDialect>();
  const std::string text =
      fmt::format("func.func @main(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, "
                  "tensor<2x3xf32>) {{\n{}\nreturn %r, %y : tensor<2x3xf32>, "
                  "tensor<2x3xf32>\n}}",
                  body.str());
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module) {
    ADD_FAILURE() << "the module does not parse";
    return std::nullopt;
  }
  auto main = module->lookupSymbol<mlir::func::FuncOp>("main");
  mlir::Operation *last = main.getBody().front().getTerminator();
  const frontend::ValueNames names = {{"r", last->getOperand(0)},
                                      {"y", last->getOperand(1)}};
  auto model = llvm::cantFail(ModelReference::load(file.path, {}));
  auto found = compareModule(model, *module, names, rows());
  if (!found) {
    ADD_FAILURE() << llvm::toString(found.takeError());
    return std::nullopt;
  }
  EXPECT_EQ(found->values, 2u);
  return found->first;
}

constexpr StringRef relu =
    "%r = nn.unary relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>\n";
constexpr StringRef norm =
    "%s = nn.reduce sumSquare %r {axes = array<i64: 1>, keepdims = true} : "
    "(tensor<2x3xf32>) -> tensor<2x1xf32>\n"
    "%n = nn.unary sqrt %s : (tensor<2x1xf32>) -> tensor<2x1xf32>\n"
    "%zero = nn.constant dense<0.0> : tensor<f32>\n"
    "%one = nn.constant dense<1.0> : tensor<f32>\n"
    "%is = nn.compare equal %n, %zero : (tensor<2x1xf32>, tensor<f32>) -> "
    "tensor<2x1xi1>\n"
    "%d = nn.where %is, %one, %n : (tensor<2x1xi1>, tensor<f32>, "
    "tensor<2x1xf32>) -> tensor<2x1xf32>\n";
constexpr StringRef quotient =
    "%y = nn.div %r, %d : (tensor<2x3xf32>, tensor<2x1xf32>) -> "
    "tensor<2x3xf32>\n";

TEST(Comparison, ARightModuleHasNoDifference) {
  EXPECT_FALSE(compareBody((relu + norm + quotient).str()));
}

TEST(Comparison, NamesTheNodeOfAZeroSlice) {
  const std::string divides =
      "%y = nn.div %r, %n : (tensor<2x3xf32>, tensor<2x1xf32>) -> "
      "tensor<2x3xf32>\n";
  auto found = compareBody((relu + norm).str() + divides);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->node, "norm");
  EXPECT_EQ(found->op, "LpNormalization");
  EXPECT_EQ(found->text, "LpNormalization gives nan at [1, 0], ONNX defines 0");
}

/// The node after a wrong one is judged for the operand that it had.
TEST(Comparison, NamesTheFirstNode) {
  const std::string wrong =
      "%r = nn.unary abs %x : (tensor<2x3xf32>) -> tensor<2x3xf32>\n";
  auto found = compareBody(wrong + (norm + quotient).str());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->node, "relu");
  EXPECT_EQ(found->text, "Relu gives 1 at [1, 0], ONNX defines 0");
}

Tensor floatsOf(std::vector<double> values) {
  Tensor tensor(ElementType::F32, static_cast<int64_t>(values.size()));
  tensor.floats = std::move(values);
  return tensor;
}

TEST(Judge, AToleranceOfTheLargestElement) {
  auto none = [] { return std::vector<Tensor>(); };
  const Tensor right = floatsOf({64, 0});
  EXPECT_EQ(judge(right, floatsOf({64, 0x1p-11}), tolerance, none).text, "");
  EXPECT_EQ(judge(right, floatsOf({64, 0.25}), tolerance, none).text,
            "gives 0.25 at [1], ONNX defines 0");
  EXPECT_NE(judge(right, floatsOf({64, NAN}), tolerance, none).text, "");
  EXPECT_EQ(judge(floatsOf({NAN, HUGE_VAL}), floatsOf({NAN, HUGE_VAL}),
                  tolerance, none)
                .text,
            "");
}

TEST(Judge, IntegersAreEqualOrExplained) {
  Tensor right(ElementType::I8, int64_t(2)), found = right, other = right;
  right.ints = {100, 3};
  found.ints = {100, 4};
  auto none = [] { return std::vector<Tensor>(); };
  EXPECT_EQ(judge(right, found, tolerance, none).text,
            "gives 4 at [1], ONNX defines 3");
  other.ints = {100, 4};
  auto moves = [&] { return std::vector<Tensor>{other}; };
  EXPECT_EQ(judge(right, found, tolerance, moves).text, "");
  found.ints = {99, 4};
  EXPECT_EQ(judge(right, found, tolerance, moves).text,
            "gives 99 at [0], ONNX defines 100");
}

TEST(Judge, ShapesAndTypesAreTheWholeValue) {
  auto none = [] { return std::vector<Tensor>(); };
  const Tensor a(ElementType::F32, {2, 3}), b(ElementType::F32, {3, 2}),
      c(ElementType::F16, {2, 3});
  EXPECT_EQ(judge(a, b, tolerance, none).text,
            "gives f32[3x2], ONNX defines f32[2x3]");
  EXPECT_EQ(judge(a, c, tolerance, none).text,
            "gives f16[2x3], ONNX defines f32[2x3]");
}

TEST(Judge, ZeroStaysZeroWhenMoved) {
  const Tensor x = floatsOf({0, 1, -3});
  for (int move = 0; move < numMoves; ++move) {
    const Tensor y = moved(x, move, 7);
    EXPECT_EQ(y.floats[0], 0);
    EXPECT_NE(y.floats[1], 1);
    EXPECT_NEAR(y.floats[2], -3, 1e-5);
  }
}

} // namespace
