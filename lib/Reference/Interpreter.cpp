// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs `main` op by op. A value is dropped after its last use, so that memory
// follows the widest point of the network rather than its length.

#include "ashlar/Reference/Interpreter.h"
#include "ashlar/Reference/Constants.h"
#include "ashlar/Support/Error.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/NNElements.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace ashlar;
using namespace ashlar::reference;

namespace {

std::string argumentName(func::FuncOp main, unsigned index) {
  auto name = main.getArgAttrOfType<StringAttr>(index, nn::nameAttr);
  return name ? name.str() : std::to_string(index);
}

llvm::Error checkInput(func::FuncOp main, unsigned index,
                       const HostTensor &input) {
  auto type = dyn_cast<RankedTensorType>(main.getArgumentTypes()[index]);
  auto element = type ? nn::toElementType(type.getElementType()) : std::nullopt;
  if (!element)
    return support::makeError(ErrorClass::Unsupported,
                              "input '{}' has no host type",
                              argumentName(main, index));
  if (input.type == *element && type.getShape() == ArrayRef(input.shape))
    return llvm::Error::success();
  return support::makeError(ErrorClass::Usage, "input '{}' is {}, expected {}",
                            argumentName(main, index), support::describe(input),
                            support::describe(*element, type.getShape()));
}

// Values that are alive, with the number of uses still to come.
class Environment {
public:
  explicit Environment(const Options &options) : options(options) {}

  void define(Value value, Tensor tensor) {
    if (options.observer)
      options.observer(value, tensor);
    if (!value.use_empty())
      live.try_emplace(value, Entry{std::move(tensor), usesOf(value)});
  }

  const Tensor &get(Value value) const {
    return live.find(value)->second.tensor;
  }

  void used(Value value) {
    auto entry = live.find(value);
    if (--entry->second.uses == 0)
      live.erase(entry);
  }

private:
  struct Entry {
    Tensor tensor;
    int64_t uses;
  };
  static int64_t usesOf(Value value) {
    return std::distance(value.use_begin(), value.use_end());
  }
  const Options &options;
  // std::map-like stability is not needed: references are used before the next
  // insertion only.
  llvm::DenseMap<Value, Entry> live;
};

llvm::Expected<std::vector<HostTensor>>
collectResults(func::ReturnOp op, const Environment &values,
               Precision precision) {
  std::vector<HostTensor> results;
  for (Value value : op.getOperands()) {
    const Tensor &tensor = values.get(value);
    bool wide = precision == Precision::Binary64 && tensor.isFloat();
    results.push_back(toHost(tensor, wide ? ElementType::F64 : tensor.type));
  }
  return results;
}

} // namespace

llvm::Expected<std::vector<HostTensor>>
reference::evaluate(ModuleOp module, ArrayRef<HostTensor> inputs,
                    const Options &options) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || !main.getBody().hasOneBlock())
    return support::makeError(ErrorClass::Malformed,
                              "the module has no function 'main' of one block");
  if (inputs.size() != main.getNumArguments())
    return support::makeError(ErrorClass::Usage, "{} inputs given, expected {}",
                              inputs.size(), main.getNumArguments());
  Environment values(options);
  for (auto [index, input] : llvm::enumerate(inputs)) {
    if (llvm::Error error = checkInput(main, index, input))
      return error;
    llvm::Expected<Tensor> tensor = fromHost(input);
    if (!tensor)
      return tensor.takeError();
    values.define(main.getArgument(index), std::move(*tensor));
  }
  for (Operation &op : main.getBody().front()) {
    if (auto terminator = dyn_cast<func::ReturnOp>(op))
      return collectResults(terminator, values, options.precision);
    SmallVector<const Tensor *> operands;
    for (Value operand : op.getOperands())
      operands.push_back(&values.get(operand));
    llvm::Expected<Tensor> result =
        evaluateOp(&op, operands, options.precision);
    if (!result) {
      std::string where;
      llvm::raw_string_ostream(where) << op.getLoc();
      return support::withContext(result.takeError(), where);
    }
    for (Value operand : op.getOperands())
      values.used(operand);
    values.define(op.getResult(0), std::move(*result));
  }
  return support::makeError(ErrorClass::Malformed, "'main' does not return");
}
