// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an evaluator sees of one ONNX node: operands with their elements,
// attributes, and places for the results.

#ifndef ASHLAR_LIB_FRONTEND_ONNXREFERENCE_CALL_H
#define ASHLAR_LIB_FRONTEND_ONNXREFERENCE_CALL_H

#include "ashlar/Reference/Tensor.h"
#include "ashlar/Support/Error.h"
#include "lib/Frontend/Onnx/Model.h"

#include "llvm/ADT/SmallVector.h"

#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

namespace ashlar::onnxref {

using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using reference::Tensor;
using support::ElementType;

using Shape = SmallVector<int64_t>;

/// Reads a tensor attribute of the file; the loader's errors.
using TensorReader =
    std::function<llvm::Expected<Tensor>(const onnx::TensorProto &)>;

/// One evaluation of a node. An evaluator that meets operands which the
/// operator does not allow calls fail() and returns; what it has set is unused
/// then.
class Call {
public:
  /// `operands` has null for omitted ones.
  Call(const frontend::FlatNode &node, SmallVector<const Tensor *> operands,
       TensorReader readTensor, const frontend::NarrowNames &narrow)
      : node(node), operands(std::move(operands)),
        readTensor(std::move(readTensor)), narrow(narrow),
        produced(node.outputs.size()) {}

  StringRef op() const { return node.op; }
  StringRef name() const { return node.name; }
  int64_t opset() const { return node.opset; }

  size_t numOperands() const { return operands.size(); }
  bool has(size_t i) const { return i < operands.size() && operands[i]; }
  /// Operand i, which is there: one below the least number of its row, or
  /// requested with has().
  const Tensor &operand(size_t i) const { return *operands[i]; }
  /// Operand i as integers, whatever its type; floats are truncated.
  SmallVector<int64_t> integers(size_t i) const;
  /// Operand i as binary64.
  SmallVector<double> numbers(size_t i) const;

  /// The type of an operand that is kept in a wider one; null for any other.
  const frontend::NarrowType *narrowOperand(size_t i) const {
    return i < node.inputs.size() ? narrow.find(node.inputs[i]) : nullptr;
  }
  /// The same of the first result.
  const frontend::NarrowType *narrowResult() const {
    return node.outputs.empty() ? nullptr : narrow.find(node.outputs[0]);
  }

  bool hasAttribute(StringRef name) const { return find(name) != nullptr; }
  int64_t getInt(StringRef name, int64_t otherwise) const;
  double getFloat(StringRef name, double otherwise) const;
  std::string getString(StringRef name, StringRef otherwise) const;
  SmallVector<int64_t> getInts(StringRef name) const;
  SmallVector<double> getFloats(StringRef name) const;
  std::vector<std::string> getStrings(StringRef name) const;
  /// A tensor attribute; fails if it is absent or cannot be read.
  Tensor getTensor(StringRef name);

  /// `axis`, which counts from the end if it is negative. Outside [0, rank) the
  /// call fails, and the result is 0.
  int64_t normalAxis(int64_t axis, int64_t rank);
  SmallVector<int64_t> normalAxes(ArrayRef<int64_t> axes, int64_t rank);
  /// The same for an index along an axis of `size` elements.
  int64_t normalIndex(int64_t index, int64_t size);

  size_t numResults() const { return node.outputs.size(); }
  /// A result beyond those of the node is dropped.
  void setResult(size_t i, Tensor value) {
    if (i < produced.size())
      produced[i] = std::move(value);
  }
  std::vector<std::optional<Tensor>> takeResults() {
    return std::move(produced);
  }

  template <class... Args>
  void fail(fmt::format_string<Args...> text, Args &&...args) {
    if (failure.empty())
      failure = fmt::format(text, std::forward<Args>(args)...);
  }
  /// Fails unless `condition`; returns it.
  bool require(bool condition, StringRef what) {
    if (!condition)
      fail("{}", what.str());
    return condition;
  }
  bool failed() const { return !failure.empty(); }
  const std::string &whyFailed() const { return failure; }

private:
  const onnx::AttributeProto *find(StringRef name) const;

  const frontend::FlatNode &node;
  SmallVector<const Tensor *> operands;
  TensorReader readTensor;
  const frontend::NarrowNames &narrow;
  std::vector<std::optional<Tensor>> produced;
  std::string failure;
};

} // namespace ashlar::onnxref

#endif // ASHLAR_LIB_FRONTEND_ONNXREFERENCE_CALL_H
