// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recurrent layers, one step after the other. The products with the input of
// all steps are one product.

#include "Contrib/Activations.h"
#include "QuantizeParameters.h"
#include "lib/Frontend/Onnx/Registry.h"

#include "llvm/ADT/StringSwitch.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

struct Activation {
  std::string name;
  std::optional<double> alpha, beta;
};

/// What the operators have in common. Gates of one direction lie one after the
/// other in the rows of its weights.
struct Layer {
  int64_t gates = 1, hidden = 0, steps = 0, batch = 0, directions = 1;
  bool batchFirst = false;
  bool quantised = false; ///< Weights of 8 bits, [features, rows].
  std::string direction;
  std::optional<double> clip;
  SmallVector<Activation> activations; ///< Per direction and function.
  Value x, w, r, bias, lengths;
};

/// [features, gates * hidden]; of 8 bits with a scale and a zero point, for all
/// or for each column.
struct Weights {
  Value numbers, scale, zero;
};

/// Of one direction.
struct Direction {
  int64_t index = 0;
  bool backwards = false;
  Value fromInput;   ///< [steps, batch, gates * hidden], input bias added.
  Weights recurrent; ///< Of the hidden state.
  Value bias; ///< [1, gates * hidden] of the recurrent products, or null.
  ArrayRef<Activation> functions;
};

struct State {
  Value hidden, cell;
};

Value activate(Node &n, const Activation &f, Value x) {
  using F = UnaryFunction;
  auto unary = [&](F function, double alpha = 0, double beta = 0) {
    return n.unary(function, x, f.alpha.value_or(alpha), f.beta.value_or(beta));
  };
  if (!x)
    return nullptr;
  if (f.name == "sigmoid")
    return unary(F::Sigmoid);
  if (f.name == "tanh")
    return unary(F::Tanh);
  if (f.name == "relu")
    return unary(F::Relu);
  if (f.name == "leakyrelu")
    return unary(F::LeakyRelu, 0.01f);
  if (f.name == "hardsigmoid")
    return unary(F::HardSigmoid, 0.2f, 0.5f);
  if (f.name == "elu")
    return unary(F::Elu, 1);
  if (f.name == "softsign")
    return unary(F::Softsign);
  if (f.name == "softplus")
    return unary(F::Softplus);
  auto number = [&](double value) { return n.splat(value, elementOf(x)); };
  if (f.name == "affine")
    return n.binary<AddOp>(n.binary<MulOp>(x, number(f.alpha.value_or(1))),
                           number(f.beta.value_or(0)));
  if (f.name == "scaledtanh") {
    Value scaled = n.binary<MulOp>(x, number(f.beta.value_or(1)));
    return n.binary<MulOp>(n.unary(F::Tanh, scaled),
                           number(f.alpha.value_or(1)));
  }
  if (f.name == "thresholdedrelu")
    return n.where(
        n.compare(CompareKind::GreaterOrEqual, x, number(f.alpha.value_or(1))),
        x, number(0));
  return n.unsupported("the activation '{}'", printable(f.name));
}

/// An activation's operand, within the layer's limit.
Value limited(Node &n, const Layer &layer, Value x) {
  if (!layer.clip)
    return x;
  return n.unary(UnaryFunction::Clip, x, -*layer.clip, *layer.clip);
}

bool takesAlpha(StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases({"leakyrelu", "thresholdedrelu", "hardsigmoid", "elu", "affine",
              "scaledtanh"},
             true)
      .Default(false);
}
bool takesBeta(StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases({"hardsigmoid", "affine", "scaledtanh"}, true)
      .Default(false);
}

/// The lists of parameters have entries for the functions that take them.
void readActivations(Node &n, Layer &layer, ArrayRef<StringRef> defaults) {
  std::vector<std::string> names = n.getStrings("activations");
  const SmallVector<double> alphas = n.getFloats("activation_alpha"),
                            betas = n.getFloats("activation_beta");
  if (names.empty())
    for (int64_t d = 0; d < layer.directions; ++d)
      for (StringRef name : defaults)
        names.push_back(name.str());
  if (names.size() != defaults.size() * layer.directions) {
    n.malformed("{} activations, expected {}", names.size(),
                defaults.size() * layer.directions);
    return;
  }
  size_t alpha = 0, beta = 0;
  for (const std::string &given : names) {
    Activation f;
    f.name = StringRef(given).lower();
    if (takesAlpha(f.name) && alpha < alphas.size())
      f.alpha = alphas[alpha++];
    if (takesBeta(f.name) && beta < betas.size())
      f.beta = betas[beta++];
    layer.activations.push_back(std::move(f));
  }
}

