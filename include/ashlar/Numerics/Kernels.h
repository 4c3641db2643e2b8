// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Row kernels of the emulator: one table of function pointers per instruction
// set, the scalar one being the reference. Every table gives the same bits for
// every legal input (docs/Numerics.md 11); the kernel test walks all rows of
// this table.

#ifndef ASHLAR_NUMERICS_KERNELS_H
#define ASHLAR_NUMERICS_KERNELS_H

#include "ashlar/Numerics/Encode.h"
#include "ashlar/Numerics/Function.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace ashlar::numerics {

/// Width of the aligned integers of a matrix operand.
enum class OperandWidth : uint8_t {
  Int16, ///< |v| < 2^15
  Int32, ///< |v| < 2^30 (the widest aligned integer: W = 16, D = 15)
};

/// A matrix of aligned integers, row-major. `pitch` is in elements.
struct IntegerMatrix {
  OperandWidth width = OperandWidth::Int16;
  const void *data = nullptr; ///< const int16_t* or const int32_t*
  size_t pitch = 0;
};

/// 64-byte aligned storage, grown as needed and kept between uses.
struct PackedBuffer {
  std::unique_ptr<uint8_t[]> storage;
  size_t capacity = 0;
  size_t size = 0; ///< Of the last reserve().
  uint8_t *bytes = nullptr;

  /// Makes `bytes` point to at least `size` aligned bytes (contents lost).
  void reserve(size_t newSize);
};

/// A stationary operand S[rows][cols] in the layout of one kernel table. May
/// be reused by any number of gemm calls (also concurrently) of that table.
struct PackedStationary : PackedBuffer {
  size_t rows = 0;
  size_t cols = 0;
  OperandWidth width = OperandWidth::Int16;
  /// Number of 8-bit planes stored; private to the table.
  unsigned planes = 0;
  /// Stored bytes and the shifts of their blocks instead of aligned integers.
  bool inBlocks = false;
};

/// Ranges of steps of a packed moving operand start at multiples of this.
inline constexpr size_t kMovingUnit = 16;
/// Ranges of rows of a packed moving operand start at multiples of this.
inline constexpr size_t kMovingRowUnit = 4;
/// Rows of a block, which all have the same exponents.
inline constexpr size_t kBlockRows = 16;
/// The largest range of an operand in blocks.
inline constexpr int kBlockRange = 7;

/// A moving operand M[rows][steps] in the layout of one kernel table, for use
/// with several stationary operands.
struct PackedMoving : PackedBuffer {
  size_t rows = 0;
  size_t steps = 0;
  OperandWidth width = OperandWidth::Int16;
  /// As in PackedStationary.
  bool inBlocks = false;
};

/// One product of a sum. All products of a sum have equally many columns and
/// steps.
struct PackedProduct {
  const PackedStationary *stationary = nullptr;
  const PackedMoving *moving = nullptr;
};

/// What KernelTable::drainSums has to know of a sum besides its columns, in the
/// layout of one kernel table. Holds pointers into the operands.
struct PlannedSums : PackedBuffer {
  size_t steps = 0;
};

/// Rows [row, row + rows) of steps [first, first + steps).
struct MovingRange {
  size_t row = 0, rows = 0;
  size_t first = 0, steps = 0;
};

/// What mantissas of `mantissa` bits are aligned to: a scale exponent, kept
/// exactly over `range` octaves (docs/Numerics.md 3).
struct Alignment {
  int scale = 0, mantissa = 8, range = 0;
};

/// Rows of a matrix, `pitch` elements apart.
template <typename T>
struct PitchedRows {
  T *first = nullptr;
  ptrdiff_t pitch = 0;

  PitchedRows from(size_t column) const { return {first + column, pitch}; }
};

/// Where blocks of `count` elements are encoded to, side by side: element i of
/// block t goes to mant[i][t], its cell to cells[t]; what happened merges into
/// *stats.
template <typename T>
struct BlockColumns {
  size_t count = 0;
  int mantissa = 8;
  T *const *mant = nullptr;
  int8_t *cells = nullptr;
  EncodeStats *stats = nullptr;
};

/// Stored one-byte mantissas as rows that share their exponent cells. Row i is
/// mant + i * pitch. Step t is read only if bit t % 32 of valid[t / 32] is set.
struct StoredRows {
  const int8_t *mant = nullptr;
  ptrdiff_t pitch = 0;
  const int8_t *cells = nullptr;
  const uint32_t *valid = nullptr;
  Alignment alignment;

