// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Orders the channels between convolutions so that zeros of their weights meet
// in whole tiles of the array and whole blocks of channels (see Passes.td).
// Input: convolutions with constant weights. Output: the same, some with other
// orders of output and input channels.

#include "MachineView.h"
#include "Rewrite.h"
#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "dialects/NN/NNElements.h"
#include "llvm/ADT/SetVector.h"

#include <cstring>
#include <numeric>

namespace ashlar::nn {
#define GEN_PASS_DEF_ORDERCHANNELS
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;
using reference::Tensor;

namespace {

/// A feature map between convolutions: who makes it and who reads it, directly
/// or through operations on each channel alone.
struct Map {
  ConvOp producer;
  llvm::SetVector<Operation *> readers;
  llvm::SmallVector<Operation *, 4> makers; ///< the producer and what follows
  bool keepsZero = true; ///< a channel of zeros is one for the readers
};

/// Whether floatConstant() has a value, without making it.
bool isFloatConstant(Value value) {
  ConstantOp op = constantOp(value);
  return op && isa<FloatType>(typeOf(value).getElementType()) &&
         nn::hasElements(op.getValue());
}

bool isPlainConv(ConvOp conv) {
  return conv.getGroup() == 1 && isFloatConstant(conv.getW()) &&
         (!conv.getBias() || isFloatConstant(conv.getBias()));
}

/// The feature map that `conv` makes, if its channels may have any order.
std::optional<Map> freeMap(ConvOp conv) {
  Map map;
  map.producer = conv;
  llvm::SetVector<Value> values;
  values.insert(conv.getY());
  for (size_t i = 0; i < values.size(); ++i) {
    for (OpOperand &use : values[i].getUses()) {
      Operation *user = use.getOwner();
      if (auto unary = dyn_cast<UnaryOp>(user)) {
        map.keepsZero &= unary.getFunction() == UnaryFunction::Relu ||
                         unary.getFunction() == UnaryFunction::Copy;
        values.insert(unary->getResult(0));
        continue;
      }
      if (isa<MaxPoolOp, AvgPoolOp>(user)) {
        values.insert(user->getResult(0));
        continue;
      }
      auto reader = dyn_cast<ConvOp>(user);
      if (!reader || use.getOperandNumber() != 0 || !isPlainConv(reader))
        return std::nullopt;
      map.readers.insert(reader);
    }
  }
  if (map.readers.empty())
    return std::nullopt;
  for (Value value : values)
    map.makers.push_back(value.getDefiningOp());
  return map;
}

/// Weights of a convolution as [outputs][inputs][taps], as they are stored:
/// they are moved and compared with zero only.
class Weights {
public:
  explicit Weights(ConvOp conv)
      : conv(conv), outputs(shapeOf(conv.getW())[0]),
        inputs(shapeOf(conv.getW())[1]) {
    RankedTensorType type = typeOf(conv.getW());
    taps = type.getNumElements() / std::max<int64_t>(outputs * inputs, 1);
    width = support::byteSize(*toElementType(type.getElementType()));
    bytes.resize(type.getNumElements() * width);
    available = copyElements(constantOp(conv.getW()).getValue(), bytes);
  }

