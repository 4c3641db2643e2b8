// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns planned npu operations into instructions, one tile after the other.

#ifndef ASHLAR_LIB_CONVERSION_NPUTOISA_GENERATOR_H
#define ASHLAR_LIB_CONVERSION_NPUTOISA_GENERATOR_H

#include "Copy.h"
#include "CounterPlan.h"
#include "ProgramBuilder.h"
#include "ScaleRegisters.h"
#include "TileProgram.h"
#include "WeightStream.h"
#include "ashlar/Analysis/Cost/VectorLoops.h"
#include "ashlar/Analysis/Layout/MapForm.h"
#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace ashlar::codegen {

using analysis::forEachVectorLoop;
using analysis::VectorAddress;
using analysis::VectorLoop;
using analysis::VectorOperand;

/// Scratch buffers of a sequence whose partitions between lanes are zeros: no
/// copy writes there, so that they stay so for all tiles in the same buffer.
class ClearedBuffers {
public:
  /// Notes that `view` is cleared; false if it was already.
  bool add(const View &view, const machine::Description &machine);
  /// A buffer is allocated: what others have there is cleared no more.
  void allocate(const View &view, const machine::Description &machine);

private:
  struct Buffer {
    int64_t base, bytes;
    analysis::StorageType type;
    bool cleared;
  };
  llvm::SmallVector<Buffer, 8> buffers;
};

/// One tile of one operation: everything its emitter needs to know.
struct TileContext {
  mlir::Operation *op = nullptr;
  const analysis::TilingModel *model = nullptr;
  /// Region of the result that this tile computes.
  Region out;
  /// Region of each operand that its view holds.
  llvm::SmallVector<Region, 4> operandRegions;
  /// Operands where the operation reads them; direct operands are whole.
  llvm::SmallVector<View, 4> operands;
  /// Where the tile of the result goes; whole for direct results.
  View result;
  llvm::SmallVector<View, 4> scratch;
  /// First walk over what gets one exponent for the tensor: measures.
  bool measures = false;
  /// What earlier tiles of the sequence have cleared.
  ClearedBuffers *cleared = nullptr;
};

/// Completion of a planned tensor, for tensor dumps.
struct Completion {
  mlir::Value value;
  View view;
  unsigned scaleRegister = 0;
  size_t entry = 0; ///< index of its last instruction
};

/// Buffers of the sparse cluster that consecutive convolutions take in turn.
struct TileState {
  unsigned set = 0;   ///< of the feature-map units
  unsigned table = 0; ///< first unused tile table
  unsigned sums = 0;  ///< half of the accumulators
  unsigned kept = 0;  ///< set with the operand of a convolution that is kept
};

/// Banks of PSUM, which the products and transposes of a program take in turn:
/// sums go where it is longest ago that others were drained, so that the array
/// streams the next operation while ACT still drains this one.
class SumBanks {
public:
  explicit SumBanks(const machine::Description &machine)
      : banks(machine.psum.banks), entries(machine.psum.entriesPerBank) {}

  /// First entry of the next bank.
  int64_t next() { return static_cast<int64_t>(turn++ % banks * entries); }
  /// First entry of the next half of all banks, for sums that lie in one piece.
  int64_t nextHalf() {
    const uint64_t half = std::max<uint64_t>(banks / 2, 1);
    turn = (turn + half - 1) / half * half % banks;
    if (turn + half > banks)
      turn = 0;
    const int64_t first = static_cast<int64_t>(turn * entries);
    turn += half;
    return first;
  }

private:
  uint64_t banks, entries;
  uint64_t turn = 0;
};

class Generator {
public:
  Generator(mlir::ModuleOp module, const machine::Description &machine);

  /// Emits the whole program from its sequences of tile operations (twice; see
  /// WeightStream).
  llvm::Error run();

  ProgramBuilder builder;
  /// Of a program that may be given up; or null.
  InstructionLimit *limit = nullptr;
  std::vector<Completion> completions;
  /// Operations in node order.
  std::vector<mlir::Operation *> nodes;
  /// Their indices in the order of their code.
  std::vector<size_t> order;
  /// Where each value is stored as a whole.
  llvm::DenseMap<mlir::Value, View> allocations;
  /// Entries of a PSUM bank that the windows of a product take, once known.
  llvm::DenseMap<mlir::Operation *, int64_t> windowEntries;
  /// Forms of the feature maps that are compressed in DRAM.
  llvm::DenseMap<mlir::Value, analysis::MapForm> forms;
  /// Results in the memory of their operands in DRAM: nothing is copied.
  llvm::DenseSet<mlir::Operation *> reshaped;
  /// The form of a value, or null for dense ones.
  const analysis::MapForm *formOf(mlir::Value value) const {
    auto found = forms.find(value);
    return found == forms.end() ? nullptr : &found->second;
  }

