// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Array cycles of convolutions with stationary weights.

#include "ashlar/Analysis/DenseCycles.h"

#include "ashlar/Analysis/Cost/OperationCycles.h"
#include "ashlar/Analysis/StorageType.h"
#include "ashlar/Machine/Ports.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <array>
#include <utility>

namespace ashlar::analysis {
namespace {

/// Array and drain as the emitted program uses them (EmitProduct.cpp): groups
/// of positions fill one half of PSUM while the other half drains.
class DensePipeline {
public:
  DensePipeline(npu::PeConvOp conv, const Lanes &lanes,
                const machine::Description &machine)
      : machine(machine), lanes(lanes.count), function(drainFunction(conv)) {
    StorageType x = activationStorage(conv), w = weightStorage(conv);
    passes = static_cast<int64_t>(
        machine::pePasses(machine, x.digitBits(), w.digitBits()));
    weightBytes = w.bytes();
    xBytes = x.bytes();
    stride = conv.getStrides().back();
    result = storageOf(conv.getY());
    residual = conv.getResidual() ? storageOf(conv.getResidual()).bytes() : 0;
    auto out = shapeOf(conv.getY());
    positions = out[0];
    for (int64_t extent : out.drop_front(2))
      positions *= extent;
    width = out.back();
    group = std::max<int64_t>(machine.psum.banks / 2, 1) *
            static_cast<int64_t>(machine.psum.entriesPerBank);
  }

  /// `last`: no column follows. Groups of equal length soon repeat: two of them
  /// then move every time by as much as the two before did, so that the time of
  /// very many is known without counting each.
  void add(const ColumnTile &column, bool last) {
    std::array<State, 2> before{state, state};
    bool skipped = false;
    for (int64_t at = 0, index = 0; at < positions; ++index) {
      const int64_t part = std::min(group, positions - at);
      addGroup(column, part, last && at + part == positions);
      at += part;
      const State old = std::exchange(before[index % 2], state);
      if (skipped || index < 3 || !state.repeats(old))
        continue;
      // The last group may be shorter.
      const int64_t pairs =
          (std::max<int64_t>(positions - at, 1) - 1) / group / 2;
      state.repeat(old, pairs);
      at += 2 * pairs * group;
      skipped = true;
    }
  }

  DenseCycles take() const { return state.cycles; }

private:
  /// Pieces that the first and the last sums are drained in.
  static constexpr int64_t kPieces = 8;

  /// What two groups ago decides about the next one, and the sums.
  struct State {
    std::array<int64_t, 2> drained{0, 0}; ///< half of PSUM is free again
    int64_t arrayFree = 0, actFree = 0;
    DenseCycles cycles;

    bool repeats(const State &old) const {
      const int64_t step = arrayFree - old.arrayFree;
      return actFree - old.actFree == step &&
             drained[0] - old.drained[0] == step &&
             drained[1] - old.drained[1] == step;
    }

    /// What has happened since `old` happens `times` more.
    void repeat(const State &old, int64_t times) {
      const int64_t step = times * (arrayFree - old.arrayFree);
      for (int64_t *time :
           {&drained[0], &drained[1], &arrayFree, &actFree, &cycles.total})
        *time += step;
      cycles.array += times * (cycles.array - old.cycles.array);
      cycles.drain += times * (cycles.drain - old.cycles.drain);
    }
  };

  /// Accesses of a partition to `count` elements of `bytes` bytes, `step`
  /// elements apart, in rows of `row` that begin each with a run of its own.
  int64_t accesses(int64_t count, int64_t bytes, int64_t step,
                   int64_t row) const {
    machine::PortPattern pattern;
    pattern.elementBytes = static_cast<uint64_t>(bytes);
    row = std::max<int64_t>(std::min(count, row), 1);
    pattern.add(llvm::divideCeil(count, row), (row + 1) * step * bytes);
    pattern.add(static_cast<uint64_t>(row), step * bytes);
    return static_cast<int64_t>(machine::portAccesses(machine, pattern));
  }

  /// Cycles of one bank; none where banks have no price.
  int64_t claim(int64_t count) const {
    return machine.sb.banks == 0 ? 0
                                 : static_cast<int64_t>(machine::bankCycles(
                                       machine, static_cast<uint64_t>(count)));
  }