  bool isZero(int64_t output, int64_t input, int64_t tap) const {
    uint64_t word = 0;
    std::memcpy(&word, at(output, input, tap), width);
    // Of either sign.
    return (word & ~(uint64_t(1) << (8 * width - 1))) == 0;
  }
  bool outputIsZero(int64_t output) const {
    for (int64_t i = 0; i < inputs; ++i)
      for (int64_t t = 0; t < taps; ++t)
        if (!isZero(output, i, t))
          return false;
    return true;
  }
  bool inputIsZero(int64_t input) const {
    for (int64_t o = 0; o < outputs; ++o)
      for (int64_t t = 0; t < taps; ++t)
        if (!isZero(o, input, t))
          return false;
    return true;
  }
  void clearInput(int64_t input) {
    for (int64_t o = 0; o < outputs; ++o)
      std::memset(at(o, input, 0), 0, taps * width);
  }
  /// Zero tiles of an array of rows x columns that holds one tap at a time.
  int64_t zeroTiles(int64_t rows, int64_t columns);
  /// By tap and rows inputs: whether an output has a weight there.
  std::vector<bool> pattern(int64_t output, int64_t rows);
  void permuteOutputs(llvm::ArrayRef<int64_t> order);
  void permuteInputs(llvm::ArrayRef<int64_t> order);
  /// Gives the convolution these weights.
  void store() const {
    Operation *old = constantOp(conv.getW());
    OpBuilder builder(conv);
    RankedTensorType type = typeOf(conv.getW());
    conv.getWMutable().assign(ConstantOp::create(
        builder, old->getLoc(), type,
        nn::makeElements(type, std::string(bytes.begin(), bytes.end()),
                         "constant")));
  }

  mutable ConvOp conv;
  int64_t outputs, inputs, taps = 1;
  bool available = false; ///< The elements could be read.

private:
  char *at(int64_t output, int64_t input, int64_t tap) {
    return bytes.data() + ((output * inputs + input) * taps + tap) * width;
  }
  const char *at(int64_t output, int64_t input, int64_t tap) const {
    return bytes.data() + ((output * inputs + input) * taps + tap) * width;
  }

  unsigned width = 1;
  std::vector<char> bytes;
};

std::vector<bool> Weights::pattern(int64_t output, int64_t rows) {
  std::vector<bool> used;
  for (int64_t tap = 0; tap < taps; ++tap)
    for (int64_t first = 0; first < inputs; first += rows) {
      bool any = false;
      for (int64_t i = first; i < std::min(inputs, first + rows) && !any; ++i)
        any = !isZero(output, i, tap);
      used.push_back(any);
    }
  return used;
}

int64_t Weights::zeroTiles(int64_t rows, int64_t columns) {
  int64_t zero = 0;
  for (int64_t first = 0; first < outputs; first += columns) {
    std::vector<bool> used;
    for (int64_t o = first; o < std::min(outputs, first + columns); ++o) {
      std::vector<bool> own = pattern(o, rows);
      used.resize(own.size());
      for (size_t i = 0; i < own.size(); ++i)
        used[i] = used[i] || own[i];
    }
    zero += std::count(used.begin(), used.end(), false);
  }
  return zero;
}

void Weights::permuteOutputs(llvm::ArrayRef<int64_t> order) {
  const Weights old = *this;
  for (int64_t o = 0; o < outputs; ++o)
    for (int64_t i = 0; i < inputs; ++i)
      std::memcpy(at(o, i, 0), old.at(order[o], i, 0), taps * width);
}

void Weights::permuteInputs(llvm::ArrayRef<int64_t> order) {
  const Weights old = *this;
  for (int64_t o = 0; o < outputs; ++o)
    for (int64_t i = 0; i < inputs; ++i)
      std::memcpy(at(o, i, 0), old.at(o, order[i], 0), taps * width);
}

struct OrderChannelsPass
    : ashlar::nn::impl::OrderChannelsBase<OrderChannelsPass> {
  using OrderChannelsBase::OrderChannelsBase;

  void runOnOperation() override {
    FailureOr<MachineView> machine = MachineView::of(getOperation());
    if (failed(machine))
      return signalPassFailure();
    rows = machine->rows;
    columns = machine->columns;
    llvm::SmallVector<ConvOp> convs;
    getOperation().walk([&](ConvOp conv) { convs.push_back(conv); });
    for (ConvOp conv : convs)
      if (isPlainConv(conv))
        if (std::optional<Map> map = freeMap(conv))
          order(*map);
  }

private:
  /// Of the array.
  int64_t rows = 1, columns = 1;

  void order(Map &map);
  bool permute(Map &map, Weights &producer, std::vector<Weights> &readers,
               llvm::ArrayRef<int64_t> order);
  int64_t zeroTiles(Weights &producer, std::vector<Weights> &readers) const {
    int64_t tiles = producer.zeroTiles(rows, columns);
    for (Weights &reader : readers)
      tiles += reader.zeroTiles(rows, columns);
    return tiles;
  }
};

/// Channels that no reader needs come last, before them those of zeros, before
/// these the others, equal patterns of zeros together.
std::vector<int64_t> orderOf(Weights &producer, std::vector<Weights> &readers,
                             int64_t rows) {
  using Key = std::tuple<bool, bool, std::vector<bool>>;
  std::vector<Key> keys;
  for (int64_t c = 0; c < producer.outputs; ++c) {
    bool unread = llvm::all_of(
        readers, [&](Weights &reader) { return reader.inputIsZero(c); });
    // Full patterns first: the shares that are omitted meet at the end.
    std::vector<bool> pattern = producer.pattern(c, rows);
    pattern.flip();
    keys.emplace_back(unread, producer.outputIsZero(c), std::move(pattern));
  }
  std::vector<int64_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](int64_t a, int64_t b) {
    return std::tie(keys[a], a) < std::tie(keys[b], b);
  });
  return order;
}

