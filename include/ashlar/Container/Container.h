// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiled program and its file (docs/BinaryFormat.md). The writer is
// deterministic; the reader treats every file as hostile: whatever it contains,
// the result is a Program whose tables are consistent with each other or an
// error. What the code does is checked by the emulator's loader.

#ifndef ASHLAR_CONTAINER_CONTAINER_H
#define ASHLAR_CONTAINER_CONTAINER_H

#include "ashlar/Machine/Description.h"
#include "ashlar/Support/ElementType.h"
#include "ashlar/Support/FileIO.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ashlar::container {

/// Version of the file format; a reader refuses a newer one.
inline constexpr uint32_t formatVersion = 1;

/// A graph input or output: ONNX type, row-major, at a DRAM address.
struct TensorBinding {
  std::string name;
  support::ElementType type = support::ElementType::F32;
  std::vector<int64_t> shape;
  uint64_t dramOffset = 0;
  /// Of an output whose extent each run decides: the axis, else -1. `shape` has
  /// room for the most; the extent is an i64 at extentOffset in DRAM. Only the
  /// beginning of that axis counts.
  int32_t extentAxis = -1;
  uint64_t extentOffset = 0;

  bool hasRunTimeExtent() const { return extentAxis >= 0; }
};

/// Bytes that lie in DRAM before cycle 0. `bytes` refers to Program::storage or
/// to memory that outlives the program.
struct Segment {
  uint64_t dramOffset = 0;
  llvm::ArrayRef<uint8_t> bytes;
};

/// Scale exponents and histories that a program reads when it starts and leaves
/// for its next run: 16-bit integers at a DRAM address (docs/Numerics.md 5).
struct StateBinding {
  uint64_t dramOffset = 0;
  std::vector<int16_t> initial; ///< Before the first run; empty: no state.
};

/// A tensor that a run leaves in DRAM for the next one, zeros before the first:
/// an input of the model that an output of the previous run replaces, such as
/// the cache of a decoder. A run writes `rows` indices of `axis`, starting at
/// Cache::position, and nothing else.
struct KeptTensor {
  std::string name;   ///< The input of the model.
  std::string output; ///< The output that replaces it.
  support::ElementType type = support::ElementType::F32;
  std::vector<int64_t> shape; ///< Room for all that is kept; row-major.
  uint64_t dramOffset = 0;
  int32_t axis = -1; ///< That rows are added along; -1: all of it is replaced.
  int64_t rows = 0;  ///< Of a run, if there is an axis.
};

/// What a program keeps from run to run. Several programs of one model may
/// share it: each continues with what the others have left.
struct Cache {
  uint64_t model = 0; ///< Checksum of the model's file.
  /// The input, an i64, that tells how many rows are filled; empty: none is
  /// requested.
  std::string position;
  std::vector<KeptTensor> tensors;

  bool empty() const { return tensors.empty(); }
};

/// What a node of the source model became.
struct NodeInfo {
  std::string name, opType;
  std::string engine;                ///< "pe", "vec", "dma", "none", ...
  std::vector<std::string> absorbed; ///< Names of nodes fused into it.
  uint64_t macs = 0;
  std::vector<std::string> plannedTensors; ///< Tensors of the numeric plan.
};

/// Memory that a planned tensor lies in.
enum class PlacementMemory : uint8_t { Dram = 0, Sb = 1 };

