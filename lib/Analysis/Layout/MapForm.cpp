// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places and times of compressed feature maps.

#include "ashlar/Analysis/Layout/MapForm.h"

#include "ashlar/Analysis/Cost/MovementQueues.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ashlar::analysis {

int64_t rowsOf(llvm::ArrayRef<int64_t> shape) {
  return shape.size() < 4 ? 1 : shape[2];
}

int64_t MapForm::groups(llvm::ArrayRef<int64_t> shape) const {
  return llvm::divideCeil(shape[1], cellChannels);
}

int64_t MapForm::bytes(llvm::ArrayRef<int64_t> shape) const {
  return shape[0] * groups(shape) * rowsOf(shape) * pitch;
}

npu::MapFormAttr MapForm::toAttr(MLIRContext *context) const {
  return npu::MapFormAttr::get(context, form, levels, cellChannels, cellBytes,
                               pitch, typical);
}

std::optional<MapForm> MapForm::of(Operation *op) {
  npu::MemoryAttr memory = npu::memoryOf(op);
  npu::MapFormAttr form = memory ? memory.getForm() : npu::MapFormAttr();
  if (!form)
    return std::nullopt;
  return MapForm{form.getForm(),  form.getLevels(), form.getChannels(),
                 form.getBytes(), form.getPitch(),  form.getTypical()};
}

CompressedTransfer compressedTransfer(const MapForm &form, const Region &region,
                                      int64_t elementBytes, bool store,
                                      const machine::Description &machine) {
  const int64_t rows = rowsOf(region.size);
  const int64_t cells =
      region.size[0] * llvm::divideCeil(region.size[1], form.cellChannels);
  const uint64_t bytes =
      static_cast<uint64_t>(region.elements() * elementBytes);
  const uint64_t bursts =
      machine::wholeBursts(machine, static_cast<uint64_t>(form.typical)) *
      static_cast<uint64_t>(cells * rows);
  const uint64_t passes = form.levels ? 2 : 1;
  auto timeOf = [&](int64_t parts) {
    // A cell is a row of every channel; rows of one channel do not meet.
    const machine::MapSide share = {
        llvm::divideCeil(bytes, uint64_t(parts)),
        llvm::divideCeil(uint64_t(region.size[0] * region.size[1] * rows),
                         uint64_t(parts))};
    return store ? machine::dmaCompress(machine, bursts, share, passes)
                 : machine::dmaExpand(machine, bursts, share);
  };
  // DRAM is one server, but queues move what is inside the chip side by side.
  CompressedTransfer transfer;
  const int64_t most = std::min(movementQueues(machine), rows);
  machine::Timing time = timeOf(1);
  while (transfer.parts < most && time.issue > time.setup + time.dram)
    time = timeOf(++transfer.parts);
  transfer.dram = time.dram;
  transfer.total = time.complete;
  return transfer;
}

} // namespace ashlar::analysis
