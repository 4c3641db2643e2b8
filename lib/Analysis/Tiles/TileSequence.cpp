// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops, regions and buffers of sequences.

#include "ashlar/Analysis/Tiles/TileSequence.h"

#include "ashlar/Analysis/Layout/MoveView.h"
#include "dialects/BFP/BFPTypes.h"
#include "dialects/BFP/EncodeEvents.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ashlar::analysis {

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Beyond all places of a memory, and far from the ends of 64 bits.
static constexpr int64_t kBeyond = int64_t(1) << 62;

static int64_t add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (llvm::AddOverflow(a, b, sum))
    return a < 0 ? -kBeyond : kBeyond;
  return sum;
}

static int64_t multiply(int64_t a, int64_t b) {
  int64_t product = 0;
  if (llvm::MulOverflow(a, b, product))
    return (a < 0) != (b < 0) ? -kBeyond : kBeyond;
  return product;
}

/// In the order of a stack: operands first.
void LoopIndices::append(AffineExpr expr, llvm::SmallVectorImpl<Code> &codes) {
  const AffineExprKind kind = expr.getKind();
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    codes.push_back({kind, constant.getValue()});
  else if (auto dim = dyn_cast<AffineDimExpr>(expr))
    codes.push_back({kind, dim.getPosition()});
  else if (auto binary = dyn_cast<AffineBinaryOpExpr>(expr)) {
    append(binary.getLHS(), codes);
    append(binary.getRHS(), codes);
    codes.push_back({kind, 0});
  } else {
    codes.push_back({AffineExprKind::Constant, kBeyond});
  }
}

/// Assumption: divisors are positive constants (alloc_c1).
static int64_t combine(AffineExprKind kind, int64_t left, int64_t right) {
  switch (kind) {
  case AffineExprKind::Add:
    return add(left, right);
  case AffineExprKind::Mul:
    return multiply(left, right);
  case AffineExprKind::Mod:
    return (left % right + right) % right;
  case AffineExprKind::FloorDiv:
    return llvm::divideFloorSigned(left, right);
  default:
    return llvm::divideCeilSigned(left, right);
  }
}

int64_t LoopIndices::run(llvm::ArrayRef<Code> codes,
                         llvm::ArrayRef<int64_t> dims) {
  llvm::SmallVector<int64_t, 8> stack;
  for (const Code &code : codes) {
    if (code.kind == AffineExprKind::Constant) {
      stack.push_back(code.value);
    } else if (code.kind == AffineExprKind::DimId) {
      stack.push_back(dims[code.value]);
    } else {
      const int64_t right = stack.pop_back_val();
      stack.back() = combine(code.kind, stack.back(), right);
    }
  }
  return stack.back();
}

const LoopIndices::Program &LoopIndices::programOf(AffineMap map) const {
  auto [entry, inserted] = programs.try_emplace(map);
  if (inserted)
    for (AffineExpr expr : map.getResults())
      append(expr, entry->second.emplace_back());
  return entry->second;
}

Shape LoopIndices::evaluate(AffineMap map, OperandRange operands) const {
  llvm::SmallVector<int64_t, 8> dims;
  for (Value operand : operands)
    for (const auto &[index, value] : indices)
      if (index == operand)
        dims.push_back(value);
  Shape numbers;
  for (const auto &codes : programOf(map))
    numbers.push_back(run(codes, dims));
  return numbers;
}

namespace {

class StepWalk {
public:
  using Step = llvm::function_ref<bool(Operation *, const LoopIndices &)>;
  explicit StepWalk(Step step) : step(step) {}

  bool walk(mlir::Region &body) {
    for (Operation &op : body.getOps()) {
      auto loop = dyn_cast<tile::ForOp>(op);
      if (loop ? !repeat(loop) : !step(&op, loops))
        return false;
    }
    return true;
  }

private:
  bool repeat(tile::ForOp loop) {
    loops.enter(loop.getIndex());
    for (int64_t i = 0, e = static_cast<int64_t>(loop.getCount()); i < e; ++i) {
      loops.set(i);
      if (!walk(loop.getBody()))
        return false;
    }
    loops.leave();
    return true;
  }

  Step step;
  LoopIndices loops;
};

int64_t countIn(mlir::Region &body, int64_t most) {
  int64_t steps = 0;
  for (Operation &op : body.getOps()) {
    int64_t own = 1;
    if (auto loop = dyn_cast<tile::ForOp>(op))
      own = multiply(static_cast<int64_t>(loop.getCount()),
                     countIn(loop.getBody(), most));
    steps = std::min(most, add(steps, own));
  }
  return steps;
}

} // namespace