  void addGroup(const ColumnTile &column, int64_t part, bool last) {
    if (column.tiles.empty())
      return;
    // Rows end with a step of their own.
    const int64_t steps = llvm::divideCeilSigned(part, width) *
                          llvm::divideCeilSigned(std::min(part, width), lanes);
    const int64_t stream = std::max(
        static_cast<int64_t>(machine::peStream(machine, steps, passes, lanes)),
        claim(passes *
              accesses(steps, xBytes, stride, llvm::divideCeil(width, lanes))));
    int64_t busy = 0;
    for (const StationaryTile &tile : column.tiles)
      busy += static_cast<int64_t>(machine::peTile(
          machine, stream,
          machine::peLoad(machine, tile.rows, weightBytes).issue));
    const int64_t drain = std::max(
        static_cast<int64_t>(
            machine::actDrain(machine, column.cols, part, function).issue),
        claim(accesses(part, result.bytes(), 1, part) +
              (residual > 0 ? accesses(part, residual, 1, part) : 0)));
    const auto skew = static_cast<int64_t>(machine.pe.rows) + column.cols - 2;
    int64_t &bank = state.drained[groups % state.drained.size()];
    const int64_t end = std::max(state.arrayFree, bank) + busy;
    const bool first = groups++ == 0;
    // One pass keeps pace with the drain, piece by piece.
    const bool pieces =
        first || last || (column.tiles.size() == 1 && passes == 1);
    const int64_t count = pieces ? kPieces : 1;
    const int64_t start = end - stream + llvm::divideCeilSigned(stream, count);
    state.actFree = std::max(std::max(state.actFree, start + skew) + drain,
                             end + skew + llvm::divideCeilSigned(drain, count));
    state.arrayFree = end;
    bank = state.actFree + static_cast<int64_t>(machine.act.latency);
    state.cycles.array += busy;
    state.cycles.drain += drain;
    state.cycles.total = bank;
  }

  const machine::Description &machine;
  int64_t lanes, passes, weightBytes, positions, width, group;
  int64_t xBytes, stride, residual; ///< bytes, elements, bytes (0: none)
  StorageType result;
  machine::VecCost function;
  size_t groups = 0;
  State state;
};

} // namespace

DenseCycles denseCycles(npu::PeConvOp conv, const Lanes &lanes,
                        llvm::ArrayRef<ColumnTile> columns,
                        const machine::Description &machine) {
  DensePipeline pipeline(conv, lanes, machine);
  for (size_t i = 0; i < columns.size(); ++i)
    pipeline.add(columns[i], i + 1 == columns.size());
  return pipeline.take();
}

DenseCycles denseCycles(npu::PeConvOp conv, const Lanes &lanes,
                        const machine::Description &machine) {
  return denseCycles(conv, lanes, planStationary(productShape(conv), machine),
                     machine);
}

machine::VecCost drainFunction(mlir::Operation *product) {
  llvm::StringRef name =
      llvm::TypeSwitch<mlir::Operation *, llvm::StringRef>(product)
          .Case<npu::PeConvOp, npu::TcuConvOp, npu::PeMatmulOp>(
              [](auto op) { return op.getFunction(); })
          .Default([](mlir::Operation *) { return llvm::StringRef("copy"); });
  return machine::vecCostOf(name).value_or(machine::VecCost::VeryExpensive);
}

int64_t makingCycles(mlir::Value x, const Lanes &lanes,
                     const machine::Description &machine) {
  auto move = x.getDefiningOp<npu::DmaMoveOp>();
  if (!move)
    return 0;
  const OperationCycles own = moveCycles(move, lanes, machine);
  return std::max(own.copied(machine), own.vector);
}

int64_t encodeCycles(mlir::Value x, const Lanes &lanes,
                     const machine::Description &machine) {
  auto move = x.getDefiningOp<npu::DmaMoveOp>();
  if (!move || !storageOf(x).encoded ||
      llvm::any_of(move.getInputs(),
                   [](mlir::Value input) { return storageOf(input).encoded; }))
    return 0;
  return moveCycles(move, lanes, machine).vector;
}

llvm::SmallVector<Lanes, 6> laneFolds(int64_t channels, int64_t width,
                                      const machine::Description &machine) {
  int64_t rows = machine.pe.rows;
  llvm::SmallVector<Lanes, 6> lanes;
  if (rows > static_cast<int64_t>(machine.sb.partitions))
    return lanes;
  auto unit = static_cast<int64_t>(
      std::max<uint64_t>(machine.pe.rowGroupGranularity, 1));
  for (int64_t count = 2; count <= rows; ++count) {
    int64_t pitch = rows / count;
    if (rows % count == 0 && pitch % unit == 0 &&
        pitch % static_cast<int64_t>(machine.xmGroup) == 0 &&
        pitch >= channels && count <= width && count < 256)
      lanes.push_back({count, pitch});
  }
  return lanes;
}

} // namespace ashlar::analysis
