// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products of com.microsoft with what is done before and after them.

#include "Activations.h"
#include "Experts.h"
#include "lib/Frontend/Onnx/Registry.h"
#include "lib/Frontend/Onnx/Rules/Factor.h"
#include "lib/Frontend/Onnx/Rules/QuantizeParameters.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

Value ashlar::frontend::scaledSums(Node &n, Value sums, Value left, Value right,
                                   Value bias) {
  if (!sums || !left || !right)
    return nullptr;
  const Shape shape(shapeOf(sums));
  Value scale = n.binary<MulOp>(
      spread(n, n.cast(left, f32Of(n)), -2, shape, "the scale of A"),
      spread(n, n.cast(right, f32Of(n)), -1, shape, "the scale of B"));
  Value y = n.binary<MulOp>(n.cast(sums, f32Of(n)), scale);
  return bias ? n.binary<AddOp>(y, bias) : y;
}

namespace {

/// The last two axes exchanged; a vector stays.
Value turned(Node &n, Value x, bool exchange) {
  if (!x || !exchange || rankOf(x) < 2)
    return x;
  SmallVector<int64_t> perm;
  for (int64_t i = 0; i < rankOf(x); ++i)
    perm.push_back(i);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return n.transpose(x, perm);
}

/// The first axis after the axes of the batch: [rows, batch.., columns] as
/// [batch.., rows, columns].
Value batchFirst(Node &n, Value x, bool exchange) {
  if (!x || !exchange || rankOf(x) < 3)
    return x;
  SmallVector<int64_t> perm;
  for (int64_t i = 1; i + 1 < rankOf(x); ++i)
    perm.push_back(i);
  perm.push_back(0);
  perm.push_back(rankOf(x) - 1);
  return n.transpose(x, perm);
}

/// alpha * A' * B' as the attributes say.
Value fusedProduct(Node &n) {
  const double alpha = n.getFloat("alpha", 1);
  const bool turnA = n.getInt("transA", 0), turnB = n.getInt("transB", 0),
             rowsA = n.getInt("transBatchA", 0),
             rowsB = n.getInt("transBatchB", 0);
  Value a = turned(n, batchFirst(n, n.input(0), rowsA), turnA),
        b = turned(n, batchFirst(n, n.input(1), rowsB), turnB);
  if (!a || !b)
    return nullptr;
  if (rankOf(a) < 2 || rankOf(b) < 2)
    return n.unsupported("operands are {} and {}, expected 2 dimensions or "
                         "more",
                         typeText(a), typeText(b));
  return scaled(n, n.matmul(a, b), alpha);
}

void fusedMatMul(Node &n) { n.setOutput(0, fusedProduct(n)); }

/// The parameters of an activation that has attributes for them.
SmallVector<double> activationParameters(Node &n) {
  SmallVector<double> parameters;
  for (const char *name : {"activation_alpha", "activation_beta"})
    if (n.hasAttribute(name))
      parameters.push_back(n.getFloat(name, 0));
  n.ignore("activation_gamma"); // No function has a third one.
  return parameters;
}

/// The axis matters for a softmax alone, which the other forms do not have.
void fusedMatMulActivation(Node &n) {
  const std::string name = n.getString("activation", "");
  const int64_t axis = n.getInt("activation_axis", -1);
  const SmallVector<double> parameters = activationParameters(n);
  if (name.empty())
    n.malformed("attribute 'activation' is missing");
  Value y = fusedProduct(n);
  if (!y)
    return;
  if (name != "Softmax" && name != "LogSoftmax") {
    n.setOutput(0, activate(n, y, name, parameters));
    return;
  }
  const int64_t along = n.normalAxis(axis, rankOf(y));
  if (!n.failed())
    n.setOutput(0, n.softmax(y, along, name == "LogSoftmax"));
}

void gemmFastGelu(Node &n) {
  Value x = n.input(0), w = n.input(1);
  if (!x || !w)
    return;
  if (rankOf(x) < 1 || rankOf(w) != 2) {
    n.malformed("operands are {} and {}, expected a matrix of weights",
                typeText(x), typeText(w));
    return;
  }
  Value y = withBias(n, n.matmul(x, w), n.optionalInput(2));
  n.setOutput(0, n.unary(UnaryFunction::GeluTanh, y));
}

void fusedGemm(Node &n) {
  const double alpha = n.getFloat("alpha", 1), beta = n.getFloat("beta", 1);
  const bool turnA = n.getInt("transA", 0), turnB = n.getInt("transB", 0);
  const SmallVector<double> parameters = activationParameters(n);
  Value y = scaled(
      n, n.matmul(turned(n, n.input(0), turnA), turned(n, n.input(1), turnB)),
      alpha);
  if (n.hasInput(2))
    y = n.binary<AddOp>(y, scaled(n, n.input(2), beta));
  n.setOutput(0, activate(n, y, n.getString("activation", ""), parameters));
}

void matmulIntegerToFloat(Node &n) {
  Value sums = integerMatmul(n, n.input(0), n.optionalInput(4), n.input(1),
                             n.optionalInput(5));
  n.setOutput(0,
              scaledSums(n, sums, n.input(2), n.input(3), n.optionalInput(6)));
}

/// A is quantised as DynamicQuantizeLinear does it.
void dynamicQuantizeMatMul(Node &n) {
  Quantised a = quantiseDynamically(n, n.input(0));
  Value sums = integerMatmul(n, a.q, a.zero, n.input(1), n.optionalInput(3));
  n.setOutput(0, scaledSums(n, sums, a.scale, n.input(2), n.optionalInput(4)));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::contribProductRows() {
  constexpr const char *domain = "com.microsoft";
  return {
      {"FusedMatMul",
       {1},
       fusedMatMul,
       "matmul with transposes and a factor",
       domain},
      {"TransposeMatMul",
       {1},
       fusedMatMul,
       "matmul with transposes and a factor",
       domain},
      {"FusedMatMulActivation",
       {1},
       fusedMatMulActivation,
       "as FusedMatMul, and one operation for the activation",
       domain},
      {"GemmFastGelu",
       {1},
       gemmFastGelu,
       "matmul, a sum and one operation",
       domain},
      {"FusedGemm",
       {1},
       fusedGemm,
       "as Gemm, and one operation for the activation",
       domain},
      {"MatMulIntegerToFloat",
       {1},
       matmulIntegerToFloat,
       "an integer product with exact corrections, scaled",
       domain},
      {"DynamicQuantizeMatMul",
       {1},
       dynamicQuantizeMatMul,
       "DynamicQuantizeLinear and an integer product, scaled",
       domain},
      {"MoE",
       {1},
       mixtureOfExperts,
       "products for every expert, and a choice of their results at run time; "
       "no use_sparse_mixer",
       domain},
      {"QMoE",
       {1},
       mixtureOfPackedExperts,
       "as MoE with the weights' numbers; weights, scales and zero points must "
       "be constant",
       domain},
  };
}
