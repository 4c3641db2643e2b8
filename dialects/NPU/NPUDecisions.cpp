// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decisions about npu operations: what each may be on its own, what it may be
// on an operation, and how passes ask for it. A module comes from a file as
// often as from a pass.

#include "ashlar/Partition/Partition.h"
#include "dialects/BFP/BFPTypes.h"
#include "dialects/NN/NNTypes.h"
#include "dialects/NPU/NPUDialect.h"
#include "dialects/NPU/NPUKept.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace ashlar::npu {
namespace {

using EmitError = function_ref<InFlightDiagnostic()>;

/// Largest byte offset or count that planning writes.
constexpr int64_t kMost = int64_t(1) << 40;

struct Bound {
  StringRef name;
  int64_t value;
  int64_t least = 0, most = kMost;
};

LogicalResult checkBounds(EmitError emitError, ArrayRef<Bound> bounds) {
  for (const Bound &bound : bounds)
    if (bound.value < bound.least || bound.value > bound.most)
      return emitError() << "expected '" << bound.name << "' in ["
                         << bound.least << ", " << bound.most << "], found "
                         << bound.value;
  return success();
}

} // namespace

LogicalResult SpreadAttr::verify(EmitError emitError, int64_t axis,
                                 int64_t count, int64_t pitch) {
  constexpr int64_t last = nn::kMostDims - 1, many = 1 << 20;
  return checkBounds(emitError, {{"axis", axis, 0, last},
                                 {"count", count, 2, many},
                                 {"pitch", pitch, 1, many}});
}

LogicalResult LayoutAttr::verify(EmitError emitError, int64_t axis,
                                 std::optional<int64_t> workAxis, int64_t lanes,
                                 int64_t pitch, SpreadAttr spread,
                                 SpreadAttr workSpread) {
  constexpr int64_t last = nn::kMostDims - 1, many = 1 << 20;
  for (SpreadAttr own : {spread, workSpread}) {
    if (own && lanes > 1)
      return emitError() << "expected either lanes or a second axis across "
                            "partitions, found both";
    if (own && (axis < 0 || own.getAxis() == axis || workAxis))
      return emitError() << "expected 'axis' across partitions and another one "
                            "spread next to it";
  }
  return checkBounds(emitError, {{"axis", axis, -1, last},
                                 {"work_axis", workAxis.value_or(-1), -1, last},
                                 {"lanes", lanes, 1, many},
                                 {"pitch", pitch, lanes > 1 ? 1 : 0, many}});
}

LayoutAttr LayoutAttr::withLanes(int64_t lanes, int64_t pitch) const {
  return get(getContext(), getAxis(), getWorkAxis(), lanes,
             lanes > 1 ? pitch : 0, getSpread(), getWorkSpread());
}

LayoutAttr LayoutAttr::withSpread(SpreadAttr home, SpreadAttr work) const {
  return get(getContext(), getAxis(), getWorkAxis(), getLanes(), getPitch(),
             home, work);
}

LogicalResult MapFormAttr::verify(EmitError emitError, int64_t form,
                                  int64_t levels, int64_t channels,
                                  int64_t bytes, int64_t pitch,
                                  int64_t typical) {
  return checkBounds(emitError, {{"form", form},
                                 {"levels", levels},
                                 {"channels", channels, 1},
                                 {"bytes", bytes, 1},
                                 {"pitch", pitch, 1},
                                 {"typical", typical}});
}

LogicalResult MemoryAttr::verify(EmitError emitError, std::optional<int64_t> sb,
                                 StringAttr dram, std::optional<int64_t> part,
                                 MapFormAttr form) {
  if (sb.has_value() == static_cast<bool>(dram))
    return emitError() << "expected either 'sb', a byte offset, or 'dram', why "
                          "the result is not resident";
  if (sb && form)
    return emitError() << "expected a dense map in the state buffer, found "
                       << form;
  return checkBounds(emitError,
                     {{"sb", sb.value_or(0)}, {"part", part.value_or(0)}});
}

MemoryAttr MemoryAttr::withForm(MapFormAttr form) const {
  return get(getContext(), getSb(), getDram(), getPart(), form);
}

