// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a network is cut, and the modules of its parts.

#include "NetworkParts.h"

#include "ashlar/Analysis/Module/ModuleForm.h"
#include "dialects/BFP/BFPDialect.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/BFP/BFPTypes.h"
#include "dialects/BFP/EncodeEvents.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/NNTypes.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <utility>

using namespace mlir;

namespace ashlar::pipelines {
namespace {

/// Products of one part. Fewer would share more, but every part costs a
/// compilation and, for each sample, a run.
constexpr size_t kProductsOfPart = 6;

bool isProduct(Operation *op) { return isa<bfp::ConvOp, bfp::MatmulOp>(op); }

/// The type in which a tensor crosses the border of a part.
RankedTensorType borderType(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return bfp::isEncoded(type) ? type.clone(Float32Type::get(type.getContext()))
                              : type;
}

/// Finds the places where `main` is cut. Constants belong to no part: each part
/// has copies of those that it reads.
class Cutter {
public:
  explicit Cutter(func::FuncOp main) : main(main), events(main) {
    for (Operation &op : main.getBody().front().without_terminator())
      if (llvm::all_of(op.getOperands(), [&](Value v) { return isFixed(v); }))
        fixed.insert(&op);
      else
        steps.push_back(&op);
    for (auto [i, op] : llvm::enumerate(steps))
      position[op] = i;
  }

  bool isFixed(Value value) const {
    return fixed.contains(value.getDefiningOp());
  }

  llvm::ArrayRef<Operation *> operations() const { return steps; }

  /// Where parts begin, and the number of operations at the end.
  std::vector<size_t> borders() const {
    const std::vector<double> bytes = crossing();
    std::vector<size_t> begins = {0};
    size_t products = 0, best = 0;
    for (size_t i = 1; i < steps.size(); ++i) {
      products += isProduct(steps[i - 1]);
      // The best place from half as many products as a part should have to
      // half as many more.
      if (2 * products >= kProductsOfPart && bytes[i] < HUGE_VAL &&
          (best == 0 || bytes[i] < bytes[best]))
        best = i;
      if (best == 0 || 2 * products < 3 * kProductsOfPart)
        continue;
      begins.push_back(best);
      i = std::exchange(best, 0);
      products = 0;
    }
    begins.push_back(steps.size());
    return begins;
  }

  /// Position of the last operation that reads `value`; the number of all
  /// operations if it is a graph output.
  size_t lastUse(Value value) const {
    size_t last = 0;
    for (Operation *user : value.getUsers()) {
      auto found = position.find(user);
      last = std::max(last,
                      found == position.end() ? steps.size() : found->second);
    }
    return last;
  }

private:
  /// True if a part can read the tensor as an input of its own.
  bool mayCross(Value value) const {
    if (!bfp::isEncoded(value.getType()))
      return nn::isStoredTensor(value.getType());
    std::optional<unsigned> event = events.getEvent(value);
    if (!event)
      return false;
    const bfp::EncodeEvent &own = events.getEvents()[*event];
    return own.root == value && own.parts.empty() &&
           bfp::getScalePolicy(value.getDefiningOp()).kind ==
               numerics::ScaleKind::RunMax;
  }

  /// Bytes that cross before each operation; infinite if some cannot.
  std::vector<double> crossing() const {
    std::vector<double> bytes(steps.size() + 1, 0);
    for (auto [i, op] : llvm::enumerate(steps))
      for (Value result : op->getResults()) {
        const double own =
            mayCross(result)
                ? static_cast<double>(
                      cast<RankedTensorType>(result.getType()).getNumElements())
                : HUGE_VAL;
        for (size_t at = i + 1; at <= lastUse(result); ++at)
          bytes[at] += own;
      }
    return bytes;
  }

  func::FuncOp main;
  bfp::EncodeEvents events;
  llvm::DenseSet<Operation *> fixed;
  std::vector<Operation *> steps;
  llvm::DenseMap<Operation *, size_t> position;
};

/// Writes one part.
class PartBuilder {
public:
  PartBuilder(ModuleOp network, func::FuncOp main)
      : builder(network.getContext()),
        module(ModuleOp::create(builder, network.getLoc())) {
    (*module)->setAttrs(network->getAttrDictionary());
    builder.setInsertionPointToEnd(module->getBody());
    function = func::FuncOp::create(builder, main.getLoc(), main.getName(),
                                    builder.getFunctionType({}, {}));
    builder.setInsertionPointToEnd(function.addEntryBlock());
  }

  void addInput(Value value) {
    const unsigned index = function.getNumArguments();
    auto location = NameLoc::get(builder.getStringAttr(nameOf("in", index)));
    (void)function.insertArgument(index, borderType(value),
                                  nameAttrs("in", index), location);
    Value argument = function.getArgument(index);
    if (bfp::isEncoded(value.getType()))
      argument = bfp::EncodeOp::create(builder, location, value.getType(),
                                       argument, /*weights=*/false);
    copies.map(value, argument);
  }

  void addOperation(Operation *op) {
    for (Value operand : op->getOperands())
      addConstant(operand);
    builder.clone(*op, copies);
  }