  //===-- services for the emitters
  //----------------------------------------===//

  const machine::Description &machine;
  WeightStream weights;
  ScaleRegisters scales;
  /// Coefficients of the sparse cluster, and what its convolutions share.
  StreamLoader streams;
  TileState tiles;
  SumBanks sums;
  /// Maps that are counted for cuts at run time.
  analysis::CounterAllocation counters;

  /// The place of a chunk of weights, as WeightStream::acquire() says.
  llvm::Expected<ChunkPlace> acquireWeights(size_t product, size_t column);

  /// Register with the scale exponent of an encoded value.
  unsigned scaleRegister(mlir::Value value) const;
  /// Registers for encoding the result of `op`; `clear` is true the first time.
  EncodeRegisters resultScale(mlir::Operation *op);
  /// Index of the streamed product of a pe operation.
  size_t streamedProduct(mlir::Operation *op);
  /// Plan and coefficients of a convolution on the sparse cluster.
  llvm::Expected<TileProgram *> tileProgram(mlir::Operation *op);
  /// First byte of the shared identity in every partition: row p has its one
  /// at byte p.
  int64_t identityOffset() const { return 0; }
  /// The same of bf16, where transposes multiply floats.
  int64_t floatIdentityOffset() const;
  /// Where a value lies.
  View allocationOf(mlir::Value value);
  /// Where a value lies in the state buffer across `axis`: constants may lie
  /// there besides their home, unless they are folded.
  View residentOf(mlir::Value value, int64_t axis, bool folded);
  /// Fails when the program has more instructions than it may.
  llvm::Error checkInstructions(mlir::Operation *op) const;
  /// Fails when an instruction cannot express the operation.
  llvm::Error unsupported(mlir::Operation *op, const std::string &what) const;

private:
  void placeConstantsAndArguments();
  llvm::Error placeResults();
  llvm::Error checkDram();
  llvm::Error planCounters();
  llvm::Error emitAll();
  /// Code of an operation; its result is complete after it.
  llvm::Error emitNode(size_t index);
  llvm::Error emitOperation(mlir::Operation *op);
  llvm::Error findSequences();
  void mergeConcatScales(mlir::Operation *op);
  /// True if the result of `op` takes the memory of its operand in DRAM, as
  /// placeResults() decides: a reshape of one result of the program, which
  /// nobody outside reads.
  bool sharesDram(mlir::Operation *op) const;
  void storeIdentities();
  void storeIdentity(int64_t offset, uint32_t bytes, uint64_t one);
  void loadConstants();

  mlir::ModuleOp module;
  /// The tiles of each operation.
  llvm::DenseMap<mlir::Operation *, tile::SequenceOp> sequences;
  /// Constants in the state buffer, by the axis across partitions.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, View> constants;
  llvm::DenseMap<mlir::Operation *, size_t> productIndex;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<TileProgram>> tilePrograms;
  /// Stationary tiles without those of zeros, the same in both runs.
  llvm::DenseMap<mlir::Operation *, std::vector<analysis::ColumnTile>>
      stationaryPlans;
};

/// Copies `view`, a region of a feature map in the state buffer, to its
/// allocation in DRAM, in the form that it has there (null: dense), and back.
/// Exponent cells go along.
void emitStore(Generator &generator, const analysis::MapForm *form,
               const View &view, const View &home, const Region &region);
void emitLoad(Generator &generator, const analysis::MapForm *form,
              const View &home, const Region &region, const View &view);
/// Product emitters (pe), vector emitters (vec) and data movement (dma).
llvm::Error emitProduct(Generator &generator, const TileContext &tile);
/// Convolutions on the sparse cluster.
llvm::Error emitTileConvolution(Generator &generator, const TileContext &tile);
/// Sets the epilogue of a product: scale, bias, residual, function.
void setEpilogue(mlir::Operation *op, isa::ActDrain &drain);
/// Sets what the sums of a product with the activations `x` are: relative to
/// the ranges of both factors and, with `hasExp`, to the exponent of each lane,
/// or integers that are rounded to the result's zero point.
void setSums(mlir::Operation *op, const analysis::StorageType &x, bool hasExp,
             isa::ActDrain &drain);
