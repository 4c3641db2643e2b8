// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ways to lay a few-channel convolution into array rows, and what each
// costs: pure arithmetic on shapes (the stride fold and the lane fold of WFold
// convolution, and packing of whole kernels). Assumption: the last spatial axis
// is W; all others are loops of the array.

#ifndef ASHLAR_LIB_TRANSFORMS_NN_FOLDS_FOLDPLAN_H
#define ASHLAR_LIB_TRANSFORMS_NN_FOLDS_FOLDPLAN_H

#include "../MachineView.h"
#include "ashlar/Machine/Transfers.h"
#include "ashlar/Partition/TilePolicy.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace ashlar::nn {

/// Bytes of an element that a fold copies, before it is encoded.
inline constexpr int64_t kFloatBytes = 4;

/// Where the kernel is before the array reads it.
enum class KernelSource {
  Constant, ///< folded and encoded by the compiler,
  Dram,     ///< a float tensor in DRAM, or
  Chip      ///< one that the program computes
};

/// A convolution of one group. Shapes without batch and channels.
struct FoldConv {
  int64_t batch = 1, channels = 1, outputs = 1;
  llvm::SmallVector<int64_t, 3> input, kernel, output, strides, dilations;
  llvm::SmallVector<int64_t, 6> pads; ///< all begins, then all ends
  /// The input is encoded by a pass of its own in every case.
  bool inputIsFloat = true;
  /// The input lies in DRAM, else in the chip.
  bool inputInDram = true;
  KernelSource kernelSource = KernelSource::Constant;

  bool computesKernel() const { return kernelSource != KernelSource::Constant; }
  int64_t width() const { return input.back(); }
};

/// The stride fold of W (docs/decisions, width folds): the columns that a step
/// of the window passes become channels, W stride 1. Exact: the folded feature
/// map has Wo + (Kf - 1) * Df columns.
///
/// Selected phases: with g = gcd(Sw, Dw) taps meet only every g-th column, so
/// that Sw / g columns are folded and the dilation is Dw / g. One column is
/// left if the dilation is a multiple of the stride (or there is one tap): a
/// strided slice, whose taps keep their distance Df = Dw / Sw. A kernel that
/// spans no more than the stride becomes one folded tap of its Kw columns.
struct StrideFold {
  int64_t stride = 1;
  int64_t phases = 1;    ///< columns of a step that become channels,
  int64_t phaseStep = 1; ///< every so many
  /// Columns of zeros before the input, and after it; negative: cropped.
  int64_t padLow = 0, padHigh = 0;
  /// Zero taps in front of the kernel (form B), those between two of its taps,
  /// and its folded extent and dilation.
  int64_t leadingTaps = 0, interiorTaps = 0, kernel = 1, dilation = 1;
  /// Padding of the folded convolution, in folded columns.
  int64_t foldedLow = 0, foldedHigh = 0;
  /// Columns of the folded feature map.
  int64_t width = 0;
  /// Zero taps after the kernel, of `taps` taps.
  int64_t trailingTaps(int64_t taps) const {
    return phases == 1 ? 0
                       : kernel * phases - leadingTaps -
                             ((taps - 1) * (interiorTaps + 1) + 1);
  }
};

/// The columns of a step that are folded.
enum class Phases { All, Selected };

/// Form A: trailing zero taps, the input is padded or cropped to the exact
/// width while it is folded.
StrideFold trailingFold(const FoldConv &conv, Phases phases = Phases::All);

/// Form B: leading zero taps, the input is only viewed as folded columns; needs
/// a width that is a multiple of the stride and no crop (`valid` says so).
StrideFold leadingFold(const FoldConv &conv, bool &valid,
                       Phases phases = Phases::All);

/// What of the kernel becomes array rows.
enum class FoldKind {
  Plain,       ///< nothing: one tap at a time
  Width,       ///< the columns of a stride
  HeightWidth, ///< all kernel rows, and the columns of a stride
  PackTaps     ///< the whole kernel
};

/// One alternative with its predicted cycles.
struct FoldAlternative {
  FoldKind kind = FoldKind::Plain;
  StrideFold fold; ///< Width and HeightWidth
  int64_t channels = 1, taps = 1;
  int64_t lanes = 1;
  int64_t rows = 1;  ///< of results side by side in the columns
  int64_t array = 0; ///< cycles of the array,
  int64_t drain = 0; ///< and of the drain next to it
  // Before the array can start, side by side:
  int64_t encode = 0; ///< cycles of the vector unit,
  int64_t copy = 0;   ///< of copies in the chip,
  int64_t read = 0;   ///< of DRAM
  int64_t copiedBytes = 0;
  /// Cycles of DRAM before the array can start; those in which a kernel that is
  /// computed is laid into rows.
  int64_t weights = 0;
  int64_t latency = 0; ///< cycles that nothing hides
  int64_t first = 0;   ///< array cycles before the drain can start
  int64_t last = 0;    ///< drain cycles after the array
  // Of a feature map that is gathered inside the chip (0 tiles: it is not):
  int64_t tiles = 0; ///< it comes in so many tiles,
  int64_t slots = 1; ///< so many of them in memory at a time;
  int64_t fill = 0;  ///< cycles of zeros around windows, of all tiles
  /// The feature map does not fit next to the tiles and passes through DRAM,
  /// with cycles to write it, and those to write the results.
  bool spilled = false;
  int64_t store = 0, resultStore = 0;
  /// Cycles in which results that have no room go to DRAM, next to the array.
  int64_t leave = 0;
  /// The encoded map leaves no memory to load during the encode.
  bool serial = false;
  int64_t bands = partition::kOverlapTiles; ///< of a load, without `serial`

