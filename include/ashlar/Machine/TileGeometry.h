// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the pixels of a tile lie in a feature-map unit, and which of them a tap
// of the kernel meets: phase planes for strides, shifts for dilation, halo
// (docs/Machine.md 7). Shared by the footprints, the cycle formulas, the
// emulator and the compiler.

#ifndef ASHLAR_MACHINE_TILEGEOMETRY_H
#define ASHLAR_MACHINE_TILEGEOMETRY_H

#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace ashlar::machine {

/// One axis of a kernel with stride s and dilation d. Tap k of result t meets
/// input t*s + k*d - pad, which is element t + (k*d div s) of the phase
/// (k*d) mod s. Only phases that a tap uses exist.
struct AxisPhases {
  AxisPhases() = default;
  AxisPhases(uint64_t kernel, uint64_t stride, uint64_t dilation);

  struct Phase {
    uint64_t residue = 0; ///< (k*d) mod s of its taps.
    uint64_t halo = 0;    ///< Largest shift of its taps.
  };
  struct Tap {
    uint32_t phase = 0; ///< Index of its phase.
    uint64_t shift = 0; ///< Elements.
  };
  llvm::SmallVector<Phase, 4> phases; ///< By ascending residue.
  llvm::SmallVector<Tap, 8> taps;
  uint64_t stride = 1;

  /// Elements along this axis, over all phases, after \p results results.
  uint64_t extent(uint64_t results) const;
  /// The first of those of phase \p phase.
  uint64_t base(uint64_t phase, uint64_t results) const;
  /// The input coordinate of element \p i of \p phase for results from
  /// \p first on.
  int64_t source(uint64_t phase, uint64_t i, uint64_t first,
                 int64_t pad) const {
    return static_cast<int64_t>((first + i) * stride + phases[phase].residue) -
           pad;
  }
};

/// A slot: one channel of a tile of `images` x `rows` x `cols` results. Element
/// (n, R, C) is at (n * height + R) * width + C, R and C counted over the
/// phases one after the other.
struct TileGeometry {
  AxisPhases h, w;
  uint64_t images = 1, rows = 1, cols = 1;

  uint64_t height() const { return h.extent(rows); }
  uint64_t width() const { return w.extent(cols); }
  uint64_t slotElements() const { return images * height() * width(); }
  /// Results of a tile: entries of an accumulator region.
  uint64_t results() const { return images * rows * cols; }
  /// Elements that a tile of \p tileRows x \p tileCols results needs.
  uint64_t loadedElements(uint64_t tileImages, uint64_t tileRows,
                          uint64_t tileCols) const {
    return tileImages * h.extent(tileRows) * w.extent(tileCols);
  }
  /// Runs in which one channel of them is moved: a row of each phase, between
  /// which the memory unit deals elements out in turn; or elements, where they
  /// lie \p apart.
  uint64_t loadedRuns(uint64_t tileImages, uint64_t tileRows, uint64_t tileCols,
                      bool apart) const {
    return tileImages * h.extent(tileRows) *
           (apart ? w.extent(tileCols) : w.phases.size());
  }
  /// The element that tap (ky, kx) of the first result meets; that of result
  /// (n, y, x) is n * height * width + y * width + x further on.
  uint64_t tapElement(uint64_t ky, uint64_t kx) const {
    return (h.base(h.taps[ky].phase, rows) + h.taps[ky].shift) * width() +
           w.base(w.taps[kx].phase, cols) + w.taps[kx].shift;
  }
};

/// Planes of exponent cells that \p channels channels touch when the first has
/// \p before channels of its block before it. \p block > 0.
inline uint64_t cellPlanes(uint64_t before, uint64_t channels, uint64_t block) {
  return (before + channels + block - 1) / block - before / block;
}

} // namespace ashlar::machine

#endif // ASHLAR_MACHINE_TILEGEOMETRY_H