  bool isValid(size_t t) const { return valid[t / 32] >> (t % 32) & 1; }
};

/// Stored one-byte mantissas of a stationary operand. Row i is mant + i *
/// pitch; the first `firstRows` rows share cells, and then each `groupRows`
/// rows share those that lie `cellPitch` after the ones before.
struct StoredMatrix {
  const int8_t *mant = nullptr;
  ptrdiff_t pitch = 0;
  const int8_t *cells = nullptr;
  ptrdiff_t cellPitch = 0;
  size_t firstRows = 0, groupRows = 0;
  Alignment alignment;
};

/// Epilogue of one accumulator row (docs/Numerics.md 6), in this order:
/// convert, * scale, + bias, + residual, function.
struct EpilogueRow {
  int exponent = 0; ///< value = acc * 2^exponent
  bool hasScale = false;
  bool hasBias = false;
  float scale = 1;
  float bias = 0;
  const float *residual = nullptr; ///< n values, or null
  Function function = Function::Copy;
  float alpha = 0;
  float beta = 0;
};

/// Epilogue of one accumulator row whose parameters go by step: element t is
/// acc[t] * 2^exponents[t], * scales[t], + biases[t], + residual[t], function.
/// Null: that operation is left out.
struct EpilogueSteps {
  const int32_t *exponents = nullptr;
  const float *scales = nullptr;
  const float *biases = nullptr;
  const float *residual = nullptr;
  Function function = Function::Copy;
  float alpha = 0;
  float beta = 0;
};

/// Rows of a block that KernelTable::drain8 takes at most.
inline constexpr size_t kDrainRows = 64;

/// Coefficients that add to the same sums. Those of pair k multiply elements
/// elements[2 * k] and elements[2 * k + 1]; the low half of values[k] belongs
/// to the first of them. The magnitudes of all values add up to at most 65535,
/// so that sums of 16-bit elements fit 32 bits.
struct TileTaps {
  const uint32_t *elements = nullptr;
  const uint32_t *values = nullptr;
  size_t pairs = 0;
  int shift = 0; ///< Of the sums.
};

/// The tile of a unit: its size, and the distances of its images and lines in
/// elements and in sums.
struct TileShape {
  size_t images = 0, rows = 0, cols = 0;
  size_t image = 0, line = 0;
  size_t sumImage = 0, sumLine = 0;
};

/// Sums of rounding errors that are kept side by side.
inline constexpr size_t kErrorLanes = 8;

/// The weights of an output channel: `rows` rows of `rowLength` elements one
/// after the other, each cut into blocks on its own.
struct WeightBlocks {
  const float *values = nullptr;
  size_t rows = 0, rowLength = 0, blockLength = 0;
  /// Largest magnitude of each block, row by row, and of all, which is > 0.
  const float *tops = nullptr;
  float top = 0;
  int mantissa = 8, range = 0;
};

/// Errors and their squares by lane, in units of the channel's exponent.
struct RoundingErrors {
  float plain[kErrorLanes] = {}, square[kErrorLanes] = {};
};

/// Elements after the last one of a tile that sweepTile may read.
inline constexpr size_t kTileSlack = 32;

/// A position of windows along the width: the results from `begin` on, `count`
/// of them, take a column each, the first of them column `column`.
struct WindowTap {
  size_t column, begin, count;
};

/// Windows side by side, `step` columns apart, on some lines of a map.
struct MaxWindows {
  size_t lines, columns, width; ///< `width` results.
  size_t step;
  int mantissa;
  const WindowTap *taps; ///< In the order of the window.
  size_t tapCount;
};
/// Floats around the columns of windowMaxima8() that kernels may read.
inline constexpr size_t kWindowSlack = 64;

/// All row kernels of one instruction set. n may be 0 and of any size,
/// mantissas lie at any byte address, all else is aligned to its type; outputs
/// may be an input itself where element types agree, but must not overlap
/// partly. No kernel allocates except gemm's thread-local scratch.
struct KernelTable {
  llvm::StringRef name;

