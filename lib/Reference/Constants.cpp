// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading and writing of constant attributes.

#include "ashlar/Reference/Constants.h"
#include "ashlar/Support/Error.h"
#include "dialects/NN/NNElements.h"

using namespace mlir;
using namespace ashlar;

llvm::Expected<HostTensor> reference::readElements(ElementsAttr attribute) {
  auto type = dyn_cast<RankedTensorType>(attribute.getType());
  std::optional<ElementType> element =
      type ? nn::toElementType(type.getElementType()) : std::nullopt;
  if (!element || !support::countElements(type.getShape()))
    return support::makeError(ErrorClass::Unsupported,
                              "constant has no plain host form");
  nn::ElementStorage storage;
  std::optional<ArrayRef<char>> raw = nn::rawElements(attribute, storage);
  if (!raw)
    return support::makeError(ErrorClass::Malformed,
                              "the data of a constant is missing or does not "
                              "have the size of its type");
  HostTensor host;
  host.type = *element;
  host.shape.assign(type.getShape().begin(), type.getShape().end());
  host.data.assign(raw->begin(), raw->end());
  return host;
}

ElementsAttr reference::makeElements(RankedTensorType type,
                                     const HostTensor &data) {
  return nn::makeElements(type, std::string(data.data.begin(), data.data.end()),
                          "constant");
}
