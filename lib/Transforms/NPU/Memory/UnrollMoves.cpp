// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A movement is cut into tiles along an axis that one loop of every pattern
// addresses. A reshape that joins two axes leaves an axis of two loops, which
// has to fit memory as a whole. With one pattern for each iteration of the
// outer loop there is a single loop left, and tiles may be as small as one
// position. Input: moves of npu; output: the same with more patterns.

#include "MemoryPlanner.h"

#include "ashlar/Analysis/Layout/MoveView.h"
#include "ashlar/Analysis/Layout/StorageType.h"
#include "dialects/NPU/AccessPattern.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

#include <cstdlib>

using namespace mlir;

namespace ashlar::npu {
namespace {

/// Patterns that a movement may become: each is looked at for every tile.
constexpr size_t kMostPatterns = 1024;

/// The outer one of several loops of `pattern` along one axis of the result
/// other than `blocks`; nothing if no axis has several.
std::optional<size_t> loopToUnroll(const AccessPattern &pattern,
                                   int64_t blocks) {
  std::optional<size_t> outer;
  auto step = [&](size_t i) { return std::abs(pattern.dims[i].resultStep); };
  for (size_t i = 0; i < pattern.dims.size(); ++i)
    for (size_t j = 0; j < pattern.dims.size(); ++j) {
      const PatternDim &a = pattern.dims[i], &b = pattern.dims[j];
      if (i != j && a.resultAxis == b.resultAxis && a.resultAxis != blocks &&
          a.extent > 1 && b.extent > 1 && step(i) > step(j) &&
          (!outer || step(i) > step(*outer)))
        outer = i;
    }
  return outer;
}

/// `patterns` with one loop of each axis at most; nothing if that takes too
/// many, or if they are so already.
std::optional<SmallVector<AccessPattern, 4>>
unrolled(ArrayRef<Attribute> patterns, int64_t blocks) {
  SmallVector<AccessPattern, 4> done, open;
  for (Attribute attr : llvm::reverse(patterns))
    open.push_back(
        *AccessPattern::fromArray(cast<DenseI64ArrayAttr>(attr).asArrayRef()));
  while (!open.empty()) {
    AccessPattern pattern = open.pop_back_val();
    const std::optional<size_t> loop = loopToUnroll(pattern, blocks);
    if (!loop) {
      done.push_back(std::move(pattern));
      continue;
    }
    const PatternDim dim = pattern.dims[*loop];
    if (done.size() + open.size() + static_cast<size_t>(dim.extent) >
        kMostPatterns)
      return std::nullopt;
    pattern.dims.erase(pattern.dims.begin() + *loop);
    // The last one first: they are taken from the end.
    for (int64_t i = dim.extent; i-- > 0;) {
      AccessPattern one = pattern;
      one.resultStart[dim.resultAxis] += i * dim.resultStep;
      if (dim.sourceAxis >= 0)
        one.sourceStart[dim.sourceAxis] += i * dim.sourceStep;
      open.push_back(std::move(one));
    }
  }
  if (done.size() == patterns.size())
    return std::nullopt;
  return done;
}

} // namespace

bool unrollMoves(ModuleOp module) {
  bool changed = false;
  module.walk([&](DmaMoveOp op) {
    // What other passes have chosen for the patterns as they were, such as a
    // view, stays.
    if (analysis::isView(op))
      return;
    const analysis::StorageType type = analysis::storageOf(op.getY());
    const auto patterns = unrolled(op.getPatterns().getValue(),
                                   type.encoded ? type.blockAxis : -1);
    if (!patterns)
      return;
    Builder builder(op.getContext());
    op.setPatternsAttr(builder.getArrayAttr(llvm::map_to_vector(
        *patterns, [&](const AccessPattern &pattern) -> Attribute {
          const auto rank = static_cast<int64_t>(
              analysis::shapeOf(op.getInputs()[pattern.operand]).size());
          return builder.getDenseI64ArrayAttr(pattern.toArray(rank));
        })));
    changed = true;
  });
  return changed;
}

} // namespace ashlar::npu