bool expectShape(Node &n, Value value, ShapeRef shape, StringRef name) {
  if (!value || shapeOf(value) == shape)
    return true;
  n.malformed("'{}' is {}, expected {}", name.str(), typeText(value),
              shapeToString(shape));
  return false;
}

/// Reads what the operators share; false after an error.
bool readLayer(Node &n, Layer &layer, int64_t gates,
               ArrayRef<StringRef> functions) {
  layer.x = n.input(0);
  layer.w = n.input(1);
  layer.r = n.input(2);
  layer.bias = n.optionalInput(3);
  layer.lengths = n.optionalInput(4);
  layer.direction = n.getString("direction", "forward");
  layer.batchFirst = n.getInt("layout", 0) != 0;
  n.ignore("output_sequence"); // Of version 1; the outputs' names say it.
  if (n.hasAttribute("clip"))
    layer.clip = n.getFloat("clip", 0);
  const int64_t given = n.getInt("hidden_size", 0);
  if (n.failed())
    return false;
  if (layer.direction != "forward" && layer.direction != "reverse" &&
      layer.direction != "bidirectional")
    n.malformed("direction is '{}', expected forward, reverse or "
                "bidirectional",
                printable(layer.direction));
  layer.directions = layer.direction == "bidirectional" ? 2 : 1;
  if (n.failed() || rankOf(layer.x) != 3 || rankOf(layer.r) != 3) {
    n.malformed("the input {} or the weights {} have no 3 dimensions",
                typeText(layer.x), typeText(layer.r));
    return false;
  }
  if (layer.batchFirst)
    layer.x = n.transpose(layer.x, {1, 0, 2});
  layer.gates = gates;
  layer.hidden = shapeOf(layer.r)[layer.quantised ? 1 : 2];
  layer.steps = shapeOf(layer.x)[0];
  layer.batch = shapeOf(layer.x)[1];
  if (given != 0 && given != layer.hidden)
    n.malformed("hidden_size is {}, the weights have {}", given, layer.hidden);
  const int64_t d = layer.directions, rows = gates * layer.hidden,
                features = shapeOf(layer.x)[2];
  readActivations(n, layer, functions);
  const Shape w = {d, rows, features}, r = {d, rows, layer.hidden},
              turnedW = {d, features, rows}, turnedR = {d, layer.hidden, rows};
  return expectShape(n, layer.w, layer.quantised ? turnedW : w, "W") &&
         expectShape(n, layer.r, layer.quantised ? turnedR : r, "R") &&
         expectShape(n, layer.bias, {d, 2 * rows}, "B") &&
         expectShape(n, layer.lengths, {layer.batch}, "sequence_lens") &&
         !n.failed();
}

/// The part of a tensor [directions, ...] for one direction, without the axis.
Value directionOf(Node &n, Value x, int64_t direction) {
  if (!x)
    return nullptr;
  return n.reshape(n.sliceAxis(x, 0, direction, 1), shapeOf(x).drop_front());
}

/// The weights of one direction; a scale and a zero point are operands \p at
/// and the next.
Weights weightsOf(Node &n, const Layer &layer, Value all, int64_t index,
                  size_t at) {
  Value own = directionOf(n, all, index);
  if (!layer.quantised)
    return {n.transpose(own, {1, 0}), {}, {}};
  return {own, directionOf(n, n.input(at), index),
          directionOf(n, n.input(at + 1), index)};
}

/// Quantised weights take an operand that is quantised by its own range.
Value product(Node &n, Value x, const Weights &w) {
  if (!w.scale)
    return n.matmul(x, w.numbers);
  const Quantised q = quantiseDynamically(n, x);
  return scaledSums(n, integerMatmul(n, q.q, q.zero, w.numbers, w.zero),
                    q.scale, w.scale, Value());
}

Direction readDirection(Node &n, const Layer &layer, int64_t index) {
  Direction d;
  d.index = index;
  d.backwards = layer.direction == "reverse" || index == 1;
  const size_t functions = layer.activations.size() / layer.directions;
  d.functions = ArrayRef(layer.activations).slice(index * functions, functions);
  const int64_t rows = layer.gates * layer.hidden;
  d.recurrent = weightsOf(n, layer, layer.r, index, 10);
  const int64_t features = shapeOf(layer.x)[2];
  Value flat = n.reshape(layer.x, {layer.steps * layer.batch, features});
  d.fromInput = product(n, flat, weightsOf(n, layer, layer.w, index, 8));
  if (layer.bias) {
    Value bias = n.reshape(directionOf(n, layer.bias, index), {1, 2 * rows});
    d.fromInput = n.binary<AddOp>(d.fromInput, n.sliceAxis(bias, 1, 0, rows));
    d.bias = n.sliceAxis(bias, 1, rows, rows);
  }
  d.fromInput = n.reshape(d.fromInput, {layer.steps, layer.batch, rows});
  return d;
}

