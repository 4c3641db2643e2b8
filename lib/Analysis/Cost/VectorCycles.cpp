// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the vector unit, instruction by instruction as they are emitted,
// each with the accesses of its operands to the banks of the state buffer.

#include "ashlar/Analysis/Cost/OperationCycles.h"
#include "ashlar/Analysis/Cost/TailParts.h"
#include "ashlar/Analysis/Cost/VectorLoops.h"

#include "ashlar/Analysis/Tiles/MapSteps.h"
#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "ashlar/Isa/Ports.h"
#include "ashlar/Machine/Ports.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace ashlar::analysis {

using machine::VecCost;
using machine::VecStore;

VecStore storeOf(const StorageType &from, const StorageType &to) {
  if (to.encoded)
    return VecStore::Encode;
  return !from.encoded && from.plain == to.plain ? VecStore::Same
                                                 : VecStore::Convert;
}

/// Free dimensions of an instruction.
static constexpr unsigned kMapDims = 3;
/// Instructions of a map that are looked at. Only maps far beyond any memory
/// have more.
static constexpr int64_t kMostVisited = 4096;
/// Sums of such numbers stay in 64 bits.
static constexpr double kMostCycles = 0x1p48;

/// Cycles of an instruction with the accesses of `patterns`, which are streamed
/// in step.
static int64_t issueOf(machine::Timing timing,
                       llvm::ArrayRef<machine::PortPattern> patterns,
                       const machine::Description &machine) {
  if (machine.sb.banks == 0)
    return static_cast<int64_t>(timing.issue);
  machine::BankAccesses banks(machine.sb.banks, 0);
  for (const machine::PortPattern &pattern : patterns)
    machine::addAccesses(machine, pattern, banks);
  return static_cast<int64_t>(
      machine::withPorts(
          timing, machine::bankCycles(machine, *llvm::max_element(banks)))
          .issue);
}

int64_t mapCycles(llvm::ArrayRef<View> operands, const View &result,
                  VecCost cost, VecStore store,
                  const machine::Description &machine) {
  llvm::SmallVector<VectorOperand, 4> all{{&result}};
  for (const View &view : operands)
    all.push_back({&view});
  const auto partitions = static_cast<int64_t>(machine.sb.partitions);
  int64_t sum = 0, visited = 0;
  double elements = 0;
  const bool whole = walkVectorLoops(
      all, result, machine, kMapDims, [&](const VectorLoop &loop) {
        uint64_t positions = 1;
        for (int64_t count : loop.count)
          positions *= static_cast<uint64_t>(count);
        llvm::SmallVector<machine::PortPattern, 4> patterns;
        for (auto [operand, address] : llvm::zip(all, loop.addresses)) {
          machine::PortPattern &pattern = patterns.emplace_back();
          pattern.base = address.offset;
          pattern.elementBytes =
              static_cast<uint64_t>(operand.view->type.bytes());
          pattern.add(address.broadcast
                          ? 1
                          : llvm::divideCeil(loop.channels, partitions),
                      address.tileStride);
          for (auto [count, stride] : llvm::zip(loop.count, address.stride))
            pattern.add(static_cast<uint64_t>(count), stride);
        }
        sum += issueOf(machine::vecMap(machine, cost, store,
                                       static_cast<uint64_t>(loop.channels),
                                       positions),
                       patterns, machine);
        elements +=
            static_cast<double>(loop.channels) * static_cast<double>(positions);
        return ++visited < kMostVisited;
      });
  if (whole)
    return sum;
  // The instructions that are left are like the first ones.
  double total = 1;
  for (int64_t extent : result.shape)
    total *= static_cast<double>(extent);
  return static_cast<int64_t>(
      std::min(static_cast<double>(sum) * total / elements, kMostCycles));
}

int64_t decodeCycles(Value map, const machine::Description &machine) {
  const StorageType type = storageOf(map);
  auto shape = shapeOf(map);
  const View source = denseBufferView(type, shape, type.blockAxis, 0, machine);
  const View result = denseBufferView(
      f32Storage(), shape, type.blockAxis,
      llvm::alignTo(bufferBytes(type, shape, type.blockAxis, machine), 64),
      machine);
  return mapCycles({source}, result, VecCost::Cheap, VecStore::Convert,
                   machine);
}

