// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ashlar/Analysis/Cost/HostCost.h"

#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Analysis/Layout/View.h"
#include "ashlar/Machine/Dram.h"
#include "ashlar/Machine/Host.h"
#include "dialects/NN/NNShapes.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ashlar::analysis {

uint64_t hostSteps(Operation *op) {
  return llvm::TypeSwitch<Operation *, uint64_t>(op)
      .Case([](npu::HostNonzeroOp nonzero) {
        auto shape = shapeOf(nonzero.getX());
        return machine::nonzeroSteps(nn::elementCount(shape), shape.size());
      })
      .Case([](npu::HostSortOp sort) {
        auto shape = shapeOf(sort.getX());
        const int64_t extent = shape[sort.getAxis()];
        return machine::hostSortSteps(nn::elementCount(shape) / extent, extent,
                                      shapeOf(sort.getY())[sort.getAxis()]);
      })
      .Case([](npu::HostUniqueOp unique) {
        auto shape = shapeOf(unique.getX());
        return machine::uniqueSteps(shape[0], shape[1]);
      })
      .Case([](npu::HostNmsOp nms) {
        auto shape = shapeOf(nms.getScores());
        return machine::nmsSteps(shape[0] * shape[1], shape[2], nms.getKeep());
      })
      .Default([](Operation *) { return uint64_t(0); });
}

int64_t hostCycles(Operation *op, const machine::Description &machine) {
  machine::HostWork work;
  work.steps = hostSteps(op);
  auto add = [&](Value value) {
    const auto bytes =
        static_cast<uint64_t>(dramBytes(storageOf(value), shapeOf(value)));
    work.bytes += bytes;
    work.burstBytes += machine::wholeBursts(machine, bytes);
  };
  for (Value operand : op->getOperands())
    add(operand);
  add(op->getResult(0));
  return static_cast<int64_t>(machine::hostCall(machine, work).complete);
}

} // namespace ashlar::analysis