/// Columns of gate `k`.
Value gateOf(Node &n, const Layer &layer, Value x, int64_t k) {
  return n.sliceAxis(x, 1, k * layer.hidden, layer.hidden);
}

Value recurrentPart(Node &n, const Direction &d, Value hidden) {
  Value y = product(n, hidden, d.recurrent);
  return d.bias ? n.binary<AddOp>(y, d.bias) : y;
}

using Step = llvm::function_ref<State(const Direction &, Value input, State)>;

/// Sequences of a batch that are shorter keep their state after their end, and
/// give zeros.
Value runDirection(Node &n, const Layer &layer, const Direction &d,
                   State &state, Step step) {
  const Type type = mlir::IntegerType::get(n.context(), 64);
  SmallVector<Value> results(layer.steps);
  for (int64_t k = 0; k < layer.steps && !n.failed(); ++k) {
    const int64_t at = d.backwards ? layer.steps - 1 - k : k;
    Value input = n.reshape(n.sliceAxis(d.fromInput, 0, at, 1),
                            {layer.batch, layer.gates * layer.hidden});
    State next = step(d, input, state);
    Value shown = next.hidden;
    if (layer.lengths && shown) {
      Value runs =
          n.compare(CompareKind::Greater,
                    n.reshape(n.cast(layer.lengths, type), {layer.batch, 1}),
                    n.integers(at, {}, type));
      shown = n.where(runs, shown, n.splat(0, elementOf(shown)));
      next.hidden = n.where(runs, next.hidden, state.hidden);
      if (next.cell)
        next.cell = n.where(runs, next.cell, state.cell);
    }
    state = next;
    results[at] = n.reshape(shown, {1, 1, layer.batch, layer.hidden});
  }
  return n.concat(results, 0);
}

/// [directions, batch, hidden] of an operand or zeros, for one direction.
Value startState(Node &n, const Layer &layer, size_t input, int64_t direction) {
  const Shape shape = {layer.batch, layer.hidden};
  if (!n.hasInput(input))
    return n.broadcast(n.splat(0, elementOf(layer.x)), shape);
  Value given = n.input(input);
  if (layer.batchFirst && rankOf(given) == 3)
    given = n.transpose(given, {1, 0, 2});
  if (!given ||
      !expectShape(n, given, {layer.directions, layer.batch, layer.hidden},
                   "an initial state"))
    return nullptr;
  return directionOf(n, given, direction);
}

void setResults(Node &n, const Layer &layer, ArrayRef<Value> sequences,
                ArrayRef<State> last) {
  Value y = n.concat(sequences, 1);
  n.setOutput(0, layer.batchFirst ? n.transpose(y, {2, 0, 1, 3}) : y);
  auto stacked = [&](Value State::*part) {
    SmallVector<Value> parts;
    for (const State &state : last)
      parts.push_back(n.reshape(state.*part, {1, layer.batch, layer.hidden}));
    Value all = n.concat(parts, 0);
    return layer.batchFirst ? n.transpose(all, {1, 0, 2}) : all;
  };
  n.setOutput(1, stacked(&State::hidden));
  if (last.front().cell)
    n.setOutput(2, stacked(&State::cell));
}

void runLayer(Node &n, const Layer &layer, bool hasCell, Step step) {
  if (layer.steps == 0) {
    n.unsupported("a sequence of no steps");
    return;
  }
  SmallVector<Value> sequences;
  SmallVector<State> last;
  for (int64_t index = 0; index < layer.directions && !n.failed(); ++index) {
    const Direction d = readDirection(n, layer, index);
    State state;
    state.hidden = startState(n, layer, 5, index);
    if (hasCell)
      state.cell = startState(n, layer, 6, index);
    sequences.push_back(runDirection(n, layer, d, state, step));
    last.push_back(state);
  }
  if (!n.failed())
    setResults(n, layer, sequences, last);
}

void rnn(Node &n) {
  Layer layer;
  if (!readLayer(n, layer, 1, {"Tanh"}))
    return;
  runLayer(n, layer, false, [&](const Direction &d, Value input, State state) {
    Value sum = n.binary<AddOp>(input, recurrentPart(n, d, state.hidden));
    return State{activate(n, d.functions[0], limited(n, layer, sum)), {}};
  });
}