namespace {

VecCost classOf(llvm::StringRef name) {
  return machine::vecCostOf(name).value_or(VecCost::VeryExpensive);
}

class VectorPredictor {
public:
  VectorPredictor(Operation *op, const Lanes &lanes,
                  const machine::Description &machine)
      : op(op), lanes(lanes), machine(machine) {
    Value y = op->getResult(0);
    const StorageType type = storageOf(y);
    npu::LayoutAttr layout = npu::layoutAttrOf(op);
    const auto rank = static_cast<int64_t>(shapeOf(y).size());
    stored = layout         ? layout.getAxis()
             : type.encoded ? type.blockAxis
             : rank > 2     ? 1
                            : rank - 1;
    axis = layout ? layout.getWorkAxis().value_or(stored) : stored;
  }

  int64_t run();

private:
  View viewOf(Value value, const StorageType &type, const Lanes &fold,
              int64_t across);
  View viewOf(Value value) {
    return viewOf(value, storageOf(value), lanes, axis);
  }
  View operandOf(Value value);
  int64_t map(npu::MapInterface map);
  int64_t savedByParts(npu::MapInterface map, llvm::ArrayRef<View> operands,
                       const View &result, VecCost cost) const;
  int64_t stepwise(npu::MapInterface map);
  int64_t pool(npu::VecPoolOp pool);
  int64_t sums(npu::VecPoolOp pool);
  int64_t poolPass(npu::VecPoolOp pool, const View &x, const View &y,
                   int64_t rows, int64_t channels) const;
  int64_t reduce(npu::VecReduceOp reduce);
  int64_t along(Value x, int64_t rowAxis, VecCost cost, VecStore store);
  int64_t softmax(npu::VecSoftmaxOp softmax);
  int64_t gather(npu::VecGatherOp gather);
  int64_t relaid();

