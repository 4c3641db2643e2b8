// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a product operation is to the array: its shape, its storage, and which
// operand may be stationary (StationaryPlan.h).

#include "ashlar/Analysis/Array/EncodedWeights.h"
#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Machine/Transposes.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/NN/NNOps.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;

namespace ashlar::analysis {

/// As many steps as a load of all rows takes: shorter streams would wait for
/// loads, longer ones only make chunks larger, which the ring holds fewer of.
int64_t movingOutputs(const machine::Description &machine) {
  int64_t load = llvm::divideCeil(machine.pe.rows, machine.pe.loadRowsPerCycle);
  return std::clamp<int64_t>(load, 1, machine.psum.entriesPerBank);
}

bool mayTurnBlocks(Operation *op, const machine::Description &machine) {
  auto conv = dyn_cast<npu::PeConvOp>(op);
  auto matmul = dyn_cast<npu::PeMatmulOp>(op);
  if ((!conv && !matmul) || (conv ? conv.getResidual() : matmul.getResidual()))
    return false;
  Value result = op->getResult(0);
  StorageType type = storageOf(result);
  auto rank = static_cast<int64_t>(shapeOf(result).size());
  int64_t block = type.encoded ? type.format.block : 0;
  auto cell = static_cast<int64_t>(machine.xmGroup);
  // One identity multiplication transposes all positions.
  int64_t positions = 1;
  for (int64_t extent : shapeOf(result))
    positions *= extent;
  positions /= productShape(op).outputs;
  return block > 0 && block % cell == 0 &&
         positions <= static_cast<int64_t>(machine::transposeRows(machine)) &&
         movingOutputs(machine) % block == 0 &&
         machine.pe.columns % block == 0 &&
         machine.sb.partitions % block == 0 && rank <= 4 &&
         type.blockAxis == (conv ? 1 : rank - 1);
}

bool hasIntegerEpilogue(Operation *op) {
  if (auto conv = dyn_cast<npu::PeConvOp>(op))
    return conv.getIntegerEpilogue();
  if (auto conv = dyn_cast<npu::TcuConvOp>(op))
    return conv.getIntegerEpilogue();
  auto matmul = dyn_cast<npu::PeMatmulOp>(op);
  return matmul && matmul.getIntegerEpilogue();
}

bool hasSlopes(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<npu::PeConvOp, npu::TcuConvOp, npu::PeMatmulOp>(
          [](auto product) { return bool(product.getSlope()); })
      .Default([](Operation *) { return false; });
}

/// True if the drain adds a residual to the sums of the array.
static bool addsResidual(Operation *op) {
  if (auto conv = dyn_cast<npu::PeConvOp>(op))
    return bool(conv.getResidual());
  auto matmul = dyn_cast<npu::PeMatmulOp>(op);
  return matmul && matmul.getResidual();
}

bool mayKeepActivations(Operation *op, const machine::Description &machine) {
  ProductShape product = productShape(op);
  int64_t positions = 1;
  for (int64_t extent : shapeOf(op->getResult(0)))
    positions *= extent;
  if (hasIntegerEpilogue(op) && !mayTurnBlocks(op, machine))
    return false;
  // The drain of such sums has the slopes at hand, the vector unit, which adds
  // the residual, has not.
  if (hasSlopes(op) && addsResidual(op))
    return false;
  return hasStreamedWeights(op) && storageOf(op->getOperand(0)).encoded &&
         product.groups == 1 && product.outputs > 0 &&
         positions / product.outputs <=
             static_cast<int64_t>(machine.sb.partitions) &&
         shapeOf(op->getResult(0)).size() <= 4;
}

/// Integers have no blocks: their format gives the bytes of an element.
static numerics::BlockFormat weightFormatOf(Operation *op) {
  StorageType type = weightStorage(op);
  if (!type.encoded) {
    type.format.mantissa = type.storedBits();
    type.format.block = numerics::BlockFormat::kAxis;
    type.format.range = 0;
  }
  return type.format;
}

npu::QuantAttr quantOf(Operation *product) {
  if (auto conv = dyn_cast<npu::PeConvOp>(product))
    return conv.getQuantAttr();
  if (auto conv = dyn_cast<npu::TcuConvOp>(product))
    return conv.getQuantAttr();
  if (auto matmul = dyn_cast<npu::PeMatmulOp>(product))
    return matmul.getQuantAttr();
  return {};
}

StorageType activationStorage(Operation *op) {
  StorageType type = storageOf(op->getOperand(0));
  if (npu::QuantAttr quant = quantOf(op); quant && quant.getXZero())
    type.zero = static_cast<int>(*quant.getXZero());
  return type;
}

StorageType weightStorage(Operation *op) {
  StorageType type = storageOf(op->getOperand(1));
  if (npu::QuantAttr quant = quantOf(op); quant && quant.getWZero()) {
    type.zero = static_cast<int>(*quant.getWZero());
    if (type.plain == support::ElementType::I16)
      type.plain = support::ElementType::U8;
  }
  return type;
}

bool isProduct(Operation *op) { return op->hasTrait<npu::Contraction>(); }

template <typename Op>
static void setConvShape(ProductShape &product, Op conv) {
  auto x = shapeOf(conv.getX()), w = shapeOf(conv.getW());
  product.outputs = w[0];
  product.channels = x[1];
  product.groups = conv.getGroup();
  product.taps =
      std::accumulate(w.begin() + 2, w.end(), int64_t(1), std::multiplies<>());
  product.weightFormat = weightFormatOf(conv);
}

/// Products of `op` that the widths of its factors prove to fit; integers are
/// far from the limit.
static int64_t mostTermsOf(Operation *op, const ProductShape &product) {
  if (!isProduct(op) || !storageOf(op->getOperand(0)).encoded ||
      !storageOf(op->getOperand(1)).encoded)
    return 0;
  const numerics::BlockFormat x = storageOf(op->getOperand(0)).format;
  const numerics::BlockFormat &w = product.weightFormat;
  const int spare = 63 - numerics::accumulatorBits(x.mantissa, x.range,
                                                   w.mantissa, w.range, 1);
  return int64_t(1) << std::clamp(spare, 0, 62);
}

ProductShape productShape(Operation *op) {
  ProductShape product;
  product.weightsMove = npu::hasStationaryActivations(op);
  product.recordsOnly = llvm::isa<npu::TcuConvOp>(op);
  if (auto conv = dyn_cast<npu::PeConvOp>(op)) {
    setConvShape(product, conv);
    product.packing =
        rowPacking(conv, conv.getPackedRows(), conv.getRowsApart());
    const Lanes result = widthLanesOf(conv.getY());
    setBlocks(product, widthLanesOf(conv.getX()),
              conv.getResidual() && !result.folded()
                  ? widthLanesOf(conv.getResidual())
                  : result);
  } else if (auto conv = dyn_cast<npu::TcuConvOp>(op)) {
    setConvShape(product, conv);
  } else if (auto matmul = dyn_cast<npu::PeMatmulOp>(op)) {
    auto w = shapeOf(matmul.getW());
    product.outputs = w.back();
    product.channels = w[w.size() - 2];
    product.weightFormat = weightFormatOf(matmul);
  }
  if (std::optional<int64_t> part = npu::partOf(op))
    product.resultParts.push_back(*part);
  product.mostTerms = mostTermsOf(op, product);
  if (npu::TilingAttr tiling = npu::tilingOf(op))
    product.chunkLimit = tiling.getChunk();
  if (StorageType result = storageOf(op->getResult(0));
      result.encoded && result.format.block > 0)
    product.outputUnit = result.format.block;
  // Blocks of what is pooled in the drain lie in a column, too.
  if (npu::PoolingAttr pooling = npu::poolingOf(op)) {
    const StorageType map = storageOf(pooling.getMap());
    if (map.encoded && map.format.block > 0)
      product.outputUnit =
          std::max<int64_t>(product.outputUnit, map.format.block);
  }
  return product;
}

bool drainsAsPart(Operation *product, int64_t start,
                  const machine::Description &machine) {
  ProductShape shape = productShape(product);
  std::vector<ColumnTile> own = planStationary(shape, machine);
  shape.resultParts.push_back(start);
  return llvm::equal(own, planStationary(shape, machine),
                     [](const ColumnTile &a, const ColumnTile &b) {
                       return a.cols == b.cols;
                     });
}

bool hasStreamedWeights(Operation *op) {
  if (!isProduct(op))
    return false;
  Operation *weights = op->getOperand(1).getDefiningOp();
  // Integers are constants as they are; matrices per batch lie in memory.
  if (llvm::isa_and_nonnull<nn::ConstantOp>(weights))
    return !llvm::isa<npu::PeMatmulOp>(op) ||
           shapeOf(op->getOperand(1)).size() == 2;
  auto encode = llvm::dyn_cast_if_present<bfp::EncodeOp>(weights);
  return encode && encode.getWeights();
}

} // namespace ashlar::analysis
