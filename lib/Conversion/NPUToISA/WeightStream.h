// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams weights into the ring at the top of every partition. A chunk is all
// that one group of array columns needs: its stationary tiles and the ACT
// parameter records. Chunks are loaded in the order of their first use, as
// early in the program as the ring has room for them: the copies run ahead on
// their own queue, which is all the prefetching there is. Where the plan says
// so, a column comes in several chunks along the contraction axis, the records
// with the last of them.
//
// The order of use is only known after code generation, so the generator runs
// twice: a recording run that loads nothing, and the real one.

#ifndef ASHLAR_LIB_CONVERSION_NPUTOISA_WEIGHTSTREAM_H
#define ASHLAR_LIB_CONVERSION_NPUTOISA_WEIGHTSTREAM_H

#include "ProgramBuilder.h"
#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"
#include <deque>
#include <memory>

namespace ashlar::analysis {
class EncodedWeights;
} // namespace ashlar::analysis

namespace ashlar::codegen {

/// A product whose weights are streamed.
struct StreamedProduct {
  mlir::Operation *op = nullptr;
  uint32_t node = 0;
  analysis::ProductShape shape;
  std::vector<analysis::ColumnTile> columns;
  /// By output: the lane of its drain that has its sums; empty: its own.
  std::vector<int64_t> sources;
  int64_t elementBytes = 1;
  bool streamsTiles = true; ///< false: only parameter records
  bool reused = false;      ///< chunks may be used several times
  /// DRAM takes longer to give the weights than the array to use them, and
  /// there are queues that do not load weights. Exponents of a block are then
  /// read once and copied inside XM to the other rows of their block.
  bool awaitsDram = false;
  /// Outputs of a tile of the result; 0: all.
  int64_t tileOutputs = 0;

  /// Finds whether the product awaits DRAM.
  void findBottleneck(const machine::Description &machine);
  /// Whether chunks are used several times if a result of `shape` is made in
  /// tiles of `tile`, of all outputs or, along `outputAxis`, of some.
  void setTiles(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> tile,
                int64_t outputAxis);
};

/// Where a loaded chunk lies in every partition.
struct ChunkPlace {
  int64_t tiles = 0; ///< byte offset of the first stationary tile
  int64_t tilePitch = 0;
  int64_t parameters = 0; ///< byte offset of the parameter records
  /// Partition of the records where all of them lie in one.
  int64_t parameterPart = 0;
};

class WeightStream {
public:
  explicit WeightStream(ProgramBuilder &builder);
  ~WeightStream();

  /// Makes a product known; returns its index.
  size_t addProduct(StreamedProduct product);
  const StreamedProduct &product(size_t index) const {
    return *products[index];
  }

  /// The ring begins at byte `base` of every partition from now on; it only
  /// ever grows.
  void setBase(int64_t base) { ringBase = base; }
  /// Sets `bytes` at the end of every partition aside for records of moving
  /// weights: those of one chunk all lie in one partition, the next chunk's in
  /// the next, so that they take no room in the ring. Before any product.
  void reserveRecords(int64_t bytes) { ringEnd -= bytes; }
  /// Begins the real run: chunks will be used in the order recorded so far.
  void replay();

  /// Loads the chunk that is used first, if it is not loaded and there is room.
  void loadFirst() {
    if (!recording && nextToLoad == 0)
      loadNext();
  }
  /// The place of a chunk; it is loaded at this point of the program at the
  /// latest. Fails only if the chunk is larger than the ring.
  llvm::Expected<ChunkPlace> acquire(size_t product, size_t column);
  /// The chunk acquired last for this product and column may be overwritten by
  /// instructions emitted from now on (kept for products that stay loaded).
  void release(size_t product, size_t column);
  /// The product is done: nothing of it is needed any more.
  void finish(size_t product);

private:
  struct Request {
    size_t product;
    size_t column;
  };
  struct Live {
    size_t request;
    int64_t offset;
    int64_t bytes;
    int64_t recordPart = -1; ///< partition of records of moving weights
    bool released = false;
    bool complete = true; ///< false: cells have to be repeated before its use
  };

  bool staysLoaded(size_t product);
  bool holdsRecords(const StreamedProduct &product) const;
  bool loadNext(bool needed = false);
  void pump();
  bool isFree(int64_t begin, int64_t bytes) const;
  std::optional<int64_t> reserve(int64_t bytes) const;
  std::optional<int64_t> findGap(int64_t bytes);
  llvm::Error noRoom(const StreamedProduct &product, size_t column) const;
  std::optional<int64_t> nextRecordPart() const;
  void load(const Request &request, const Live &place);
  void complete(const Request &request, Live &chunk);

  ProgramBuilder &builder;
  int64_t ringBase = 0, ringEnd;
  int64_t recordChunks = 0;
  bool recording = true;
  std::vector<std::unique_ptr<StreamedProduct>> products;
  std::vector<Request> order;
  size_t nextToLoad = 0;
  std::deque<Live> live;
  int64_t head = 0;
  /// Whether a product stays loaded: decided when it is first used.
  llvm::DenseMap<size_t, bool> stays;
  /// Current request of a (product, column).
  llvm::DenseMap<std::pair<size_t, size_t>, size_t> current;
  /// DRAM addresses of chunks that were packed before: tiles, cells, records.
  struct Packed;
  llvm::DenseMap<std::pair<size_t, size_t>, std::shared_ptr<Packed>> packed;
  std::unique_ptr<analysis::EncodedWeights> encoded;
  size_t encodedProduct = ~size_t(0);
  size_t nextUse = 0;
};

} // namespace ashlar::codegen

#endif // ASHLAR_LIB_CONVERSION_NPUTOISA_WEIGHTSTREAM_H