  /// out[t] = align(fetch(mant[t]), cells[t], alignment); adds to *saturated.
  /// The 16-bit outputs require W - 1 + D <= 15.
  void (*align8To16)(const int8_t *mant, const int8_t *cells, size_t n,
                     Alignment alignment, int16_t *out, uint64_t *saturated);
  void (*align8To32)(const int8_t *mant, const int8_t *cells, size_t n,
                     Alignment alignment, int32_t *out, uint64_t *saturated);
  void (*align16To16)(const int16_t *mant, const int8_t *cells, size_t n,
                      Alignment alignment, int16_t *out, uint64_t *saturated);
  void (*align16To32)(const int16_t *mant, const int8_t *cells, size_t n,
                      Alignment alignment, int32_t *out, uint64_t *saturated);

  /// align8To16 of `rows` rows that share their cells, which is what a block
  /// does to its channels.
  void (*alignGroup8To16)(PitchedRows<const int8_t> mant, size_t rows,
                          const int8_t *cells, size_t n, Alignment alignment,
                          PitchedRows<int16_t> out, uint64_t *saturated);

  /// out[t] = the element at src + t * stride bytes.
  void (*gather8)(const void *src, ptrdiff_t stride, size_t n, void *out);
  void (*gather16)(const void *src, ptrdiff_t stride, size_t n, void *out);
  void (*gather32)(const void *src, ptrdiff_t stride, size_t n, void *out);

  /// Prepares S[i][c] = values[i * pitch + c] for gemm.
  void (*packStationary)(const IntegerMatrix &values, size_t rows, size_t cols,
                         PackedStationary &out);
  /// packStationary of what alignGroup8To16 makes of the rows, in blocks where
  /// the table has them and cells allow it; false if one of their elements may
  /// saturate, which is then to be counted. Null in tables that have nothing
  /// faster than both.
  bool (*packStoredStationary)(const StoredMatrix &values, size_t rows,
                               size_t cols, PackedStationary &out);
  /// Aligned integers instead of blocks: for operands that are not in blocks,
  /// which otherwise do this for every product. Null in tables without blocks.
  void (*leaveBlocks)(PackedStationary &set);
  /// acc[c * accPitch + t] (+)= sum over i < rows of S[i][c] * M[i][t] for
  /// t < steps, exact in int64. rows = S.rows.
  void (*gemm)(const PackedStationary &stationary, const IntegerMatrix &moving,
               size_t steps, int64_t *acc, size_t accPitch, bool accumulate);

  /// Gives `out` its shape and storage; the contents are undefined.
  void (*startMoving)(size_t rows, size_t steps, OperandWidth width,
                      PackedMoving &out);
  /// Packs `values`, range.rows x range.steps, into that range of `out`.
  /// Disjoint ranges may be packed at the same time. `row` is a multiple of
  /// kMovingRowUnit and `first` of kMovingUnit, and so are `rows` and `steps`
  /// unless the range is the last.
  void (*packMoving)(const IntegerMatrix &values, const MovingRange &range,
                     PackedMoving &out);
  /// startMoving of an operand in blocks, which packStored then packs, the rows
  /// of a block from the first one on. Null in tables without.
  void (*startBlocks)(size_t rows, size_t steps, PackedMoving &out);
  /// packMoving of what alignGroup8To16 makes of the rows; steps that are not
  /// valid are zero. For operands of 16 bits. Blocks cannot hold an element
  /// that saturates, or rows of different exponents: *saturated grows if there
  /// may be one, and the operand has to be packed again from startMoving on.
  void (*packStored)(const StoredRows &rows, const MovingRange &range,
                     PackedMoving &out, uint64_t *saturated);
  /// The sum of the gemms of `count` > 0 products with steps
  /// [first, first + steps) of their packed operands; acc belongs to step
  /// `first`, a multiple of kMovingUnit.
  void (*gemmPacked)(const PackedProduct *products, size_t count, size_t first,
                     size_t steps, int64_t *acc, size_t accPitch,
                     bool accumulate);

  /// Plans `steps` steps of a sum from step `first` on, a multiple of
  /// kMovingUnit, for drainSums; false if the operands need gemmPacked. Null,
  /// like drainSums, in tables that have nothing faster than it.
  bool (*planSums)(const PackedProduct *products, size_t count, size_t first,
                   size_t steps, PlannedSums &out);
  /// drain8 of to.count <= kDrainRows columns of a planned sum, from `column`
  /// on, a multiple of 8, whose rows have one function. Writes no sum to
  /// memory.
  void (*drainSums)(const PlannedSums &sums, size_t column,
                    const EpilogueRow *rows, BlockColumns<int8_t> to);

