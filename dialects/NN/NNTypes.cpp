// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Limits of tensors.

#include "dialects/NN/NNTypes.h"

#include "dialects/NN/NNElements.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace ashlar::nn;

#include "dialects/NN/NNInterfaces.cpp.inc"

bool ashlar::nn::isBoundedShape(llvm::ArrayRef<int64_t> shape) {
  if (static_cast<int64_t>(shape.size()) > kMostDims)
    return false;
  int64_t elements = 1;
  for (int64_t extent : shape) {
    if (extent < 0 || extent > kMostElements / elements)
      return false;
    elements *= extent ? extent : 1;
  }
  return true;
}

bool ashlar::nn::isStoredTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || tensor.getEncoding() ||
      !isBoundedShape(tensor.getShape()))
    return false;
  Type element = tensor.getElementType();
  if (auto stored = dyn_cast<StoredElement>(element))
    return stored.fitsShape(tensor.getShape());
  return toElementType(element).has_value();
}
