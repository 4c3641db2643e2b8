// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of inputs and outputs, of the ONNX library and of operator sets that
// may be newer than that.

#include "Arity.h"

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::Error;

namespace {

struct NewerArity {
  const char *op;
  int since;
  Arity most;
};

/// Operators and changes after operator set 17, the newest of Debian's ONNX, by
/// operator, then version.
constexpr NewerArity kNewer[] = {
    {"AffineGrid", 20, {2, 1}},
    {"Attention", 23, {6, 4}},
    {"Attention", 24, {7, 4}},
    {"BitCast", 26, {1, 1}},
    {"BitwiseAnd", 18, {2, 1}},
    {"BitwiseNot", 18, {1, 1}},
    {"BitwiseOr", 18, {2, 1}},
    {"BitwiseXor", 18, {2, 1}},
    {"CausalConvWithState", 27, {4, 2}},
    {"CenterCropPad", 18, {2, 1}},
    {"Col2Im", 18, {3, 1}},
    {"CumProd", 26, {2, 1}},
    {"DFT", 20, {3, 1}},
    {"DeformConv", 19, {5, 1}},
    {"Gelu", 20, {1, 1}},
    {"GroupNormalization", 18, {3, 1}},
    {"LinearAttention", 27, {6, 2}},
    {"Mish", 18, {1, 1}},
    {"Pad", 18, {4, 1}},
    {"RMSNormalization", 23, {2, 1}},
    {"ReduceL1", 18, {2, 1}},
    {"ReduceL2", 18, {2, 1}},
    {"ReduceLogSum", 18, {2, 1}},
    {"ReduceLogSumExp", 18, {2, 1}},
    {"ReduceMax", 18, {2, 1}},
    {"ReduceMean", 18, {2, 1}},
    {"ReduceMin", 18, {2, 1}},
    {"ReduceProd", 18, {2, 1}},
    {"ReduceSumSquare", 18, {2, 1}},
    {"RotaryEmbedding", 23, {4, 1}},
    {"SwiGLU", 28, {2, 1}},
    {"Swish", 24, {1, 1}},
    {"TensorScatter", 24, {3, 1}},
};

std::optional<Arity> arityOf(const FlatNode &node) {
  if (!node.domain.empty())
    return std::nullopt;
  std::optional<Arity> most = libraryArity(node);
  for (const NewerArity &row : kNewer)
    if (node.op == row.op && node.opset >= row.since)
      most = row.most;
  return most;
}

/// The names up to the last one that is not empty.
size_t countNames(const std::vector<std::string> &names) {
  size_t count = names.size();
  while (count > 0 && names[count - 1].empty())
    --count;
  return count;
}

Error checkCount(const FlatNode &node, const std::vector<std::string> &names,
                 size_t most, const char *what) {
  const size_t count = countNames(names);
  if (count <= most)
    return Error::success();
  return makeError(ErrorClass::Malformed,
                   "node '{}' ({}): has {} {}, operator set {} "
                   "defines {}",
                   node.name, node.op, count, what, node.opset, most);
}

} // namespace

Error ashlar::frontend::checkArity(const FlatNode &node) {
  const std::optional<Arity> most = arityOf(node);
  if (!most)
    return Error::success();
  if (Error error = checkCount(node, node.inputs, most->inputs, "inputs"))
    return error;
  return checkCount(node, node.outputs, most->outputs, "outputs");
}