LogicalResult TilingAttr::verify(EmitError emitError, DenseI64ArrayAttr tile,
                                 int64_t scratch, int64_t slot, int64_t slots,
                                 int64_t ring, int64_t chunk) {
  for (int64_t extent : tile.asArrayRef())
    if (failed(checkBounds(emitError, {{"tile", extent}})))
      return failure();
  return checkBounds(emitError, {{"scratch", scratch},
                                 {"slot", slot},
                                 {"slots", slots, 1},
                                 {"ring", ring},
                                 {"chunk", chunk}});
}

LogicalResult PatternAttr::verify(EmitError emitError, int64_t kept,
                                  int64_t group) {
  if (failed(checkBounds(emitError,
                         {{"kept", kept, 1, 8}, {"group", group, 2, 16}})))
    return failure();
  if (llvm::isPowerOf2_64(group) && kept < group && group % kept == 0)
    return success();
  return emitError() << "expects 'group' to be a power of two and 'kept' a "
                        "smaller divisor of it, found "
                     << kept << " of " << group;
}

LogicalResult RegionAttr::verify(EmitError emitError, int64_t begin,
                                 int64_t bytes) {
  return checkBounds(emitError, {{"begin", begin}, {"bytes", bytes}});
}

LogicalResult ProfileAttr::verify(EmitError emitError, int64_t source,
                                  DenseI32ArrayAttr density,
                                  DenseI32ArrayAttr places, int64_t rows,
                                  int64_t columns, int64_t capacity) {
  constexpr int64_t largest = int64_t(1) << 24;
  if (failed(
          checkBounds(emitError, {{"source", source, 0, 2},
                                  {"rows", rows, places ? 1 : 0, largest},
                                  {"columns", columns, places ? 1 : 0, largest},
                                  {"capacity", capacity}})))
    return failure();
  auto shares = [](int32_t share) { return share >= 0 && share <= 1000; };
  if (density.empty() || !llvm::all_of(density.asArrayRef(), shares))
    return emitError() << "expected densities from 0 to 1000 per 1000 elements";
  if (!places)
    return success();
  auto counts = [](int32_t count) { return count >= 0; };
  if (places.size() == rows * columns &&
      llvm::all_of(places.asArrayRef(), counts))
    return success();
  return emitError() << "expected a count for each of " << rows << " x "
                     << columns << " places, found " << places.size();
}

/// A name that an option of ashlarc has.
template <typename T>
static LogicalResult checkName(EmitError emitError, StringAttr text,
                               llvm::Expected<T> (*parse)(StringRef)) {
  llvm::Expected<T> value = parse(text.getValue());
  if (value)
    return success();
  return emitError() << llvm::toString(value.takeError());
}

LogicalResult ScatterAttr::verify(EmitError emitError, int64_t variant,
                                  StringAttr algorithm, StringAttr metric,
                                  int64_t threshold, StringAttr time,
                                  StringAttr halo, ProfileAttr,
                                  int64_t blockRows, int64_t blockCols,
                                  bool /*snake*/) {
  if (failed(checkName(emitError, algorithm, &partition::parseAlgorithm)) ||
      failed(checkName(emitError, metric, &partition::parseMetric)) ||
      failed(checkName(emitError, time, &partition::parseCutTime)) ||
      failed(checkName(emitError, halo, &partition::parseHaloMode)))
    return failure();
  return checkBounds(emitError, {{"variant", variant, 0, 3},
                                 {"threshold", threshold},
                                 {"block rows", blockRows, 0, 255},
                                 {"block columns", blockCols, 0, 255}});
}

LogicalResult verifyKept(TcuConvOp op) {
  if (!op.getKeptAttr())
    return success();
  auto producer = op.getX().getDefiningOp<TcuConvOp>();
  if (!producer)
    return op.emitOpError() << "keeps an operand that no convolution of the "
                               "cluster makes";
  for (OpOperand &use : op.getX().getUses()) {
    auto other = dyn_cast<TcuConvOp>(use.getOwner());
    // A sequence of the tile dialect names the node that it computes.
    if ((use.getOwner() == op && use.getOperandNumber() == 0) ||
        use.getOwner()->getName().getDialectNamespace() == "tile")
      continue;
    if (!op.getKeptAttr().getStored())
      return op.emitOpError() << "keeps an operand that is not stored for its "
                                 "other readers";
    if (other && use.getOperandNumber() == 0 && other.getKeptAttr())
      return op.emitOpError() << "keeps an operand that another one keeps";
  }
  return success();
}