/// Sets the element type that a drain of `op` stores, with the block and the
/// register of the scale exponent of encoded results.
void setResultType(Generator &generator, mlir::Operation *op,
                   const analysis::StorageType &type, isa::ActDrain &drain);
/// Sets the element type of the residual that a drain adds.
void setResidualType(const analysis::StorageType &type, isa::ActDrain &drain);
/// Encodes the result of a product that was drained to f32 scratch, if it was.
void encodeScratch(Generator &generator, const TileContext &tile);
/// Products whose activations are the stationary operand.
llvm::Error emitMovingWeights(Generator &generator, const TileContext &tile);
llvm::Error emitVector(Generator &generator, const TileContext &tile);
/// Window reductions (vec).
llvm::Error emitPool(Generator &generator, const TileContext &tile);
/// A pool whose windows lie along the partition dimension.
llvm::Error emitWindowSums(Generator &generator, const TileContext &tile);
/// Elements at run-time indices; part of emitVector.
llvm::Error emitGather(Generator &generator, const TileContext &tile);
llvm::Error emitMove(Generator &generator, const TileContext &tile);
/// Fills what `patterns`, clipped to a tile of a movement, leave open of
/// `target`, where the tile is written to.
void fillOpen(Generator &generator, const TileContext &tile, const View &target,
              llvm::ArrayRef<npu::AccessPattern> patterns);
/// Calls of the host.
llvm::Error emitHost(Generator &generator, const TileContext &tile);
/// A data movement in the memory of its operand.
llvm::Error emitSwap(Generator &generator, const TileContext &tile);
/// Streams the identity past `rows` x `cols` cells that have been loaded from
/// `part` on in the same mode, into PSUM from `psum` on.
void emitIdentityWindow(Generator &generator, int64_t part, int64_t rows,
                        int64_t cols, int64_t psum,
                        isa::OperandMode mode = isa::OperandMode::Select);
/// What a stateful scale policy samples of a tile that has been emitted.
llvm::Error emitSamples(Generator &generator, const TileContext &tile);
/// Identity multiplications.
llvm::Error emitTranspose(Generator &generator, const TileContext &tile);

/// One vec.map over equally shaped views (operands may broadcast). `second`
/// may be null; `immediate` replaces it when given.
struct MapParameters {
  isa::Function function = isa::Function::Copy;
  float alpha = 0, beta = 0;
  bool immediate = false;      ///< beta is the second operand
  EncodeRegisters target = {}; ///< Of an encoded result.
  /// Steps of quantisation before and after the function, or null.
  npu::VecRequantiseOp quantised = {};
  /// Of the first operand: one number per channel each, or null.
  const View *scale = nullptr;
  const View *bias = nullptr;
  /// The bytes of operands and result in the partitions after their channels
  /// belong to nothing else.
  bool ownsPartitions = false;
  /// Zeros may be filled in between parts of the positions. Not where copies
  /// make the operand: their queues are what the map waits for.
  bool mayClear = false;
};
/// True if the result of a tile and its first operands begin in partition 0 and
/// nothing else is in their bytes of the partitions after their channels.
bool ownsPartitions(const TileContext &tile, unsigned operands);
/// Channels [first, first + count) of a view across partitions.
View channelsOf(const View &view, int64_t first, int64_t count,
                const machine::Description &machine);
/// True if a feature map is made channels by channels and not rows by rows.
bool comesByChannels(mlir::Operation *op);
/// Channels of one instruction that reduces `source` to `result`, or all of
/// them: whole tiles, so that the first follow the producer while it makes the
/// last, as many as are worth the latency of the vector unit.
int64_t channelStep(const machine::Description &machine, const View &source,
                    const View &result);
/// Merges the largest magnitude of floats into the register: E of blocks of
/// `mantissa` bits that hold all of them.
void emitMeasure(Generator &generator, const View &source, int mantissa,
                 unsigned xr, bool clear);
void emitMap(Generator &generator, const View &first, const View *second,
             const View &result, MapParameters parameters);

} // namespace ashlar::codegen

#endif // ASHLAR_LIB_CONVERSION_NPUTOISA_GENERATOR_H