  void addOutput(Value value) {
    Value own = copies.lookup(value);
    if (bfp::isEncoded(own.getType()))
      own =
          bfp::DecodeOp::create(builder, own.getLoc(), borderType(value), own);
    outputs.push_back(own);
  }

  std::string finish() {
    func::ReturnOp::create(builder, function.getLoc(), outputs);
    function.setType(builder.getFunctionType(function.getArgumentTypes(),
                                             ValueRange(outputs).getTypes()));
    for (unsigned i = 0; i < outputs.size(); ++i)
      function.setResultAttrs(i, nameAttrs("out", i));
    std::string bytes;
    llvm::raw_string_ostream stream(bytes);
    (void)writeBytecodeToFile(*module, stream);
    return bytes;
  }

private:
  static std::string nameOf(llvm::StringRef what, unsigned index) {
    return (what + llvm::Twine(index)).str();
  }
  DictionaryAttr nameAttrs(llvm::StringRef what, unsigned index) {
    return builder.getDictionaryAttr(builder.getNamedAttr(
        nn::nameAttr, builder.getStringAttr(nameOf(what, index))));
  }
  /// Copies of what a constant consists of, once.
  void addConstant(Value value) {
    if (!copies.contains(value))
      addOperation(value.getDefiningOp());
  }

  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  IRMapping copies;
  llvm::SmallVector<Value> outputs;
};

support::ArgumentDigest::Number digestOf(llvm::StringRef bytes) {
  return support::ArgumentDigest().add(bytes).take();
}

/// True if every argument and result is a tensor of a known shape that lives
/// for one run, and a computed one.
bool isPlain(func::FuncOp main, const Cutter &cutter) {
  auto onlyNamed = [](DictionaryAttr attrs) {
    return !attrs || llvm::all_of(attrs, [](NamedAttribute attr) {
      return attr.getName() == nn::nameAttr;
    });
  };
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    if (!onlyNamed(main.getArgAttrDict(i)))
      return false;
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    if (!onlyNamed(main.getResultAttrDict(i)))
      return false;
  return llvm::none_of(main.getBody().front().getTerminator()->getOperands(),
                       [&](Value v) { return cutter.isFixed(v); }) &&
         llvm::none_of(cutter.operations(), [](Operation *op) {
           return op->hasTrait<nn::HostFunction>();
         });
}

/// The network as its only part.
CutNetwork uncut(ModuleOp network, func::FuncOp main) {
  CutNetwork cut;
  NetworkPart part;
  llvm::raw_string_ostream stream(part.module);
  (void)writeBytecodeToFile(network, stream);
  part.content = digestOf(part.module);
  part.firstOutput = main.getNumArguments();
  part.outputs = main.getNumResults();
  for (size_t i = 0; i < part.firstOutput; ++i)
    part.inputs.push_back(i);
  for (size_t i = 0; i < part.outputs; ++i)
    cut.results.push_back(part.firstOutput + i);
  cut.parts.push_back(std::move(part));
  return cut;
}

/// Numbers the tensors of a network while its parts are made.
class PartWriter {
public:
  PartWriter(ModuleOp network, func::FuncOp main, const Cutter &cutter)
      : network(network), main(main), cutter(cutter) {
    for (Value argument : main.getArguments())
      numbers.try_emplace(argument, numbers.size());
  }

  /// The operations [begin, end).
  NetworkPart write(size_t begin, size_t end) {
    NetworkPart part;
    PartBuilder builder(network, main);
    auto own = cutter.operations().slice(begin, end - begin);
    llvm::SetVector<Value> inputs;
    for (Operation *op : own)
      for (Value operand : op->getOperands())
        if (numbers.contains(operand))
          inputs.insert(operand);
    for (Value input : inputs) {
      builder.addInput(input);
      part.inputs.push_back(numbers.lookup(input));
    }
    for (Operation *op : own)
      builder.addOperation(op);
    part.firstOutput = numbers.size();
    for (Operation *op : own)
      for (Value result : op->getResults())
        if (cutter.lastUse(result) >= end) {
          builder.addOutput(result);
          numbers.try_emplace(result, numbers.size());
        }
    part.outputs = numbers.size() - part.firstOutput;
    part.module = builder.finish();
    part.content = digestOf(part.module);
    return part;
  }

  size_t numberOf(Value value) const { return numbers.lookup(value); }

private:
  ModuleOp network;
  func::FuncOp main;
  const Cutter &cutter;
  llvm::DenseMap<Value, size_t> numbers;
};

} // namespace

CutNetwork cutNetwork(ModuleOp quantised) {
  func::FuncOp main = analysis::mainOf(quantised);
  const Cutter cutter(main);
  if (!isPlain(main, cutter) || cutter.operations().empty())
    return uncut(quantised, main);
  CutNetwork cut;
  PartWriter writer(quantised, main, cutter);
  const std::vector<size_t> borders = cutter.borders();
  for (size_t i = 0; i + 1 < borders.size(); ++i)
    cut.parts.push_back(writer.write(borders[i], borders[i + 1]));
  for (Value result : main.getBody().front().getTerminator()->getOperands())
    cut.results.push_back(writer.numberOf(result));
  return cut;
}

} // namespace ashlar::pipelines