OriginAttr originOf(Operation *op) {
  auto decided = dyn_cast_if_present<DecisionInterface>(op);
  return decided ? decided.getOriginAttr() : OriginAttr();
}

LayoutAttr layoutAttrOf(Operation *op) {
  auto decided = dyn_cast_if_present<DecisionInterface>(op);
  return decided ? decided.getLayoutAttr() : LayoutAttr();
}

MemoryAttr memoryOf(Operation *op) {
  auto decided = dyn_cast_if_present<DecisionInterface>(op);
  return decided ? decided.getMemoryAttr() : MemoryAttr();
}

TilingAttr tilingOf(Operation *op) {
  auto decided = dyn_cast_if_present<DecisionInterface>(op);
  return decided ? decided.getTilingAttr() : TilingAttr();
}

std::optional<int64_t> axisOf(Operation *op) {
  LayoutAttr layout = layoutAttrOf(op);
  return layout ? std::optional(layout.getAxis()) : std::nullopt;
}

bool isResident(Operation *op) {
  MemoryAttr memory = memoryOf(op);
  return memory && memory.inStateBuffer();
}

std::optional<int64_t> partOf(Operation *op) {
  MemoryAttr memory = memoryOf(op);
  return memory ? memory.getPart() : std::nullopt;
}

Route routeOf(Operation *op) {
  auto move = dyn_cast_if_present<DmaMoveOp>(op);
  return move ? move.getRoute() : Route::Copy;
}

bool isAliased(Operation *op) { return routeOf(op) == Route::View; }

Stationary stationaryOf(Operation *op) {
  if (auto conv = dyn_cast_if_present<PeConvOp>(op))
    return conv.getStationary();
  auto matmul = dyn_cast_if_present<PeMatmulOp>(op);
  return matmul ? matmul.getStationary() : Stationary::Weights;
}

llvm::SmallVector<Operation *> denseProducts(Operation *scope) {
  llvm::SmallVector<Operation *> products;
  scope->walk([&](Operation *op) {
    if (isa<PeConvOp, PeMatmulOp>(op))
      products.push_back(op);
  });
  return products;
}

PatternAttr patternOf(Operation *op) {
  if (auto conv = dyn_cast_if_present<PeConvOp>(op))
    return conv.getPatternAttr();
  auto matmul = dyn_cast_if_present<PeMatmulOp>(op);
  return matmul ? matmul.getPatternAttr() : PatternAttr();
}

PoolingAttr poolingOf(Operation *op) {
  if (auto conv = dyn_cast_if_present<TcuConvOp>(op))
    return conv.getPoolingAttr();
  auto conv = dyn_cast_if_present<PeConvOp>(op);
  return conv ? conv.getPoolingAttr() : PoolingAttr();
}

void setPattern(Operation *op, PatternAttr pattern) {
  if (auto conv = dyn_cast<PeConvOp>(op))
    conv.setPatternAttr(pattern);
  else
    cast<PeMatmulOp>(op).setPatternAttr(pattern);
}

int64_t vectorShareOf(Operation *op) {
  if (auto conv = dyn_cast_if_present<PeConvOp>(op))
    return static_cast<int64_t>(conv.getVectorShare());
  auto matmul = dyn_cast_if_present<PeMatmulOp>(op);
  return matmul ? static_cast<int64_t>(matmul.getVectorShare()) : 0;
}

void setVectorShare(Operation *op, int64_t share) {
  if (auto conv = dyn_cast<PeConvOp>(op))
    conv.setVectorShare(static_cast<uint64_t>(share));
  else
    cast<PeMatmulOp>(op).setVectorShare(static_cast<uint64_t>(share));
}

void setStationary(Operation *op, Stationary stationary) {
  // Weights are what an operation without the attribute holds.
  StationaryAttr attr;
  if (stationary != Stationary::Weights)
    attr = StationaryAttr::get(op->getContext(), stationary);
  if (auto conv = dyn_cast<PeConvOp>(op))
    conv.setStationaryAttr(attr);
  else
    cast<PeMatmulOp>(op).setStationaryAttr(attr);
}

bool hasStationaryActivations(Operation *op) {
  return stationaryOf(op) != Stationary::Weights;
}

bool transposesBlocks(Operation *op) {
  return stationaryOf(op) == Stationary::ActivationsBlocks;
}

