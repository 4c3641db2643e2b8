// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Array cycles of convolutions with stationary weights.

#include "ashlar/Analysis/DenseCycles.h"

#include "ashlar/Analysis/StorageType.h"
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

  void addGroup(const ColumnTile &column, int64_t part, bool last) {
    if (column.tiles.empty())
      return;
    // Rows end with a step of their own.
    const int64_t steps = llvm::divideCeilSigned(part, width) *
                          llvm::divideCeilSigned(std::min(part, width), lanes);
    const auto stream =
        static_cast<int64_t>(machine::peStream(machine, steps, passes, lanes));
    int64_t busy = 0;
    for (const StationaryTile &tile : column.tiles)
      busy += static_cast<int64_t>(machine::peTile(
          machine, stream,
          machine::peLoad(machine, tile.rows, weightBytes).issue));
    const auto drain = static_cast<int64_t>(
        machine::actDrain(machine, column.cols, part, function).issue);
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

int64_t encodeCycles(mlir::Value x, const Lanes &lanes,
                     const machine::Description &machine) {
  auto shape = shapeOf(x);
  auto move = x.getDefiningOp<npu::DmaMoveOp>();
  if (!move || !storageOf(x).encoded ||
      llvm::any_of(move.getInputs(),
                   [](mlir::Value input) { return storageOf(input).encoded; }))
    return 0;
  // Blocks run along the channels; lanes divide the last axis of a feature map.
  const auto axis = static_cast<size_t>(storageOf(x).blockAxis);
  int64_t positions = 1;
  for (size_t i = 0; i < shape.size(); ++i)
    if (i != axis)
      positions *= i + 1 == shape.size()
                       ? llvm::divideCeilSigned(shape[i], lanes.count)
                       : shape[i];
  const int64_t channels =
      lanes.folded() ? lanes.pitch * lanes.count : shape[axis];
  return static_cast<int64_t>(machine::vecMap(machine, machine::VecCost::Cheap,
                                              machine::VecStore::Encode,
                                              channels, positions)
                                  .issue);
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