  Operation *op;
  Lanes lanes;
  const machine::Description &machine;
  int64_t stored, axis; ///< across partitions at home and at work
  int64_t next = 0;     ///< first free byte of every partition
};

View VectorPredictor::viewOf(Value value, const StorageType &type,
                             const Lanes &fold, int64_t across) {
  const Shape shape = storedShape(shapeOf(value), fold);
  View view = denseBufferView(type, shape, fold.folded() ? fold.across : across,
                              next, machine);
  next += llvm::alignTo(bufferBytes(type, shape, view.axis, machine), 64);
  // A state buffer that cannot hold all maps is filled from its start again.
  next %= static_cast<int64_t>(machine.sb.bytesPerPartition);
  return view;
}

/// An operand that broadcasts to the result.
View VectorPredictor::operandOf(Value value) {
  auto shape = shapeOf(value), result = shapeOf(op->getResult(0));
  const int64_t own = axis - static_cast<int64_t>(result.size()) +
                      static_cast<int64_t>(shape.size());
  const StorageType type = storageOf(value);
  if (lanes.spread() && shape.size() <= result.size())
    return viewOf(value, type,
                  broadcastLanes(shape, result, lanes).value_or(Lanes()),
                  std::max<int64_t>(own, -1));
  return viewOf(value, type, shape == result ? lanes : Lanes(),
                std::max<int64_t>(own, -1));
}

/// Scale, bias and function as separate instructions, through scratch memory:
/// parameters that vary within partitions.
int64_t VectorPredictor::stepwise(npu::MapInterface map) {
  const View result = viewOf(op->getResult(0));
  View scratch = result, first = operandOf(map.getInputs()[0]);
  scratch.type = f32Storage();
  int64_t sum = 0;
  const auto steps = mapSteps(map);
  for (auto [i, step] : llvm::enumerate(steps)) {
    const View &target = i + 1 < steps.size() ? scratch : result;
    llvm::SmallVector<View, 2> operands{first};
    if (step.second)
      operands.push_back(operandOf(op->getOperand(*step.second)));
    sum += mapCycles(operands, target, classOf(step.function),
                     storeOf(first.type, target.type), machine);
    first = scratch;
  }
  return sum;
}

/// Cycles that the last channel tile takes less in parts.
int64_t VectorPredictor::savedByParts(npu::MapInterface map,
                                      llvm::ArrayRef<View> operands,
                                      const View &result, VecCost cost) const {
  const size_t inputs = map.getInputs().size();
  llvm::SmallVector<View, 2> maps;
  for (auto [i, view] : llvm::enumerate(operands)) {
    if (i >= inputs && view.channels() > 1)
      return 0;
    if (i < inputs && Region::whole(view.shape).elements() > 1)
      maps.push_back(view);
  }
  const StorageType from = storageOf(op->getOperand(0));
  const bool plain = operands.size() == inputs && inputs == 1 &&
                     !mlir::isa<npu::VecRequantiseOp>(op);
  const auto tail = tailParts(maps, result, cost, storeOf(from, result.type),
                              plain && keepsZeros(map.getOp()), machine);
  if (!tail)
    return 0;
  // Layouts of chains of maps are compared by what the chain waits for; the
  // encode of an image, with zeros between parts, as the engine is busy.
  return tail->between > 0 ? tail->saved : tail->saved - tail->copies;
}

int64_t VectorPredictor::map(npu::MapInterface map) {
  if (!map.hasParametersAlong(axis))
    return stepwise(map);
  const View result = viewOf(op->getResult(0));
  llvm::SmallVector<View, 4> operands;
  for (Value operand : op->getOperands())
    operands.push_back(operandOf(operand));
  // Scales and the steps of quantisation are stages of the pipeline.
  const bool stages =
      map.getScale() || map.getBias() || mlir::isa<npu::VecRequantiseOp>(op);
  const VecCost cost =
      std::max(classOf(map.getOp()), stages ? VecCost::Medium : VecCost::Cheap);
  const StorageType from = storageOf(op->getOperand(0));
  int64_t sum =
      mapCycles(operands, result, cost, storeOf(from, result.type), machine) -
      savedByParts(map, operands, result, cost);
  // One exponent for the tensor is known after a pass of its own.
  if (result.type.encoded && !from.encoded &&
      result.type.format.block == numerics::BlockFormat::kTensor)
    sum += mapCycles({}, operands.front(), VecCost::Cheap, VecStore::Same,
                     machine);
  return sum;
}

/// The instruction of a pool: the whole map, or `rows` results of its first
/// windowed axis for `channels` partitions. Its ports are counted as the
/// emulator counts them.
int64_t VectorPredictor::poolPass(npu::VecPoolOp pool, const View &x,
                                  const View &y, int64_t rows,
                                  int64_t channels) const {
  const size_t spatial = pool.getKernel().size(), rank = y.shape.size();
  isa::VecPool inst{};
  machine::PoolShape shape;
  int64_t fields[3][8] = {};
  for (size_t i = 0; i < 3; ++i) {
    int64_t *f = fields[i];
    std::fill(f, f + 5, 1);
    const size_t own = rank - 3 + i, s = i + spatial - 3;
    if (i + spatial < 3 || static_cast<int64_t>(own) == axis)
      continue;
    const int64_t values[8] = {x.shape[own],           y.shape[own],
                               pool.getKernel()[s],    pool.getStrides()[s],
                               pool.getDilations()[s], pool.getPads()[s],
                               x.strides[own],         y.strides[own]};
    std::copy(values, values + 8, f);
    if (s == 0 && rows < f[1]) {
      f[0] = std::min(f[0], (rows - 1) * f[3] + (f[2] - 1) * f[4] + 1);
      f[1] = rows, f[5] = 0;
    }
    shape.in[i] = static_cast<uint64_t>(f[0]);
    shape.out[i] = static_cast<uint64_t>(f[1]);
    shape.kernel[i] = static_cast<uint64_t>(f[2]);
  }
  auto set = [&](const int64_t *f, auto &in, auto &out, auto &k, auto &s,
                 auto &d, auto &p, auto &from, auto &to) {
    in = f[0], out = f[1], k = f[2], s = f[3], d = f[4], p = f[5];
    from = f[6], to = f[7];
  };
  set(fields[0], inst.inD, inst.outD, inst.kD, inst.sD, inst.dD, inst.pD,
      inst.srcStrideD, inst.dstStrideD);
  set(fields[1], inst.inH, inst.outH, inst.kH, inst.sH, inst.dH, inst.pH,
      inst.srcStrideH, inst.dstStrideH);
  set(fields[2], inst.inW, inst.outW, inst.kW, inst.sW, inst.dW, inst.pW,
      inst.srcStrideW, inst.dstStrideW);
  inst.kind = static_cast<isa::PoolKind>(machine::poolKindOf(pool.getKind()));
  inst.srcType = static_cast<isa::ElemType>(x.type.isaType());
  inst.srcMantissa = x.type.encoded ? x.type.format.mantissa : 0;
  inst.dstType = static_cast<isa::ElemType>(y.type.isaType());
  inst.dstMantissa = y.type.encoded ? y.type.format.mantissa : 0;
  inst.channels = static_cast<uint32_t>(channels);
  inst.srcOffset = x.base, inst.dstOffset = y.base;
  inst.srcTileStride = x.tileStride, inst.dstTileStride = y.tileStride;
  machine::Timing timing =
      machine::vecPool(machine, static_cast<machine::PoolKind>(inst.kind),
                       storeOf(x.type, y.type), inst.channels, shape);
  if (machine.sb.banks > 0) {
    const isa::BankClaims claims = isa::bankClaims(inst, machine);
    timing = machine::withPorts(
        timing, claims.empty() ? 0 : *llvm::max_element(claims));
  }
  return static_cast<int64_t>(timing.issue);
}

/// Windows along partitions: an addition for each tap but the first.
int64_t VectorPredictor::sums(npu::VecPoolOp pool) {
  const View x = viewOf(pool.getX()), y = viewOf(pool.getY());
  int64_t taps = 1;
  for (int64_t tap : pool.getKernel())
    taps *= tap;
  int64_t cycles = (taps - 1) * mapCycles({x, y}, y, VecCost::Cheap,
                                          VecStore::Same, machine);
  if (pool.getKind() == "avg")
    cycles += mapCycles({y}, y, classOf("div"), VecStore::Same, machine);
  return cycles;
}

/// A map of few channels leaves lanes idle: parts of its rows go side by side
/// where that takes fewer cycles, copies aside, which go on meanwhile.
int64_t VectorPredictor::pool(npu::VecPoolOp pool) {
  if (pool.reducesAlong(axis))
    return sums(pool);
  const View x = viewOf(pool.getX()), y = viewOf(pool.getY());
  const size_t rowAxis = y.shape.size() - pool.getKernel().size();
  int64_t maps = 1; // the axes before the windows, but the partitions'
  for (size_t i = 0; i < rowAxis; ++i)
    if (static_cast<int64_t>(i) != axis)
      maps *= y.shape[i];
  const int64_t channels = y.channels(), rows = y.shape[rowAxis];
  const int64_t whole = poolPass(pool, x, y, rows, channels);
  const auto partitions = static_cast<int64_t>(machine.sb.partitions);
  const auto group = static_cast<int64_t>(machine.xmGroup);
  const int64_t block = y.type.encoded ? y.type.format.block : 1;
  if (axis < 0 || axis >= static_cast<int64_t>(rowAxis) || block < 1 ||
      channels % group != 0)
    return maps * whole;
  const int64_t pitch = llvm::alignTo(channels, std::lcm(group, block));
  // Windows that reach into the padding are reduced where they lie.
  const int64_t pad = llvm::divideCeil(pool.getPads()[0], pool.getStrides()[0]);
  const int64_t inner = rows - 2 * pad;
  const int64_t parts = std::min((partitions - channels) / pitch + 1, inner);
  if (parts < 2)
    return maps * whole;
  int64_t cut =
      poolPass(pool, x, y, inner / parts, (parts - 1) * pitch + channels);
  if (const int64_t rest = rows - inner / parts * parts; rest > 0)
    cut += poolPass(pool, x, y, rest, channels);
  return maps * std::min(whole, cut);
}

int64_t VectorPredictor::reduce(npu::VecReduceOp reduce) {
  Value x = reduce.getX();
  auto in = shapeOf(x), out = shapeOf(reduce.getY());
  int64_t across = axis;
  // A result without the reduced axes names the operand's by its own number.
  if (in.size() != out.size())
    for (int64_t reduced : reduce.getAxes())
      across += across >= reduced && axis >= 0;
  const View source = viewOf(x, storageOf(x), lanes, across);
  const View result = viewOf(reduce.getY());
  const int64_t elements = Region::whole(source.shape).elements();
  const int64_t channels = std::max<int64_t>(source.channels(), 1);
  const bool through = reduce.reducesThroughPartitions();
  const int64_t outer =
      std::max<int64_t>(Region::whole(result.shape).elements() /
                            std::max<int64_t>(result.channels(), 1),
                        1);
  const int64_t each = elements / channels;
  machine::PortPattern read, written;
  read.elementBytes = static_cast<uint64_t>(source.type.bytes());
  read.add(static_cast<uint64_t>(each), source.type.bytes());
  written.base = result.base;
  written.elementBytes = static_cast<uint64_t>(result.type.bytes());
  written.add(static_cast<uint64_t>(outer), result.type.bytes());
  const int64_t tiles = llvm::divideCeil(channels, machine.sb.partitions);
  for (machine::PortPattern *pattern : {&read, &written}) {
    pattern->counts.insert(pattern->counts.begin(),
                           static_cast<uint64_t>(tiles));
    pattern->strides.insert(pattern->strides.begin(), pattern == &read
                                                          ? source.tileStride
                                                          : result.tileStride);
  }
  const VecCost cost = classOf(reduce.getKind());
  const VecStore store = storeOf(source.type, result.type);
  const bool divides = reduce.getKind() == "mean";
  const auto width = static_cast<uint64_t>(channels);
  const machine::Timing timing =
      through ? machine::vecReduceChannels(machine, cost, store, width,
                                           static_cast<uint64_t>(each), divides)
              : machine::vecReduce(
                    machine, cost, store, width, static_cast<uint64_t>(outer),
                    static_cast<uint64_t>(std::max<int64_t>(each / outer, 1)),
                    divides);
  return issueOf(timing, {read, written}, machine);
}

/// A reduction of the rows of `x`, within partitions or through them.
int64_t VectorPredictor::along(Value x, int64_t rowAxis, VecCost cost,
                               VecStore store) {
  const Shape shape = storedShape(shapeOf(x), lanes);
  const int64_t across = lanes.folded() ? lanes.across : axis;
  const auto channels = static_cast<uint64_t>(across < 0 ? 1 : shape[across]);
  const auto elements = static_cast<uint64_t>(Region::whole(shape).elements());
  const auto row = static_cast<uint64_t>(shapeOf(x)[rowAxis]);
  const uint64_t each = elements / std::max<uint64_t>(channels, 1);
  if (rowAxis == across)
    return static_cast<int64_t>(
        machine::vecReduceChannels(machine, cost, store, channels, each, false)
            .issue);
  return static_cast<int64_t>(
      machine::vecReduce(
          machine, cost, store, channels,
          std::max<uint64_t>(each / std::max<uint64_t>(row, 1), 1), row, false)
          .issue);
}

/// Maximum, difference, exponential, sum, quotient; of the logarithm the
/// difference in place of the quotient.
int64_t VectorPredictor::softmax(npu::VecSoftmaxOp softmax) {
  Value x = softmax.getX();
  const auto rowAxis = static_cast<int64_t>(softmax.getAxis());
  const StorageType from = storageOf(x);
  const View source = viewOf(x), result = viewOf(softmax.getY());
  const View shifted = viewOf(x, f32Storage(), lanes, axis);
  View rows = shifted;
  rows.shape[rowAxis] = 1;
  const VecStore convert = storeOf(from, f32Storage());
  const VecCost last = softmax.getLog() ? VecCost::Cheap : VecCost::Expensive;
  return along(x, rowAxis, VecCost::Cheap, convert) +
         mapCycles({source, rows}, shifted, VecCost::Cheap, convert, machine) +
         mapCycles({shifted}, shifted, VecCost::VeryExpensive, VecStore::Same,
                   machine) +
         along(x, rowAxis, VecCost::Cheap, VecStore::Same) +
         mapCycles({shifted, rows}, result, last,
                   storeOf(f32Storage(), result.type), machine);
}

int64_t VectorPredictor::gather(npu::VecGatherOp gather) {
  if (gathersFromDram(gather, machine))
    return 0;
  const View y = viewOf(gather.getY());
  const auto channels =
      static_cast<uint64_t>(std::max<int64_t>(y.channels(), 1));
  const auto elements =
      static_cast<uint64_t>(Region::whole(y.shape).elements());
  return static_cast<int64_t>(
      machine::vecGather(machine, channels, elements / channels).issue);
}

/// The pass that stores a result across another axis than that of the work.
int64_t VectorPredictor::relaid() {
  if (axis == stored)
    return 0;
  Value y = op->getResult(0);
  const View scratch = viewOf(y, f32Storage(), Lanes(), stored);
  const View result = viewOf(y, storageOf(y), Lanes(), stored);
  return mapCycles({scratch}, result, VecCost::Cheap,
                   storeOf(f32Storage(), result.type), machine);
}

int64_t VectorPredictor::run() {
  const int64_t own =
      llvm::TypeSwitch<Operation *, int64_t>(op)
          .Case<npu::VecPoolOp>([&](auto x) { return pool(x); })
          .Case<npu::VecReduceOp>([&](auto x) { return reduce(x); })
          .Case<npu::VecSoftmaxOp>([&](auto x) { return softmax(x); })
          .Case<npu::VecGatherOp>([&](auto x) { return gather(x); })
          .Default([&](Operation *) {
            auto own = dyn_cast<npu::MapInterface>(op);
            return own ? map(own) : 0;
          });
  return own + relaid();
}

} // namespace

int64_t vectorCycles(Operation *op, const Lanes &lanes,
                     const machine::Description &machine) {
  return VectorPredictor(op, lanes, machine).run();
}

} // namespace ashlar::analysis
