// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates operations on constants. Input: any `nn` function; output: the same
// with constant subgraphs replaced. One walk in program order suffices, since
// operands come first. One number repeated stays that (FoldSplats.cpp); what
// the budget of the module does not cover stays an operation.

#include "FoldSplats.h"
#include "Rewrite.h"
#include "ashlar/Reference/Constants.h"
#include "ashlar/Reference/Interpreter.h"
#include "ashlar/Reference/Movement.h"
#include "ashlar/Support/Budget.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "dialects/NN/NNDeferred.h"
#include "dialects/NN/NNElements.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace ashlar::nn {
#define GEN_PASS_DEF_FOLDCONSTANTS
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;

namespace {

// Bytes of a value, or nothing for types without a host form.
std::optional<uint64_t> bytesOf(Value value) {
  auto element = toElementType(typeOf(value).getElementType());
  auto count = support::countElements(shapeOf(value));
  if (!element || !count)
    return std::nullopt;
  return *count * support::byteSize(*element);
}

template <typename T>
void moveAs(const reference::IndexMap &map, const char *source, char *result,
            const uint8_t *fillBytes) {
  T fillValue = 0;
  if (fillBytes)
    std::memcpy(&fillValue, fillBytes, sizeof(T));
  map.apply(reinterpret_cast<const T *>(source), reinterpret_cast<T *>(result),
            fillValue);
}

// The pad value in the element type's own bytes.
std::vector<uint8_t> fillBytesOf(Operation *op, ElementType type) {
  auto pad = dyn_cast<PadOp>(op);
  if (!pad)
    return {};
  reference::Tensor value(type, {});
  double number = pad.getValue().convertToDouble();
  if (value.isFloat())
    value.floats[0] = number;
  else
    value.ints[0] = static_cast<int64_t>(number);
  return reference::toHost(value, type).data;
}

// Movement on raw bits (docs/Numerics.md 7): no value passes through a number.
class Movement {
public:
  static std::optional<Movement> of(Operation *op) {
    Movement movement;
    movement.map = reference::movementMap(op);
    if (!movement.map && !isa<ConcatOp, ReshapeOp>(op))
      return std::nullopt;
    ElementType type =
        *toElementType(typeOf(op->getResult(0)).getElementType());
    movement.width = support::byteSize(type);
    movement.bytes = typeOf(op->getResult(0)).getNumElements() * movement.width;
    movement.fill = fillBytesOf(op, type);
    if (auto concat = dyn_cast<ConcatOp>(op))
      movement.setConcat(concat);
    for (Value operand : op->getOperands())
      movement.sources.push_back(constantOp(operand).getValue());
    if (auto transpose = dyn_cast<TransposeOp>(op))
      movement.setTranspose(transpose.getPerm());
    return movement;
  }

  // Bytes of the result from `first` on. A part is cut from the whole.
  bool operator()(size_t first, MutableArrayRef<char> to) const {
    // A reshape moves nothing.
    if (!map && rows.empty())
      return copyPart(sources[0], first, to);
    if (to.size() == bytes)
      return write(to);
    ElementStorage whole(bytes);
    if (bytes < first + to.size() || !write(whole))
      return false;
    std::memcpy(to.data(), whole.data() + first, to.size());
    return true;
  }

private:
  bool write(MutableArrayRef<char> to) const {
    SmallVector<ElementStorage> storage(sources.size());
    SmallVector<ArrayRef<char>> parts;
    for (auto [source, own] : llvm::zip(sources, storage)) {
      auto raw = rawElements(source, own);
      if (!raw)
        return false;
      parts.push_back(*raw);
    }
    if (map)
      move(parts[0].data(), to.data());
    else
      concatenate(parts, to.data());
    return true;
  }

  // A transpose of a constant that is to be transposed itself is one transpose
  // of what that one is made of, or none at all.
  void setTranspose(ArrayRef<int64_t> order) {
    perm.assign(order.begin(), order.end());
    auto before = deferredSource(sources[0]);
    const auto *other = before ? before->target<Movement>() : nullptr;
    if (!other || other->perm.empty())
      return;
    for (int64_t &axis : perm)
      axis = other->perm[axis];
    sources[0] = other->sources[0];
    map = reference::transposeMap(
        cast<ShapedType>(sources[0].getType()).getShape(), perm);
    if (llvm::is_sorted(perm))
      map.reset();
  }

