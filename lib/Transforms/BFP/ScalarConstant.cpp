// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ScalarConstant.h"

#include "dialects/NN/NNElements.h"
#include "dialects/NN/NNOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"

#include <cstring>

using namespace mlir;

namespace ashlar::bfp {

std::optional<float> scalarConstant(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  if (!constant || !getElementTypeOrSelf(value.getType()).isF32())
    return std::nullopt;
  nn::ElementStorage storage;
  std::optional<ArrayRef<char>> raw =
      nn::rawElements(constant.getValue(), storage);
  if (!raw || raw->size() < sizeof(float))
    return std::nullopt;
  std::vector<float> numbers(raw->size() / sizeof(float));
  std::memcpy(numbers.data(), raw->data(), numbers.size() * sizeof(float));
  if (!llvm::all_equal(numbers))
    return std::nullopt;
  return numbers.front();
}

} // namespace ashlar::bfp