  /// Input and result phases follow each other: the scale exponent of the
  /// input is known only after its last encode.
  int64_t total() const {
    int64_t work = std::max(array + last, drain + first);
    work = spilled ? work + store + resultStore : std::max(work, leave);
    return latency + weights + (tiles ? gathered() : loaded()) + work;
  }

private:
  /// Input phase of a load that folds: the longest counts; the first tile is
  /// only read and the last only encoded.
  int64_t loaded() const {
    int64_t source = read + copy;
    return std::max(encode, source) +
           std::min(encode, source) / (serial ? 1 : bands);
  }
  /// Of a gather: a tile is filled, read and copied, one after the other, and
  /// encoded in parallel with the next if there is room for two.
  int64_t gathered() const {
    // DRAM serves in program order: the next read waits for the write.
    if (spilled)
      return read + copy + encode + store + tiles * readLatency;
    int64_t source = (fill + read + copy) / tiles + readLatency;
    int64_t own = encode / tiles;
    if (slots < 2)
      return tiles * (source + own);
    return source + (tiles - 1) * std::max(source, own) + own;
  }

public:
  /// Cycles from the request of a tile to its first byte.
  int64_t readLatency = 0;
};

/// "plain", "stride-fold", "phase-fold" (of selected phases), "strided-slice"
/// (one phase is left), "lane-fold" (a stride of 1 has nothing to fold), ...
llvm::StringRef name(const FoldAlternative &alternative);

/// The most lanes of at least `channels` rows.
int64_t lanesFor(int64_t channels, int64_t width, const MachineView &machine);

/// The terms of a feature map that is gathered inside the chip: tiles, fill,
/// read and copy. False, and nothing added, if a load from DRAM can gather it.
bool addGatherCosts(const FoldConv &conv, const MachineView &machine,
                    FoldAlternative &plan);

/// Rows of the feature map that is encoded, and its columns.
std::pair<int64_t, int64_t> encodedMap(const FoldConv &conv,
                                       const FoldAlternative &plan);

/// The terms of windows that a load folds, every element fetched once in each
/// band of rows. False if windows share more than rows of one axis, or two
/// bands have no room beside the encoded map.
bool addWindowLoad(const FoldConv &conv, const MachineView &machine,
                   FoldAlternative &plan);

/// The copies that lay `rows` rows of `columns` folded columns into partitions:
/// one transfer from where the windows lie, in DRAM or staged in the chip.
machine::Transfer foldTransfer(const FoldConv &conv,
                               const FoldAlternative &plan, int64_t rows,
                               int64_t columns, const MachineView &machine);

/// Cycles of `transfer` on all queues, in the order and the parts that code
/// generation gives it.
int64_t transferCycles(machine::Transfer transfer, const MachineView &machine);

/// Cycles in which one queue clears what `rows` rows of `columns` columns leave
/// open in lanes before they are encoded.
int64_t clearCycles(const FoldAlternative &plan, int64_t rows, int64_t columns,
                    const MachineView &machine);

/// Cycles in which a kernel that is computed at run time is read, laid into the
/// rows of \p plan and encoded.
int64_t kernelCycles(const FoldConv &conv, const FoldAlternative &plan,
                     const MachineView &machine);

/// Elements of the kernel in each partition of its channels.
int64_t kernelElements(const FoldConv &conv, const FoldAlternative &plan,
                       const MachineView &machine);

/// True if the kernel is a constant, which streams through the ring of weights,
/// or its mantissas, of up to two bytes, take at most half of a partition.
bool kernelFits(const FoldConv &conv, const FoldAlternative &plan,
                const MachineView &machine);

/// The convolution as it is, without costs.
FoldAlternative plainAlternative(const FoldConv &conv);

/// All alternatives for a convolution; Plain comes first. `lanes` false: none
/// uses row groups.
llvm::SmallVector<FoldAlternative, 4>
foldAlternatives(const FoldConv &conv, const MachineView &machine, bool lanes);

/// Cycles of the busier of array and drain for the convolution as it is, next
/// to others, with the rows of results side by side that end first.
int64_t resultCycles(const FoldConv &conv, const MachineView &machine);

/// Cycles that the convolution takes at least as it is, on the sparse cluster:
/// `plain` with the multiplications of `nonZeros` weights in place of the
/// array's, and nothing that the cluster waits for. 0: there is no cluster.
int64_t leastOnCluster(const FoldConv &conv, const FoldAlternative &plain,
                       int64_t nonZeros, const MachineView &machine);

/// Useful share of the array's multipliers, by cause: product = utilisation.
struct FoldUtilisation {
  double tap = 1;     ///< real taps of those multiplied
  double lane = 1;    ///< rows used
  double width = 1;   ///< row ends
  double channel = 1; ///< columns used
};
FoldUtilisation utilisation(const FoldConv &conv,
                            const FoldAlternative &alternative,
                            const MachineView &machine);

} // namespace ashlar::nn

#endif // ASHLAR_LIB_TRANSFORMS_NN_FOLDS_FOLDPLAN_H