/// Gates update, reset, hidden. With linear_before_reset the reset gate takes
/// the product with the state, without it the state.
void gru(Node &n) {
  Layer layer;
  const bool linear = n.getInt("linear_before_reset", 0) != 0;
  if (!readLayer(n, layer, 3, {"Sigmoid", "Tanh"}))
    return;
  auto gate = [&](Value x, int64_t k) { return gateOf(n, layer, x, k); };
  auto apply = [&](const Activation &f, Value a, Value b) {
    return activate(n, f, limited(n, layer, n.binary<AddOp>(a, b)));
  };
  runLayer(n, layer, false, [&](const Direction &d, Value input, State state) {
    Value h = state.hidden, part = recurrentPart(n, d, h);
    Value z = apply(d.functions[0], gate(input, 0), gate(part, 0));
    Value r = apply(d.functions[0], gate(input, 1), gate(part, 1));
    Value inner;
    if (linear) {
      inner = n.binary<MulOp>(r, gate(part, 2));
    } else {
      inner = n.matmul(n.binary<MulOp>(r, h), gate(d.recurrent.numbers, 2));
      if (d.bias)
        inner = n.binary<AddOp>(inner, gate(d.bias, 2));
    }
    Value candidate = apply(d.functions[1], gate(input, 2), inner);
    if (!candidate)
      return State{};
    Value one = n.splat(1, elementOf(candidate));
    Value fresh = n.binary<MulOp>(n.binary<SubOp>(one, z), candidate);
    return State{n.binary<AddOp>(fresh, n.binary<MulOp>(z, h)), {}};
  });
}

/// Gates input, output, forget, cell; peepholes in the order input, output,
/// forget.
void runLstm(Node &n, bool quantised) {
  Layer layer;
  layer.quantised = quantised;
  const bool coupled = n.getInt("input_forget", 0) != 0;
  if (!readLayer(n, layer, 4, {"Sigmoid", "Tanh", "Tanh"}))
    return;
  Value peepholes = n.optionalInput(7);
  if (!expectShape(n, peepholes, {layer.directions, 3 * layer.hidden}, "P"))
    return;
  auto apply = [&](const Activation &f, Value x) {
    return activate(n, f, limited(n, layer, x));
  };
  runLayer(n, layer, true, [&](const Direction &d, Value input, State state) {
    Value sum = n.binary<AddOp>(input, recurrentPart(n, d, state.hidden));
    auto gate = [&](int64_t k, int64_t peephole, Value cell) {
      Value x = gateOf(n, layer, sum, k);
      if (!peepholes)
        return x;
      Value p =
          n.reshape(directionOf(n, peepholes, d.index), {1, 3 * layer.hidden});
      return n.binary<AddOp>(
          x, n.binary<MulOp>(gateOf(n, layer, p, peephole), cell));
    };
    Value i = apply(d.functions[0], gate(0, 0, state.cell));
    if (!i)
      return State{};
    Value f = coupled ? n.binary<SubOp>(n.splat(1, elementOf(i)), i)
                      : apply(d.functions[0], gate(2, 2, state.cell));
    Value c = apply(d.functions[1], gateOf(n, layer, sum, 3));
    Value cell =
        n.binary<AddOp>(n.binary<MulOp>(f, state.cell), n.binary<MulOp>(i, c));
    Value o = apply(d.functions[0], gate(1, 1, cell));
    Value hidden = n.binary<MulOp>(o, apply(d.functions[2], cell));
    return State{hidden, cell};
  });
}

void lstm(Node &n) { runLstm(n, /*quantised=*/false); }

/// One parameter for each direction, or one for each of its columns.
bool checkParameter(Node &n, size_t i, int64_t directions, int64_t rows) {
  Value x = n.input(i);
  if (x && shapeOf(x) != ShapeRef(directions) &&
      shapeOf(x) != ShapeRef({directions, rows}))
    n.malformed("input {} is {}, expected {} or {}x{} numbers", i, typeText(x),
                directions, directions, rows);
  return !n.failed();
}

void dynamicQuantizeLstm(Node &n) {
  Value r = n.input(2);
  if (r && rankOf(r) == 3)
    for (size_t i = 8; i < 12; ++i)
      if (!checkParameter(n, i, shapeOf(r)[0], shapeOf(r)[2]))
        return;
  runLstm(n, /*quantised=*/true);
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::recurrentRows() {
  const char *note =
      "one product for the inputs of all steps, and each step's operations; "
      "both directions, lengths of sequences, clip, every activation";
  return {
      {"RNN", {1, 7, 14, 22}, rnn, note},
      {"GRU", {1, 3, 7, 14, 22}, gru, note},
      {"LSTM", {1, 7, 14, 22}, lstm, note},
      {"DynamicQuantizeLSTM",
       {1},
       dynamicQuantizeLstm,
       "as LSTM; the products of integers, whose operands are quantised as "
       "DynamicQuantizeLinear does it: the input at once, the state of all "
       "sequences at each step",
       "com.microsoft"},
  };
}