/// Takes an order if it makes tiles of zeros; the caller stores the readers.
bool OrderChannelsPass::permute(Map &map, Weights &producer,
                                std::vector<Weights> &readers,
                                llvm::ArrayRef<int64_t> order) {
  Weights orderedProducer = producer;
  std::vector<Weights> orderedReaders = readers;
  orderedProducer.permuteOutputs(order);
  for (Weights &reader : orderedReaders)
    reader.permuteInputs(order);
  if (zeroTiles(orderedProducer, orderedReaders) <=
      zeroTiles(producer, readers))
    return false;
  orderedProducer.store();
  readers = std::move(orderedReaders);
  if (std::optional<Tensor> bias = floatConstant(map.producer.getBias())) {
    Tensor ordered = *bias;
    for (auto [to, from] : llvm::enumerate(order))
      ordered.floats[to] = bias->floats[from];
    OpBuilder builder(map.producer);
    Value old = map.producer.getBias();
    map.producer.getBiasMutable().assign(
        makeConstant(builder, old.getDefiningOp()->getLoc(), ordered,
                     typeOf(old).getElementType()));
  }
  llvm::for_each(map.makers, analysis::markAltered);
  ++numOrdered;
  return true;
}

/// Whether a convolution has a weight of zero, as far as that is known.
bool mayHaveZeros(ConvOp conv) {
  std::optional<ElementFacts> facts =
      factsOf(constantOp(conv.getW()).getValue());
  return !facts || facts->hasZeros;
}

void OrderChannelsPass::order(Map &map) {
  // All channels are alike then.
  if (!mayHaveZeros(map.producer) &&
      llvm::none_of(map.readers, [](Operation *reader) {
        return mayHaveZeros(cast<ConvOp>(reader));
      }))
    return;
  Weights producer(map.producer);
  std::vector<Weights> readers;
  for (Operation *reader : map.readers)
    readers.emplace_back(cast<ConvOp>(reader));
  if (!producer.available ||
      llvm::any_of(readers, [](const Weights &w) { return !w.available; }))
    return;
  std::optional<Tensor> bias = floatConstant(map.producer.getBias());
  bool cleared = false;
  for (int64_t c = 0; map.keepsZero && c < producer.outputs; ++c) {
    if (!producer.outputIsZero(c) || (bias && bias->floats[c] != 0))
      continue;
    for (Weights &reader : readers)
      if (!reader.inputIsZero(c)) {
        reader.clearInput(c);
        cleared = true;
        ++numCleared;
      }
  }
  std::vector<int64_t> order = orderOf(producer, readers, rows);
  if (!llvm::is_sorted(order))
    cleared |= permute(map, producer, readers, order);
  if (cleared)
    for (Weights &reader : readers)
      reader.store();
}

} // namespace
