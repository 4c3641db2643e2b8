// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows that reach over an end of their operand are read from a copy with
// zeros around it, or from where the operand lies, one access pattern for the
// windows inside and one for each that reaches over an end (see Passes.td).
// Input: npu operations with their lane folds. Output: the patterns and the
// fill of movements that read in place, and a decision.

#include "ashlar/Analysis/Cost/OperationCycles.h"
#include "ashlar/Analysis/Layout/Lanes.h"
#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "ashlar/Partition/TilePolicy.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/Ashlar/Decision.h"
#include "dialects/NPU/AccessPattern.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

#include <optional>

namespace ashlar::npu {
#define GEN_PASS_DEF_READWINDOWS
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;

namespace {

using Patterns = llvm::SmallVector<AccessPattern, 8>;

/// Patterns beyond which their copies are not compared any more: windows over
/// an end are few, or the map is.
constexpr size_t kMostPatterns = 64;

/// Iterations [first, first + count) of a loop.
void narrow(AccessPattern &pattern, size_t dim, int64_t first, int64_t count) {
  PatternDim &loop = pattern.dims[dim];
  pattern.sourceStart[loop.sourceAxis] += first * loop.sourceStep;
  pattern.resultStart[loop.resultAxis] += first * loop.resultStep;
  loop.extent = count;
}

/// The loops of `pattern` along one axis of its source: over the taps of a
/// window, if it has several, and over positions.
struct WindowLoops {
  std::optional<size_t> tap;
  size_t position = 0;
};

/// Nothing if the loops along `axis` are others, or step back.
std::optional<WindowLoops> windowLoops(const AccessPattern &pattern,
                                       int64_t axis) {
  std::optional<size_t> tap, position;
  for (auto [i, loop] : llvm::enumerate(pattern.dims)) {
    if (loop.sourceAxis != axis)
      continue;
    std::optional<size_t> &kind = loop.resultAxis == axis ? position : tap;
    if (kind || loop.sourceStep <= 0)
      return std::nullopt;
    kind = i;
  }
  if (!position)
    return std::nullopt;
  return WindowLoops{tap, *position};
}

/// Adds the parts of `pattern` whose windows along `axis`, of `extent`
/// elements, lie inside of it: the windows over an end one by one, without the
/// taps outside, the others together. False if it has no windows there.
bool cutWindows(const AccessPattern &pattern, int64_t axis, int64_t extent,
                Patterns &parts) {
  const std::optional<WindowLoops> loops = windowLoops(pattern, axis);
  if (!loops)
    return false;
  const PatternDim &position = pattern.dims[loops->position];
  const int64_t taps = loops->tap ? pattern.dims[*loops->tap].extent : 1;
  const int64_t step = loops->tap ? pattern.dims[*loops->tap].sourceStep : 1;
  auto add = [&](int64_t first, int64_t count, int64_t begin, int64_t end) {
    AccessPattern part = pattern;
    narrow(part, loops->position, first, count);
    if (loops->tap)
      narrow(part, *loops->tap, begin, end - begin);
    parts.push_back(std::move(part));
  };
  int64_t firstInside = 0, inside = 0;
  for (int64_t i = 0; i < position.extent; ++i) {
    const int64_t at = pattern.sourceStart[axis] + i * position.sourceStep;
    const int64_t begin = at >= 0 ? 0 : llvm::divideCeil(-at, step);
    const int64_t end =
        at >= extent ? 0 : std::min((extent - 1 - at) / step + 1, taps);
    if (begin == 0 && end == taps) {
      firstInside = inside == 0 ? i : firstInside;
      ++inside;
    } else if (begin < end) {
      add(i, 1, begin, end);
    }
    if (parts.size() > kMostPatterns)
      return false;
  }
  if (inside > 0)
    add(firstInside, inside, 0, taps);
  return true;
}

/// `pattern` in parts that read nothing outside of an operand of `shape`;
/// nothing if that takes other than windows, or too many parts.
std::optional<Patterns> insideParts(const AccessPattern &pattern,
                                    llvm::ArrayRef<int64_t> shape) {
  Patterns parts{pattern};
  for (auto [axis, extent] : llvm::enumerate(shape)) {
    int64_t low = pattern.sourceStart[axis], high = low;
    for (const PatternDim &dim : pattern.dims)
      if (dim.sourceAxis == static_cast<int64_t>(axis))
        (dim.sourceStep < 0 ? low : high) += (dim.extent - 1) * dim.sourceStep;
    if (low >= 0 && high < extent)
      continue;
    Patterns cut;
    for (const AccessPattern &part : parts)
      if (!cutWindows(part, static_cast<int64_t>(axis), extent, cut) ||
          cut.size() > kMostPatterns)
        return std::nullopt;
    parts = std::move(cut);
  }
  return parts;
}

/// What the tiles of a staged operand wait for one after the other, where there
/// are several: the copy of each, before it is gathered.
int64_t tileLatencies(DmaMoveOp move, const analysis::Lanes &lanes,
                      const machine::Description &machine) {
  const analysis::Shape stored =
      analysis::storedShape(analysis::shapeOf(move.getY()), lanes);
  const int64_t floats = analysis::bufferBytes(analysis::f32Storage(), stored,
                                               *axisOf(move), machine);
  if (floats <= partition::kOverlapBytes)
    return 0;
  const bool outside = !move.getInputs()[0].getDefiningOp<DecisionInterface>();
  return (partition::kOverlapTiles - 1) *
         static_cast<int64_t>(outside ? machine.dram.latency
                                      : machine.dma.onchipLatency);
}

struct ReadWindowsPass : impl::ReadWindowsBase<ReadWindowsPass> {
  void runOnOperation() override {
    auto machine = assignedMachineOf(getOperation());
    if (failed(machine))
      return signalPassFailure();
    getOperation().walk([&](DmaMoveOp move) { decide(move, *machine); });
  }