PredictedAttr predictedOf(Operation *op) {
  return op->getAttrOfType<PredictedAttr>(kPredictedAttr);
}

void copyDecisions(Operation *from, Operation *to) {
  for (NamedAttribute attr : from->getDiscardableAttrs())
    to->setDiscardableAttr(attr.getName(), attr.getValue());
  auto source = cast<DecisionInterface>(from);
  auto target = cast<DecisionInterface>(to);
  target.setOriginAttr(source.getOriginAttr());
  target.setLayoutAttr(source.getLayoutAttr());
  target.setMemoryAttr(source.getMemoryAttr());
  target.setTilingAttr(source.getTilingAttr());
}

static RankedTensorType resultType(Operation *op) {
  return cast<RankedTensorType>(op->getResult(0).getType());
}

/// The axis across partitions that `op` leaves its result in.
static LogicalResult checkAxis(Operation *op, int64_t axis) {
  RankedTensorType type = resultType(op);
  const int64_t rank = type.getRank();
  auto expect = [&](bool valid, const Twine &what) -> LogicalResult {
    if (valid)
      return success();
    return op->emitOpError()
           << "axis across partitions must be " << what << ", found " << axis;
  };
  if (axis >= rank)
    return expect(false, "below the rank " + Twine(rank) + " of the result");
  if (bfp::BlockType block = bfp::getBlockType(type))
    if (failed(expect(axis == block.getAxis(),
                      "the block axis " + Twine(block.getAxis()))))
      return failure();
  if (isa<PeConvOp, TcuConvOp>(op))
    return expect(axis == 1, "1, the channels");
  if (isa<PeMatmulOp>(op))
    return expect(axis == rank - 1, "the last axis " + Twine(rank - 1));
  if (isa<PeTransposeOp>(op))
    return expect(axis >= 0, "an axis");
  if (auto gather = dyn_cast<VecGatherOp>(op))
    return expect(axis >= 0 && axis != static_cast<int64_t>(gather.getAxis()),
                  "another axis than that of the indices");
  return success();
}

static LogicalResult checkLayout(Operation *op, LayoutAttr layout) {
  if (failed(checkAxis(op, layout.getAxis())))
    return failure();
  ArrayRef<int64_t> shape = resultType(op).getShape();
  if (auto work = layout.getWorkAxis()) {
    if (!op->hasTrait<OwnWorkAxis>())
      return op->emitOpError() << "has a 'work_axis' in 'layout', which only "
                                  "pools, reductions and softmax may have";
    if (*work >= static_cast<int64_t>(shape.size()))
      return op->emitOpError()
             << "axis across partitions must be below the rank " << shape.size()
             << " of the result, found " << *work;
  }
  // A fold puts rows of a feature map side by side: it has channels and a last
  // axis. Several blocks of channels are for drains alone to write.
  if (layout.isFolded() && (shape.size() < 3 || (layout.getPitch() < shape[1] &&
                                                 !isa<PeConvOp>(op))))
    return op->emitOpError()
           << "must have a pitch of at least the channels of a map, found "
           << layout << " for " << resultType(op);
  return success();
}

/// A compressed feature map has rows; tiles are parts of the result.
static LogicalResult checkPlan(Operation *op, MemoryAttr memory,
                               TilingAttr tiling) {
  RankedTensorType type = resultType(op);
  if (memory && memory.getForm() && type.getRank() != 3 && type.getRank() != 4)
    return op->emitOpError() << "has " << memory.getForm() << ", but " << type
                             << " is not a feature map of rank 3 or 4";
  if (!tiling)
    return success();
  ArrayRef<int64_t> tile = tiling.getTile(), shape = type.getShape();
  bool fits = tile.size() == shape.size();
  for (size_t i = 0; fits && i < tile.size(); ++i)
    fits = tile[i] <= shape[i] && (tile[i] > 0 || shape[i] == 0);
  if (fits)
    return success();
  return op->emitOpError() << "must have tiles that are parts of " << type
                           << ", found " << tiling;
}

LogicalResult verifyDecisions(Operation *op) {
  auto decided = cast<DecisionInterface>(op);
  if (LayoutAttr layout = decided.getLayoutAttr();
      layout && failed(checkLayout(op, layout)))
    return failure();
  return checkPlan(op, decided.getMemoryAttr(), decided.getTilingAttr());
}

} // namespace ashlar::npu