/// Where a planned value can be copied out while the program runs. Element
/// (i0, i1, ..) lies at:
/// - DRAM: baseOffset + sum i[d] * strides[d];
/// - SB: channel c = i[channelAxis] (0 without one) in partition
///   (basePartition + c) mod P, at byte baseOffset
///   + ((basePartition + c) div P) * tileStride
///   + sum over the other d of i[d] * strides[d].
/// An encoded element's exponent cell is the XM cell of that SB byte; an
/// encoded tensor in DRAM has its cells at exponentBase + sum i[d] *
/// exponentStrides[d], the index of the block axis divided by the machine's
/// partitions per exponent cell.
///
/// A tensor of rank 3 or 4 in DRAM with a cellPitch is compressed
/// (docs/SparseTiles.md 4): a cell for every image, every cellChannels channels
/// and every row, in this order from baseOffset on, cellPitch bytes apart, its
/// plane a channel to a row. `strides` say nothing then.
struct TensorPlacement {
  std::string name; ///< Name in the numeric plan.
  bool encoded = false;
  /// Of an element; u8: mantissas are stored without a sign.
  support::ElementType type = support::ElementType::F32;
  uint32_t mantissa = 0;      ///< W, if encoded.
  int32_t block = 0;          ///< B, if encoded; 0 = axis, -1 = tensor.
  uint32_t range = 0;         ///< D, if encoded.
  int32_t blockAxis = 0;      ///< Dimension that blocks run along, if encoded.
  uint32_t xr = 0;            ///< XR register with E at that time, if encoded.
  std::vector<int64_t> shape; ///< Logical shape, as in the plan.
  PlacementMemory memory = PlacementMemory::Sb;
  uint64_t baseOffset = 0;    ///< DRAM address, or byte in the partition.
  uint32_t basePartition = 0; ///< SB only.
  int32_t channelAxis = -1;   ///< SB: dimension on partitions; -1 = none.
  int64_t tileStride = 0;     ///< SB: bytes from one channel tile to the next.
  /// Bytes per dimension; the entry of channelAxis is ignored.
  std::vector<int64_t> strides;
  /// SB: lane fold of the last dimension W. Index w lies lanePitch * (w mod
  /// lanes) partitions further, at (w div lanes) * strides[W]. 1 = none. More
  /// channels than lanePitch lie in blocks, lanes * lanePitch partitions apart.
  uint32_t lanes = 1;
  uint32_t lanePitch = 0;
  /// Dimension that the fold is of, if not W. Its lanes may continue in further
  /// channel tiles. -1: W.
  int32_t laneAxis = -1;
  uint64_t exponentBase = 0;            ///< DRAM and encoded only.
  std::vector<int64_t> exponentStrides; ///< DRAM and encoded only.
  uint64_t cellPitch = 0;               ///< Compressed only; 0: dense.
  uint64_t cellBytes = 0;               ///< Compressed: capacity of a cell.
  uint32_t cellChannels = 0;            ///< Compressed: channels of a cell.
  bool storesSigns() const { return type != support::ElementType::U8; }
  /// Bytes of an element, of encoded ones without their cells.
  unsigned elementBytes() const {
    return encoded ? (mantissa <= 8 || !storesSigns() ? 1 : 2)
                   : support::byteSize(type);
  }
  /// Number of cells of a compressed tensor of rank 3 or 4.
  int64_t cells() const;
  /// Blocks of channels of a lane fold; 1 without one. The fold has a pitch.
  uint64_t channelBlocks() const;
  /// Partition of a channel of lane 0, from that of the first one on.
  uint64_t partitionOf(uint64_t channel) const;
  /// Partitions from that of the first element to the end of the last one's.
  uint64_t partitionsSpanned() const;
  /// Index of the instruction after which the tensor is complete and still
  /// unchanged.
  uint32_t afterInstruction = 0;
};

/// Why no accumulation of a node can leave 64 bits (docs/Numerics.md).
struct AccumulatorProof {
  std::string node;
  uint64_t terms = 0;     ///< Summands per accumulator.
  uint32_t boundBits = 0; ///< |acc| < 2^boundBits.
};

/// The file that a program was read from, and where its bytes are.
struct SourceFile {
  llvm::ArrayRef<uint8_t> bytes; ///< Belong to Program::storage.
  support::FileState state;
};

/// A compiled model. `code` and the segments may refer to `storage`, which
/// keeps a mapped file or the writer's buffers alive: copies share it.
struct Program {
  machine::Description machine;
  std::string modelName;
  std::string producer; ///< Name and version of the compiler.
  std::vector<TensorBinding> inputs, outputs;
  StateBinding state;
  Cache cache;
  uint64_t dramBytes = 0; ///< DRAM that the program uses, from address 0.
  std::vector<uint64_t> code;
  std::vector<Segment> constants; ///< Ascending, without overlap.
  std::vector<NodeInfo> nodes;
  /// Per instruction (not per word): index into `nodes`, or noNode.
  std::vector<uint32_t> nodeOfInstruction;
  std::string numericPlanJson;
  std::string decisionsJson;
  std::vector<TensorPlacement> dumps;
  uint32_t semaphores = 0; ///< Semaphores used: 0 .. semaphores - 1.
  std::vector<AccumulatorProof> proofs;
  /// Where the segments come from, if the file was the same all the time.
  std::optional<SourceFile> source;
  /// Owners of the memory that segments refer to.
  std::vector<std::shared_ptr<const void>> storage;

  static constexpr uint32_t noNode = ~uint32_t(0);

  /// Adds a segment that owns its bytes.
  void addConstant(uint64_t dramOffset, std::vector<uint8_t> bytes);
};

/// The whole file as bytes. Errors: Capacity for what the format cannot hold;
/// Malformed for tables that contradict each other (see check()).
llvm::Expected<std::vector<uint8_t>> serialize(const Program &program);

/// Parses a file image. Segments refer to \p buffer, which the program keeps.
/// \p name is used in messages.
llvm::Expected<Program> parse(std::shared_ptr<llvm::MemoryBuffer> buffer,
                              llvm::StringRef name);

/// Consistency of the tables with each other and with the machine: bounds of
/// bindings, segments and placements, overlaps, indices. Malformed or Capacity.
llvm::Error check(const Program &program);

/// Writes \p path whole or not at all. The same program gives the same bytes.
llvm::Error write(const Program &program, llvm::StringRef path);

/// Maps and parses \p path; "-" is not special.
llvm::Expected<Program> read(llvm::StringRef path);

} // namespace ashlar::container

#endif // ASHLAR_CONTAINER_CONTAINER_H
