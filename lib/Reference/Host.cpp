// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work of the host, by the functions that the emulator calls too.

#include "Kernels.h"

#include "ashlar/Numerics/HostFunctions.h"
#include "ashlar/Support/Error.h"
#include "dialects/NN/NNOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>

using namespace ashlar;
using namespace ashlar::reference;
using namespace mlir;

namespace {

std::vector<int64_t> keysOf(const Tensor &x) {
  std::vector<int64_t> keys(x.size());
  for (size_t i = 0; i < keys.size(); ++i)
    keys[i] = x.isFloat() ? numerics::orderKey(x.floats[i])
              : x.type == support::ElementType::U64
                  ? numerics::unsignedKey(x.ints[i])
                  : x.ints[i];
  return keys;
}

std::vector<float> singles(const Tensor &x) {
  return {x.floats.begin(), x.floats.end()};
}

void evalNonzero(const Tensor &x, Tensor &y) {
  std::vector<uint64_t> shape(x.shape.begin(), x.shape.end());
  numerics::nonzeroIndices(keysOf(x), numerics::zeroKey(x.type), shape, y.ints);
}

void evalArgSort(nn::ArgSortOp op, const Tensor &x, Tensor &y) {
  const auto axis = static_cast<size_t>(op.getAxis());
  llvm::ArrayRef<int64_t> shape(x.shape);
  numerics::SortShape sort;
  sort.outer = elementCount(shape.take_front(axis));
  sort.extent = shape[axis];
  sort.inner = elementCount(shape.drop_front(axis + 1));
  sort.keep = y.shape[axis];
  numerics::sortIndices(keysOf(x), sort, op.getDescending(), y.ints);
}

llvm::Error evalNms(nn::NmsOp op, llvm::ArrayRef<const Tensor *> operands,
                    Tensor &y) {
  for (size_t i : {0, 1, 3, 4})
    if (!operands[i]->isFloat())
      return support::makeError(ErrorClass::Unsupported,
                                "nn.nms of operands that are not floats");
  numerics::Suppression asked;
  asked.batches = operands[1]->shape[0];
  asked.classes = operands[1]->shape[1];
  asked.boxes = operands[1]->shape[2];
  asked.keep = op.getKeep();
  asked.most = operands[2]->ints.front();
  asked.iou = static_cast<float>(operands[3]->floats.front());
  asked.least = static_cast<float>(operands[4]->floats.front());
  asked.filtered = op.getFiltered();
  asked.center = op.getCenter();
  numerics::suppressBoxes(asked, singles(*operands[0]), singles(*operands[1]),
                          y.ints);
  return llvm::Error::success();
}

} // namespace

llvm::Expected<Tensor>
reference::evalHost(Operation *op, llvm::ArrayRef<const Tensor *> operands) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Tensor y(support::ElementType::I64, type.getShape());
  llvm::Error error = llvm::Error::success();
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](nn::NonzeroOp) { evalNonzero(*operands[0], y); })
      .Case([&](nn::ArgSortOp sort) { evalArgSort(sort, *operands[0], y); })
      .Case([&](nn::UniqueOp unique) {
        numerics::uniqueRows(keysOf(*operands[0]), operands[0]->shape[0],
                             unique.getSorted(), y.ints);
      })
      .Case([&](nn::NmsOp nms) {
        // The error is success until now.
        llvm::consumeError(std::move(error));
        error = evalNms(nms, operands, y);
      });
  if (error)
    return error;
  return std::move(y);
}
