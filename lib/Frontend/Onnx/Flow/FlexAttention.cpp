// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention whose scores and probabilities go through graphs of the model.

#include "Rounds.h"

#include <cmath>
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::Error;
using llvm::Expected;

namespace {

constexpr int64_t kFloat = 1, kDouble = 11;

struct Sizes {
  int64_t batch, heads, groups, queries, keys, size, width;
};

Expected<Sizes> sizesOf(FlowNode &n) {
  std::vector<OperandKind> kinds;
  for (size_t i = 0; i < 3; ++i) {
    Expected<std::string> name = n.input(i);
    if (!name)
      return name.takeError();
    Expected<OperandKind> kind = n.kind(*name);
    if (!kind)
      return kind.takeError();
    if (kind->shape.size() != 4)
      return makeError(ErrorClass::Malformed,
                       "operand {} has {} dimensions, expected 4", i,
                       kind->shape.size());
    kinds.push_back(std::move(*kind));
  }
  const std::vector<int64_t> &q = kinds[0].shape, &k = kinds[1].shape,
                             &v = kinds[2].shape;
  if (q[0] != k[0] || q[0] != v[0] || k[1] != v[1] || k[2] != v[2] ||
      q[3] != k[3] || k[1] < 1 || q[1] % k[1] != 0)
    return makeError(ErrorClass::Malformed,
                     "queries [{}], keys [{}] and values [{}] do not match",
                     fmt::join(q, ", "), fmt::join(k, ", "),
                     fmt::join(v, ", "));
  return Sizes{q[0], q[1], k[1], q[2], k[2], q[3], v[3]};
}

/// Makes nodes one after the other; the first error ends the chain.
class Chain {
public:
  explicit Chain(FlowNode &n) : n(n), error(Error::success()) {}
  ~Chain() { llvm::consumeError(std::move(error)); }

  std::string take(Expected<std::string> made) {
    if (made)
      return *made;
    error = joinErrors(std::move(error), made.takeError());
    return {};
  }
  std::string make(const char *op, Names inputs,
                   std::vector<onnx::AttributeProto> attributes = {}) {
    return bad() ? std::string()
                 : take(n.make(op, std::move(inputs), std::move(attributes)));
  }
  std::string reshape(const std::string &x, llvm::ArrayRef<int64_t> shape) {
    if (bad())
      return {};
    const std::string to = take(n.integers(shape));
    return make("Reshape", {x, to});
  }
  std::string cast(const std::string &x, int64_t type) {
    return make("Cast", {x}, {intAttribute("to", type)});
  }
  /// The graph `attribute` in place of x, if the node has it.
  std::string modify(const char *attribute, const std::string &x) {
    if (bad() || !n.hasAttribute(attribute))
      return x;
    Expected<Expansion> body = expandBody(n, attribute, attribute, {x});
    if (!body)
      return take(body.takeError());
    if (body->outputs.size() == 1)
      return body->outputs[0];
    return take(makeError(ErrorClass::Malformed,
                          "{} gives {} results, expected 1", attribute,
                          body->outputs.size()));
  }
  bool bad() { return static_cast<bool>(error); }
  Error finish() { return std::move(error); }

private:
  FlowNode &n;
  Error error;
};

onnx::AttributeProto floatAttribute(const char *name, double value) {
  onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(static_cast<float>(value));
  return attribute;
}

} // namespace

Error ashlar::frontend::runFlexAttention(FlowNode &n) {
  Expected<Sizes> found = sizesOf(n);
  if (!found)
    return found.takeError();
  const Sizes s = *found;
  Expected<OperandKind> given = n.kind(n.flat().inputs[0]);
  if (!given)
    return given.takeError();
  const int64_t own = given->elementType,
                precision = n.getInt("softmax_precision",
                                     own == kDouble ? kDouble : kFloat);
  const double scale =
      n.getFloat("scale", 1 / std::sqrt(static_cast<double>(s.size)));
  Chain c(n);
  // A group of heads reads one head of keys: its queries are more rows.
  const int64_t rows = s.heads / s.groups * s.queries;
  const Names &in = n.flat().inputs;
  const std::string q = c.reshape(in[0], {s.batch, s.groups, rows, s.size});
  onnx::AttributeProto perm = intAttribute("perm", 0);
  perm.set_type(onnx::AttributeProto::INTS);
  for (int64_t axis : {0, 1, 3, 2})
    perm.add_ints(axis);
  const std::string k = c.make("Transpose", {in[1]}, {perm});
  std::string scores = c.cast(c.make("MatMul", {q, k}), precision);
  const std::string factor =
      c.cast(c.make("Constant", {}, {floatAttribute("value_float", scale)}),
             precision);
  scores = c.make("Mul", {scores, factor});
  scores = c.reshape(scores, {s.batch, s.heads, s.queries, s.keys});
  scores = c.modify("score_mod", scores);
  std::string chances = c.make("Softmax", {scores}, {intAttribute("axis", -1)});
  chances = c.cast(c.modify("prob_mod", chances), own);
  chances = c.reshape(chances, {s.batch, s.groups, rows, s.keys});
  const std::string y = c.reshape(c.make("MatMul", {chances, in[2]}),
                                  {s.batch, s.heads, s.queries, s.width});
  if (c.bad())
    return c.finish();
  return n.setAlias(0, y);
}