  void decide(DmaMoveOp move, const machine::Description &machine) {
    if (move.getFill() || move.getPatterns().size() != 1 ||
        analysis::storageOf(move.getInputs()[0]).encoded)
      return;
    const ArrayAttr whole = move.getPatterns();
    const AccessPattern pattern = *AccessPattern::fromArray(
        cast<DenseI64ArrayAttr>(whole[0]).asArrayRef());
    const llvm::ArrayRef<int64_t> shape =
        analysis::shapeOf(move.getInputs()[pattern.operand]);
    const std::optional<Patterns> parts = insideParts(pattern, shape);
    if (!parts || parts->empty() || parts->size() == 1)
      return;
    const analysis::Lanes lanes = analysis::lanesOf(move.getY());
    const int64_t staged =
        analysis::moveCycles(move, lanes, machine).copied(machine) +
        tileLatencies(move, lanes, machine);
    Builder builder(move.getContext());
    llvm::SmallVector<Attribute> attributes;
    for (const AccessPattern &part : *parts)
      attributes.push_back(
          builder.getDenseI64ArrayAttr(part.toArray(shape.size())));
    move.setPatternsAttr(builder.getArrayAttr(attributes));
    move.setFillAttr(builder.getF64FloatAttr(0.0));
    const bool direct =
        analysis::buildTilingModel(move, machine).operands[0].direct;
    const int64_t inPlace =
        analysis::moveCycles(move, lanes, machine).copied(machine);
    const bool better = direct && inPlace < staged;
    if (!better) {
      move.setPatternsAttr(whole);
      move.removeFillAttr();
    }
    if (direct)
      explain(move, better, staged, inPlace);
    numInPlace += better;
  }

  static void explain(DmaMoveOp move, bool better, int64_t staged,
                      int64_t inPlace) {
    records::Decision(move.getContext(), better ? "in-place" : "staged",
                      better
                          ? "windows are read where the operand lies, every "
                            "element once"
                          : "copies of the windows over the ends take longer "
                            "than one more copy of the operand")
        .alternative("in-place", inPlace)
        .alternative("staged", staged)
        .record(move, "ashlar.decision.windows");
  }
};

} // namespace
} // namespace ashlar::npu
