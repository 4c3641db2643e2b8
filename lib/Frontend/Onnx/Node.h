// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a handler sees of one ONNX node: operands, attributes, and (by
// inheritance) the emitter. Attributes a handler does not read make the node
// unsupported, so nothing in a model is silently ignored.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_NODE_H
#define ASHLAR_LIB_FRONTEND_ONNX_NODE_H

#include "Emitter.h"
#include "Extents/NumberRange.h"
#include "Model.h"
#include "Quantised.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringSet.h"

namespace ashlar::frontend {

class Node : public Emitter {
public:
  /// `inputs` has null values for omitted optional inputs.
  Node(const FlatNode &node, SmallVector<Value> inputs,
       llvm::BitVector usedOutputs, Model &model, QuantisedValues &quantised,
       RunTimeExtents &extents, mlir::OpBuilder &builder, mlir::Location loc,
       int64_t maxElements)
      : Emitter(builder, loc, maxElements, model.budget, model.useHost),
        node(node), inputs(std::move(inputs)), used(std::move(usedOutputs)),
        model(model), quantisedValues(quantised), extents(extents),
        results(node.outputs.size()) {
    for (Value input : this->inputs)
      inputExtents.push_back(extents.find(input));
  }

  StringRef op() const { return node.op; }
  StringRef name() const { return node.name; }
  int64_t opset() const { return node.opset; }

  size_t numInputs() const { return inputs.size(); }
  bool hasInput(size_t i) const { return i < inputs.size() && inputs[i]; }
  /// A required operand; null after recording an error if omitted.
  Value input(size_t i);
  Value optionalInput(size_t i) const {
    return hasInput(i) ? inputs[i] : Value();
  }
  /// The type of an operand that is kept in a wider one; null for any other.
  const NarrowType *narrowInput(size_t i) const {
    return i < node.inputs.size() ? model.narrow.find(node.inputs[i]) : nullptr;
  }
  /// The same of a result, as far as ONNX says.
  const NarrowType *narrowOutput(size_t i) const {
    return i < node.outputs.size() ? model.narrow.find(node.outputs[i])
                                   : nullptr;
  }
  /// A required operand that must be a constant of integers.
  std::optional<SmallVector<int64_t>> constantIntegers(size_t i,
                                                       StringRef name);
  /// A required constant operand of any type as numbers.
  std::optional<SmallVector<double>> constantNumbers(size_t i, StringRef name);
  /// The same of a constant that must have `count` elements.
  std::optional<SmallVector<double>> constantNumbers(size_t i, StringRef name,
                                                     int64_t count);
  /// A required constant operand with one element.
  std::optional<double> constantNumber(size_t i, StringRef name);

  /// Says that `value` is another one with new rows.
  void addUpdate(Value value, const RowUpdate &update) {
    model.updates[value] = update;
  }

  /// How many rows of `past` are filled, an i64 of one element, if the program
  /// keeps it from run to run and its capacity is larger; null if it is full.
  Value filledRows(Value past) {
    return model.filledRows ? model.filledRows(past) : Value();
  }

  /// Tells the user what the node means where that may surprise.
  void remark(std::string text) {
    model.remarks.push_back(
        fmt::format("node '{}' ({}): {}", node.name, node.op, text));
  }

  bool hasAttribute(StringRef name) const { return find(name) != nullptr; }
  int64_t getInt(StringRef name, int64_t defaultValue);
  double getFloat(StringRef name, double defaultValue);
  std::string getString(StringRef name, StringRef defaultValue);
  /// Empty if absent.
  SmallVector<int64_t> getInts(StringRef name);
  SmallVector<double> getFloats(StringRef name);
  std::vector<std::string> getStrings(StringRef name);
  /// A tensor attribute as a constant; null if absent or bad.
  mlir::ElementsAttr getTensor(StringRef name);
  /// Marks an attribute as read although it has no effect on the result.
  void ignore(StringRef name) { consumed.insert(name); }
  /// The first attribute that was never read, or empty.
  StringRef unreadAttribute() const;

  /// `axis` counted from the end if negative; records an error and gives 0 if
  /// out of range for `rank`.
  int64_t normalAxis(int64_t axis, int64_t rank);
  /// The attribute `axis` (default 1) at which a tensor of `rank` becomes a
  /// matrix, like normalAxis; the rank itself leaves rows of one element.
  int64_t flattenAxis(int64_t rank);
  SmallVector<int64_t> normalAxes(ArrayRef<int64_t> axes, int64_t rank);

  size_t numOutputs() const { return node.outputs.size(); }
  /// Whether some live node or graph output reads output i.
  bool outputUsed(size_t i) const { return i < used.size() && used[i]; }
  void setOutput(size_t i, Value value) {
    if (i < results.size())
      results[i] = value;
  }
  ArrayRef<Value> outputs() const { return results; }
  /// The extent of input i that data decide, as the operand of the node had it.
  std::optional<RunTimeExtent> extentOf(size_t i) const {
    return i < inputExtents.size() ? inputExtents[i] : std::nullopt;
  }
  /// What is known of all elements of a value, whatever the inputs.
  NumberRange rangeOf(Value value) const {
    return frontend::rangeOf(value, extents);
  }
  /// Replaces input i, whose extent stays known; it may have been omitted.
  void setInput(size_t i, Value value) {
    inputs.resize(std::max(inputs.size(), i + 1));
    inputs[i] = value;
  }
  /// Says that data decide an extent of output i, which has been set.
  void setExtent(size_t i, RunTimeExtent extent) {
    if (i < results.size() && results[i] && extent.count)
      extents.add(results[i], extent);
  }
  /// What is known about values that stand for integers.
  QuantisedValues &quantised() { return quantisedValues; }

private:
  /// Lists of numbers up to here are not worth counting.
  static constexpr int64_t kFewNumbers = 4096;
  /// Takes the numbers of a constant operand from the budget.
  bool reserveNumbers(Value value);
  const onnx::AttributeProto *find(StringRef name) const;
  /// The attribute if present with the expected kind; marks it as read.
  const onnx::AttributeProto *
  take(StringRef name, onnx::AttributeProto::AttributeType expected);

  const FlatNode &node;
  SmallVector<Value> inputs;
  llvm::BitVector used;
  Model &model;
  QuantisedValues &quantisedValues;
  RunTimeExtents &extents;
  SmallVector<std::optional<RunTimeExtent>> inputExtents;
  SmallVector<Value> results;
  llvm::StringSet<> consumed;
};

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_NODE_H
