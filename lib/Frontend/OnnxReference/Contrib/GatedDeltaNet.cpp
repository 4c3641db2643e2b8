// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GatedDeltaNet, one token after the other.

#include "lib/Frontend/OnnxReference/Registry.h"
#include "lib/Frontend/OnnxReference/Walk.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

using Row = std::vector<double>;

struct Net {
  Call &call;
  int64_t tokens, shared, heads, keySize, valueSize, batch;

  explicit Net(Call &call)
      : call(call), shared(extent(0, 2)), heads(extent(2, 2)),
        keySize(extent(0, 1)), valueSize(extent(2, 1)) {
    tokens = call.operand(0).size() / std::max<int64_t>(shared * keySize, 1);
    batch = call.operand(0).shape.size() == 4 ? call.operand(0).shape[0]
            : call.has(3) ? static_cast<int64_t>(call.integers(3).size()) - 1
            : call.has(6) ? call.operand(6).shape[0]
                          : 0;
    call.require(batch > 0 && tokens % batch == 0 && shared > 0 &&
                     heads % shared == 0 &&
                     call.operand(1).shape == call.operand(0).shape &&
                     call.operand(2).size() == tokens * heads * valueSize,
                 "operands do not fit");
  }
  /// Extent of the dimension `back` from the end of an operand.
  int64_t extent(size_t operand, int64_t back) const {
    const Shape &shape = call.operand(operand).shape;
    return shape.size() < 3 ? 0 : shape[shape.size() - back];
  }

  /// The query (operand 0) or key of a head of values.
  Row vector(size_t operand, int64_t token, int64_t head) const {
    const int64_t own = head / (heads / shared);
    const double *from =
        &call.operand(operand).floats[(token * shared + own) * keySize];
    Row v(from, from + keySize);
    if (call.getInt("qk_l2_norm", 0) == 0)
      return v;
    double squares = 0;
    for (double x : v)
      squares += x * x;
    for (double &x : v)
      x = squares > 0 ? x / std::sqrt(squares) : x;
    return v;
  }
  /// What is left of row d of the state.
  double decay(int64_t token, int64_t head, int64_t d) const {
    if (!call.has(4))
      return 1;
    const Tensor &g = call.operand(4);
    const bool each = g.size() == tokens * heads * keySize && keySize > 1;
    const int64_t at = token * heads + head;
    double log = g.floats[each ? at * keySize + d : at];
    if (call.getString("gate_activation", "none") == "qwen") {
      const double x = log + call.operand(8).floats[head];
      log = -std::exp(call.operand(7).floats[head]) *
            (std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))));
    }
    return std::exp(log);
  }
  double rate(int64_t token, int64_t head) const {
    const double beta = call.operand(5).floats[token * heads + head];
    return call.getString("beta_activation", "none") == "sigmoid"
               ? 1 / (1 + std::exp(-beta))
               : beta;
  }
  /// One token for one head of values; `state` is [valueSize, keySize].
  void take(int64_t token, int64_t head, double *state) const {
    const Row key = vector(1, token, head);
    for (int64_t m = 0; m < valueSize; ++m) {
      double *row = state + m * keySize;
      double written =
          call.operand(2).floats[(token * heads + head) * valueSize + m];
      for (int64_t d = 0; d < keySize; ++d)
        row[d] *= decay(token, head, d);
      if (call.has(5)) {
        for (int64_t d = 0; d < keySize; ++d)
          written -= row[d] * key[d];
        written *= rate(token, head);
      }
      for (int64_t d = 0; d < keySize; ++d)
        row[d] += key[d] * written;
    }
  }
};

void gatedDeltaNet(Call &call) {
  const size_t rank = call.operand(0).shape.size();
  if (!call.require((rank == 3 || rank == 4) &&
                        call.operand(2).shape.size() == rank &&
                        call.getInt("state_update_capacity", 0) == 0,
                    "ranks do not fit"))
    return;
  const Net net(call);
  if (call.failed())
    return;
  double scale = call.getFloat("scale", 0);
  if (scale == 0)
    scale = 1 / std::sqrt(static_cast<double>(net.keySize));
  const int64_t length = net.tokens / net.batch,
                each = net.keySize * net.valueSize;
  Tensor y(call.operand(0).type, call.operand(2).shape),
      states(ElementType::F32,
             {net.batch, net.heads, net.valueSize, net.keySize});
  if (call.has(6)) {
    if (!call.require(call.operand(6).shape == states.shape, "the state"))
      return;
    states.floats = call.operand(6).floats;
  }
  for (int64_t token = 0; token < net.tokens; ++token)
    for (int64_t head = 0; head < net.heads; ++head) {
      double *state =
          &states.floats[(token / length * net.heads + head) * each];
      net.take(token, head, state);
      const Row query = net.vector(0, token, head);
      for (int64_t m = 0; m < net.valueSize; ++m) {
        double sum = 0;
        for (int64_t d = 0; d < net.keySize; ++d)
          sum += query[d] * state[m * net.keySize + d];
        y.floats[(token * net.heads + head) * net.valueSize + m] = scale * sum;
      }
    }
  call.setResult(0, std::move(y));
  call.setResult(1, std::move(states));
}

} // namespace

std::vector<EvaluatorRow> onnxref::gatedDeltaNetEvaluators() {
  return {{"GatedDeltaNet",
           {1},
           3,
           gatedDeltaNet,
           Continuity::Smooth,
           "com.microsoft"}};
}