  // What each part has of an index before the axis.
  void setConcat(ConcatOp op) {
    int64_t axis = op.getAxis();
    outer = reference::elementCount(shapeOf(op.getY()).take_front(axis));
    for (Value input : op.getInputs())
      rows.push_back(width *
                     reference::elementCount(shapeOf(input).drop_front(axis)));
  }

  void concatenate(ArrayRef<ArrayRef<char>> parts, char *to) const {
    for (int64_t o = 0; o < outer; ++o)
      for (auto [part, bytes] : llvm::zip(parts, rows)) {
        std::memcpy(to, part.data() + o * bytes, bytes);
        to += bytes;
      }
  }

  void move(const char *source, char *to) const {
    const uint8_t *bytes = fill.empty() ? nullptr : fill.data();
    switch (width) {
    case 1:
      return moveAs<uint8_t>(*map, source, to, bytes);
    case 2:
      return moveAs<uint16_t>(*map, source, to, bytes);
    case 4:
      return moveAs<uint32_t>(*map, source, to, bytes);
    default:
      return moveAs<uint64_t>(*map, source, to, bytes);
    }
  }

  std::optional<reference::IndexMap> map;
  SmallVector<ElementsAttr> sources;
  SmallVector<int64_t> perm; // of a transpose
  SmallVector<int64_t> rows; // concatenation: bytes of each part
  int64_t outer = 1;
  size_t bytes = 0; // of the result
  unsigned width = 1;
  std::vector<uint8_t> fill;
};

// Extents of the window of an operation without weights; none of others.
ArrayRef<int64_t> windowOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, ArrayRef<int64_t>>(op)
      .Case<MaxPoolOp, AvgPoolOp, Im2ColOp>(
          [](auto window) { return window.getKernel(); })
      .Default(ArrayRef<int64_t>());
}

// Evaluations that an operation takes.
uint64_t workOf(Operation *op) {
  uint64_t most = typeOf(op->getResult(0)).getNumElements();
  for (Value operand : op->getOperands())
    most = std::max<uint64_t>(most, typeOf(operand).getNumElements());
  uint64_t terms = 1;
  if (auto product = dyn_cast<MatMulOp>(op))
    terms = shapeOf(product.getA()).back();
  else if (auto conv = dyn_cast<ConvOp>(op))
    terms = typeOf(conv.getW()).getNumElements() /
            std::max<int64_t>(shapeOf(conv.getW())[0], 1);
  else if (auto conv = dyn_cast<ConvTransposeOp>(op))
    terms = typeOf(conv.getW()).getNumElements() /
            std::max<int64_t>(shapeOf(conv.getW())[0], 1);
  else
    for (int64_t extent : windowOf(op))
      terms = llvm::SaturatingMultiply<uint64_t>(terms, extent);
  return llvm::SaturatingMultiply(most, std::max<uint64_t>(terms, 1));
}

bool isEmpty(Value value) { return typeOf(value).getNumElements() == 0; }

// A tensor without elements is known wherever it comes from: a product over an
// axis of extent 0 is zero.
bool isKnown(Value value) {
  return isConstant(value) ||
         (isEmpty(value) && toElementType(typeOf(value).getElementType()));
}

// A convolution of no input channels is its bias.
void separateBias(Operation *op) {
  auto separate = [](auto conv) {
    if (!conv || !conv.getBias() || !isEmpty(conv.getW()))
      return;
    OpBuilder builder(conv);
    builder.setInsertionPointAfter(conv);
    Value sum = addBias(builder, conv.getLoc(), conv.getY(), conv.getBias());
    conv.getY().replaceAllUsesExcept(sum, sum.getDefiningOp());
    conv.getBiasMutable().clear();
  };
  separate(dyn_cast<ConvOp>(op));
  separate(dyn_cast<ConvTransposeOp>(op));
}

// Operands without elements as constants, so that `op` can be evaluated.
void makeEmptyOperandsConstant(Operation *op) {
  OpBuilder builder(op);
  for (OpOperand &operand : op->getOpOperands()) {
    if (isConstant(operand.get()))
      continue;
    RankedTensorType type = typeOf(operand.get());
    operand.set(
        ConstantOp::create(builder, op->getLoc(), type,
                           nn::makeElements(type, std::string(), "folded")));
  }
}

} // namespace