bool forEachStep(
    tile::SequenceOp sequence,
    llvm::function_ref<bool(Operation *, const LoopIndices &)> step) {
  return StepWalk(step).walk(sequence.getBody());
}

int64_t countSteps(tile::SequenceOp sequence, int64_t most) {
  return countIn(sequence.getBody(), most);
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// The element type that has this storage.
static Type elementType(MLIRContext *context, const StorageType &type) {
  using E = support::ElementType;
  if (type.encoded)
    return bfp::BlockType::get(context, type.format.mantissa, type.format.block,
                               type.format.range, type.blockAxis,
                               type.format.isUnsigned, type.format.rows);
  switch (type.plain) {
  case E::F32:
    return Float32Type::get(context);
  case E::F64:
    return Float64Type::get(context);
  case E::F16:
    return Float16Type::get(context);
  case E::BF16:
    return BFloat16Type::get(context);
  case E::U8:
  case E::U16:
  case E::U32:
  case E::U64:
    return IntegerType::get(context, 8 * support::byteSize(type.plain),
                            IntegerType::Unsigned);
  case E::Bool:
    return IntegerType::get(context, 1);
  default:
    return IntegerType::get(context, 8 * support::byteSize(type.plain));
  }
}

tile::BufferType bufferType(MLIRContext *context, const StorageType &type,
                            llvm::ArrayRef<int64_t> shape, int64_t axis,
                            const Lanes &lanes) {
  tile::FoldAttr fold;
  if (lanes.folded())
    fold = tile::FoldAttr::get(context, lanes.count, lanes.pitch, lanes.axis,
                               lanes.across, lanes.repeated);
  return tile::BufferType::get(
      context, RankedTensorType::get(shape, elementType(context, type)), axis,
      fold);
}

std::optional<StorageType> storageOf(tile::BufferType type) {
  return storageOf(type.getTensor().getElementType());
}

Lanes lanesOf(tile::BufferType type) {
  Lanes lanes;
  if (tile::FoldAttr fold = type.getFold())
    lanes = {fold.getCount(), fold.getPitch(), fold.getAxis(), fold.getAcross(),
             fold.getRepeated() != 0};
  return lanes;
}

View viewOf(tile::BufferType type, int64_t address,
            const machine::Description &machine) {
  return denseBufferView(
      storageOf(type).value_or(StorageType()),
      storedShape(type.getTensor().getShape(), lanesOf(type)), type.getAxis(),
      address, machine);
}

llvm::SmallVector<TileBuffer, 6>
sequenceBuffers(Operation *op, const TilingModel &model, const Staging &staging,
                const Region &out, int64_t base,
                const machine::Description &machine) {
  if (npu::routeOf(op) != npu::Route::SwapBlocks)
    return tileBuffers(op, model, staging, out, base, machine);
  // Blocks wait in slots; each slot takes blocks of all extents.
  npu::TilingAttr tiling = npu::tilingOf(op);
  llvm::SmallVector<TileBuffer, 6> buffers;
  StorageType bytes;
  bytes.plain = support::ElementType::U8;
  const Shape shape{static_cast<int64_t>(machine.sb.partitions),
                    tiling.getSlot()};
  for (int64_t slot = 0; slot < tiling.getSlots(); ++slot) {
    TileBuffer buffer;
    buffer.index = static_cast<unsigned>(slot);
    buffer.bytes = tiling.getSlot();
    buffer.view = denseBufferView(bytes, shape, 0,
                                  base + slot * tiling.getSlot(), machine);
    buffers.push_back(std::move(buffer));
  }
  return buffers;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

bool measuresTensor(Operation *op) {
  const StorageType type = storageOf(op->getResult(0));
  return type.encoded && !bfp::getScalePolicy(op).isStored() &&
         type.format.block == numerics::BlockFormat::kTensor &&
         mlir::isa<npu::MapInterface>(op) &&
         !storageOf(op->getOperand(0)).encoded;
}

llvm::SmallVector<OpOperand *, 4> readsOf(Value value) {
  llvm::SmallVector<OpOperand *, 4> reads;
  for (OpOperand &use : value.getUses())
    if (!mlir::isa<tile::SequenceOp>(use.getOwner()))
      reads.push_back(&use);
  return reads;
}

Operation *soleReader(Value value) {
  auto reads = readsOf(value);
  return reads.size() == 1 ? reads.front()->getOwner() : nullptr;
}

} // namespace ashlar::analysis