  /// out[t] = accToFloat(acc[t], exponent).
  void (*accToFloatRow)(const int64_t *acc, size_t n, int exponent, float *out);
  /// The whole epilogue of one row.
  void (*epilogue)(const int64_t *acc, size_t n, const EpilogueRow &params,
                   float *out);

  /// The same with parameters that go by step.
  void (*epilogueSteps)(const int64_t *acc, size_t n,
                        const EpilogueSteps &params, float *out);
  /// encode8 of the epilogues of to.count <= kDrainRows rows: row i is made of
  /// acc[i] with rows[i]. What stays in the registers and the first cache level
  /// needs no buffer for the floats.
  void (*drain8)(const int64_t *const *acc, const EpilogueRow *rows, size_t n,
                 BlockColumns<int8_t> to);

  /// out[t] = decode(fetch(mant[t]), cells[t], W).
  void (*decode8)(const int8_t *mant, const int8_t *cells, size_t n,
                  int mantissa, float *out);
  void (*decode16)(const int16_t *mant, const int8_t *cells, size_t n,
                   int mantissa, float *out);

  /// Encodes n blocks side by side: block t is rows[0..to.count-1][t].
  void (*encode8)(const float *const *rows, size_t n, BlockColumns<int8_t> to);
  void (*encode16)(const float *const *rows, size_t n,
                   BlockColumns<int16_t> to);

  /// Encodes n values that lie one after another as blocks of `block` > 0, the
  /// last one of what is left. Writes n mantissas and a cell for each block,
  /// merges into *stats.
  void (*encodeLine)(const float *values, size_t n, size_t block, int mantissa,
                     int16_t *mant, int8_t *cells, EncodeStats *stats);

  /// out[t] = apply(function, in[t], alpha, beta).
  void (*unary)(Function function, const float *in, size_t n, float alpha,
                float beta, float *out);
  /// out[t] = apply(function, a[t], b[t]).
  void (*binary)(BinaryFunction function, const float *a, const float *b,
                 size_t n, float *out);
  /// out[t] = apply(function, a[t], b).
  void (*binaryImmediate)(BinaryFunction function, const float *a, float b,
                          size_t n, float *out);
  /// acc[t] = reduceStep(reduction, acc[t], in[t]); not for ArgMax/ArgMin.
  void (*reduceStep)(Reduction reduction, const float *in, size_t n,
                     float *acc);

  /// out[i] = the maximum of window i, of elements that decode8() gives, by the
  /// steps of reduceStep(): of the lines in their order, and then of columns.
  /// `columns` has room for kWindowSlack floats before and after those of the
  /// window, whose contents do not matter.
  void (*windowMaxima8)(const int8_t *const *mant, const int8_t *const *cells,
                        const MaxWindows &windows, float *columns, float *out);

  /// Adds to the sum of every place of the tile 2^shift times the products of
  /// all coefficients with the elements that lie as far from the place's own,
  /// slots[0] for the first, as the taps say. Sums wrap.
  void (*sweepTile)(const int16_t *slots, const TileTaps &taps,
                    const TileShape &shape, int64_t *sums);

  /// What encoding and aligning change of weights that are multiplied by
  /// `factor`, from 1 to 2, in encoded steps of the largest block.
  void (*roundingErrors)(const WeightBlocks &weights, float factor,
                         RoundingErrors *errors);
};

/// Fastest table that this CPU runs; chosen once.
const KernelTable &bestKernels();
/// Every table that this CPU can run, scalar first.
llvm::ArrayRef<const KernelTable *> availableKernels();
/// Table by name, or null if unknown or not runnable here.
const KernelTable *kernelsByName(llvm::StringRef name);

/// Names of availableKernels() and "best", for messages.
std::string kernelNames();

/// Puts the calling thread's floating-point environment into the state that
/// every result assumes (nearest even, no flush to zero) and restores it.
class FloatEnvironment {
public:
  FloatEnvironment();
  ~FloatEnvironment();
  FloatEnvironment(const FloatEnvironment &) = delete;
  FloatEnvironment &operator=(const FloatEnvironment &) = delete;

private:
  unsigned saved;
};

} // namespace ashlar::numerics

#endif // ASHLAR_NUMERICS_KERNELS_H