std::optional<ElementsAttr> nn::evaluateConstant(Operation *op) {
  RankedTensorType type = typeOf(op->getResult(0));
  // Known whatever the operands are, and nothing that an engine could write.
  if (isEmpty(op->getResult(0)))
    return nn::makeElements(type, std::string(), "folded");
  if (auto movement = Movement::of(op)) {
    if (ElementsAttr moved =
            nn::deferElements(type, std::move(*movement), "folded"))
      return moved;
    return std::nullopt;
  }
  SmallVector<reference::Tensor> values;
  for (Value operand : op->getOperands()) {
    auto value = constantTensor(operand);
    if (!value)
      return std::nullopt;
    values.push_back(std::move(*value));
  }
  SmallVector<const reference::Tensor *> operands;
  for (const reference::Tensor &value : values)
    operands.push_back(&value);
  llvm::Expected<reference::Tensor> result =
      reference::evaluateOp(op, operands);
  if (!result) {
    // No evaluator for these types: the operation stays.
    llvm::consumeError(result.takeError());
    return std::nullopt;
  }
  return reference::makeElements(type,
                                 reference::toHost(*result, result->type));
}

namespace {

struct FoldConstantsPass
    : ashlar::nn::impl::FoldConstantsBase<FoldConstantsPass> {
  using FoldConstantsBase::FoldConstantsBase;
  support::Budget budget;

  // What the module holds itself may be moved and converted freely, which adds
  // nothing where the source has no other reader.
  void startBudget() {
    uint64_t stored = 0;
    getOperation().walk(
        [&](ConstantOp op) { stored += bytesOf(op.getOutput()).value_or(0); });
    budget = support::Budget::ofContents(stored, doubles);
  }

  // True if the result of `op` may become a constant.
  bool affords(Operation *op, bool isSplat) {
    const uint64_t size = *bytesOf(op->getResult(0));
    uint64_t operands = 0, freed = 0;
    llvm::SmallDenseSet<Value, 4> seen;
    for (Value operand : op->getOperands()) {
      // What is read twice is stored once.
      if (!seen.insert(operand).second)
        continue;
      const uint64_t bytes = bytesOf(operand).value_or(0);
      operands += bytes;
      const auto uses =
          static_cast<unsigned>(llvm::count(op->getOperands(), operand));
      if (!operand.hasNUsesOrMore(uses + 1))
        freed += bytes;
    }
    if (size > operands && size > static_cast<uint64_t>(maxBytes))
      return false;
    // Later phases write out one number repeated as well.
    const uint64_t work = isSplat ? 1 : workOf(op);
    if (work > budget.workLeft() ||
        !budget.takeBytes(size > freed ? size - freed : 0))
      return false;
    budget.takeWork(work);
    return true;
  }

  void runOnOperation() override {
    startBudget();
    SmallVector<Operation *> candidates;
    getOperation().walk([&](Operation *op) {
      if (isa_and_present<NNDialect>(op->getDialect()) && !isa<ConstantOp>(op))
        candidates.push_back(op);
    });
    for (Operation *op : candidates) {
      separateBias(op);
      bool known = llvm::all_of(op->getOperands(), isKnown);
      if (op->getNumOperands() == 0 || (!known && !isEmpty(op->getResult(0))))
        continue;
      if (known)
        makeEmptyOperandsConstant(op);
      fold(op);
    }
  }

  void fold(Operation *op) {
    if (!bytesOf(op->getResult(0)))
      return;
    std::optional<ElementsAttr> value = foldSplat(op);
    if (!affords(op, value.has_value())) {
      ++kept;
      return;
    }
    if (!value)
      value = evaluateConstant(op);
    if (!value)
      return;
    OpBuilder builder(op);
    auto constant = ConstantOp::create(builder, op->getLoc(),
                                       op->getResult(0).getType(), *value);
    SmallVector<Operation *> sources;
    for (Value operand : op->getOperands())
      sources.push_back(operand.getDefiningOp());
    op->getResult(0).replaceAllUsesWith(constant.getOutput());
    op->erase();
    // A source may occur twice among the operands.
    llvm::sort(sources);
    sources.erase(llvm::unique(sources), sources.end());
    for (Operation *source : sources)
      if (isa_and_present<ConstantOp>(source) && source->use_empty())
        source->erase();
    ++folded;
  }
};

} // namespace
