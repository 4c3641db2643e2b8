// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which constants stay in the state buffer.

#include "ashlar/Analysis/Layout/ResidentConstants.h"

#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "dialects/NN/NNElements.h"
#include "dialects/NN/NNOps.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace mlir;

namespace ashlar::analysis {

/// Larger ones are worth their load.
static constexpr int64_t kMostBytes = 256;

/// Bytes of a partition that a constant takes.
static int64_t takenBytes(const View &view,
                          const machine::Description &machine) {
  return llvm::alignTo(bufferBytes(view.type, view.shape, view.axis, machine),
                       64);
}

std::optional<uint64_t> uniformBits(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  if (!constant || constant.getValue().empty())
    return std::nullopt;
  // One number repeated is requested as one number: tiles ask again and again.
  ElementsAttr elements = constant.getValue();
  if (auto splat = dyn_cast<SplatElementsAttr>(elements))
    elements = splat.resizeSplat(splat.getType().clone({int64_t(1)}));
  nn::ElementStorage storage;
  auto raw = nn::rawElements(elements, storage);
  if (!raw || raw->empty())
    return std::nullopt;
  auto bytes = static_cast<size_t>(storageOf(value).bytes());
  if (bytes == 0 || bytes > sizeof(uint64_t) || raw->size() % bytes != 0)
    return std::nullopt;
  for (size_t at = bytes; at < raw->size(); at += bytes)
    if (raw->slice(at, bytes) != raw->take_front(bytes))
      return std::nullopt;
  uint64_t bits = 0;
  std::memcpy(&bits, raw->data(), bytes);
  return bits;
}

std::vector<ResidentConstant>
residentConstants(ModuleOp module, const machine::Description &machine,
                  int64_t begin, int64_t limit) {
  std::vector<ResidentConstant> constants;
  llvm::DenseSet<std::pair<Value, int64_t>> known;
  int64_t next = begin;
  auto add = [&](Value value, int64_t axis) {
    View view =
        denseBufferView(storageOf(value), shapeOf(value), axis, next, machine);
    int64_t bytes = takenBytes(view, machine);
    if (bytes > kMostBytes || next + bytes > begin + limit ||
        uniformBits(value) || !known.insert({value, axis}).second)
      return;
    constants.push_back({value, axis, view});
    next += bytes;
  };
  module.walk([&](Operation *op) {
    if (!isa_and_nonnull<npu::NPUDialect>(op->getDialect()) ||
        llvm::none_of(op->getOperands(), [](Value value) {
          return value.getDefiningOp<nn::ConstantOp>() != nullptr;
        }))
      return;
    TilingModel model = buildTilingModel(op, machine);
    for (auto [i, operand] : llvm::enumerate(model.operands))
      if (!operand.streamed && !operand.direct && !operand.padded &&
          op->getOperand(i).getDefiningOp<nn::ConstantOp>())
        add(op->getOperand(i), operand.axis);
  });
  return constants;
}

int64_t endOf(llvm::ArrayRef<ResidentConstant> constants, int64_t begin,
              const machine::Description &machine) {
  return constants.empty() ? begin
                           : constants.back().view.base +
                                 takenBytes(constants.back().view, machine);
}

} // namespace ashlar::analysis
