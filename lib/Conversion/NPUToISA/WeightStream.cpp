// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ring allocation, packing and loading of weight chunks.

#include "WeightStream.h"

#include "ChunkPacker.h"
#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Machine/Dram.h"
#include "ashlar/Support/Error.h"
#include "llvm/Support/MathExtras.h"

namespace ashlar::codegen {

struct WeightStream::Packed {
  PackedChunk chunk;
};

WeightStream::WeightStream(ProgramBuilder &builder)
    : builder(builder), ringEnd(builder.machine.sb.bytesPerPartition) {}

WeightStream::~WeightStream() = default;

size_t WeightStream::addProduct(StreamedProduct product) {
  products.push_back(std::make_unique<StreamedProduct>(std::move(product)));
  return products.size() - 1;
}

void WeightStream::replay() {
  recording = false;
  current.clear();
  products.clear();
  stays.clear();
  nextUse = 0;
}

/// Bytes of the ring per partition.
static int64_t bytesOf(const StreamedProduct &product, size_t index) {
  return analysis::ringBytes(product.shape, product.columns[index],
                             product.streamsTiles, product.elementBytes);
}

void StreamedProduct::setTiles(llvm::ArrayRef<int64_t> shape,
                               llvm::ArrayRef<int64_t> tile,
                               int64_t outputAxis) {
  // Parts of a column are used by every group of positions that PSUM holds.
  reused = llvm::any_of(
      columns, [](const analysis::ColumnTile &part) { return !part.ends; });
  for (auto [axis, extent] : llvm::enumerate(shape))
    if (static_cast<int64_t>(axis) == outputAxis)
      tileOutputs = tile[axis] < extent ? tile[axis] : 0;
    else
      reused |= tile[axis] < extent;
}

/// Compares a whole tile of weights: the bytes of its mantissas with its load
/// and its stream, for all positions of the result.
void StreamedProduct::findBottleneck(const machine::Description &machine) {
  const analysis::StorageType x = analysis::storageOf(op->getOperand(0));
  if (!streamsTiles || !x.encoded || machine.dma.queues == 1)
    return;
  const auto bits = static_cast<uint64_t>(shape.weightFormat.mantissa);
  const analysis::StorageType w = analysis::weightStorage(op);
  uint64_t positions = 1;
  for (int64_t extent : analysis::shapeOf(op->getResult(0)))
    positions *= static_cast<uint64_t>(extent);
  positions /= static_cast<uint64_t>(std::max<int64_t>(shape.outputs, 1));
  const uint64_t columns = machine.pe.columns;
  machine::PeStreamShape steps;
  steps.positions = shape.weightsMove ? columns : positions;
  steps.rows = shape.weightsMove ? llvm::divideCeil(positions, columns) : 1;
  steps.passes = machine::pePasses(machine, x.digitBits(), w.digitBits());
  steps.narrow = analysis::isNarrow(x, w, machine);
  const uint64_t stream = machine::peSteps(machine, steps).cycles;
  const uint64_t load =
      shape.weightsMove
          ? 0
          : machine::peLoad(machine, machine.pe.rows, elementBytes).issue;
  awaitsDram =
      machine::dramStreamCycles(machine, machine.pe.rows * columns * bits / 8) >
      std::max(stream, load);
}

/// Bytes of the chunks that the tiles of the same outputs use, at most.
static int64_t bytesOfTile(const StreamedProduct &product) {
  int64_t most = 0, bytes = 0, first = 0;
  for (auto [index, column] : llvm::enumerate(product.columns)) {
    if (product.tileOutputs > 0 &&
        column.firstOutput >= first + product.tileOutputs) {
      first = column.firstOutput;
      bytes = 0;
    }
    bytes += bytesOf(product, index);
    most = std::max(most, bytes);
  }
  return most;
}

/// True if there is a partition for the records of each chunk of moving
/// weights.
bool WeightStream::holdsRecords(const StreamedProduct &product) const {
  const auto chunks =
      llvm::count_if(product.columns, [](const analysis::ColumnTile &column) {
        return column.ends;
      });
  return !product.shape.weightsMove ||
         chunks <= static_cast<int64_t>(builder.machine.sb.partitions);
}

/// Small products stay in the ring for all tiles of the same outputs; larger
/// ones are streamed again for each. Chunks that are used once make room at
/// once.
bool WeightStream::staysLoaded(size_t index) {
  auto [entry, inserted] = stays.insert({index, false});
  if (inserted) {
    const StreamedProduct &product = *products[index];
    entry->second = product.reused && holdsRecords(product) &&
                    bytesOfTile(product) <= (ringEnd - ringBase) / 2;
  }
  return entry->second;
}

llvm::Error WeightStream::noRoom(const StreamedProduct &product,
                                 size_t column) const {
  int64_t used = 0;
  for (const Live &chunk : live)
    used += chunk.bytes;
  return makeError(
      ErrorClass::Internal,
      "node '{}': {} bytes of weights per partition find no room "
      "in the {} bytes of the weight ring, of which {} are in use, "
      "although memory planning set aside enough",
      analysis::getNodeName(product.op->getLoc()), bytesOf(product, column),
      ringEnd - ringBase, used);
}

llvm::Expected<ChunkPlace> WeightStream::acquire(size_t product,
                                                 size_t column) {
  auto key = std::make_pair(product, column);
  auto found = current.find(key);
  if (found == current.end()) {
    size_t request = recording ? order.size() : nextUse++;
    if (recording)
      order.push_back({product, column});
    found = current.insert({key, request}).first;
  }
  const StreamedProduct &owner = *products[product];
  ChunkPlace place;
  place.tilePitch =
      llvm::alignTo(owner.columns[column].cols * owner.elementBytes, 8);
  int64_t tiles = owner.streamsTiles ? owner.columns[column].tiles.size() : 0;
  place.parameters = tiles * place.tilePitch;
  if (recording)
    return place;
  size_t request = found->second;
  while (nextToLoad <= request)
    if (!loadNext(/*needed=*/true))
      return noRoom(owner, column);
  for (Live &chunk : live)
    if (chunk.request == request) {
      complete(order[request], chunk);
      place.tiles = chunk.offset;
      place.parameters += place.tiles;
      if (chunk.recordPart >= 0) {
        place.parameters = ringEnd;
        place.parameterPart = chunk.recordPart;
      }
    }
  return place;
}

void WeightStream::release(size_t product, size_t column) {
  auto key = std::make_pair(product, column);
  if (staysLoaded(product))
    return;
  size_t request = current.lookup(key);
  current.erase(key);
  if (recording)
    return;
  for (Live &chunk : live)
    if (chunk.request == request)
      chunk.released = true;
  pump();
}

void WeightStream::finish(size_t product) {
  for (size_t column = 0; column < products[product]->columns.size();
       ++column) {
    auto found = current.find({product, column});
    if (found == current.end())
      continue;
    for (Live &chunk : live)
      if (chunk.request == found->second)
        chunk.released = true;
    current.erase(found);
  }
  if (!recording)
    pump();
}

bool WeightStream::isFree(int64_t begin, int64_t bytes) const {
  return begin >= ringBase && begin + bytes <= ringEnd &&
         llvm::none_of(live, [&](const Live &chunk) {
           return begin < chunk.offset + chunk.bytes &&
                  chunk.offset < begin + bytes;
         });
}

/// A place for `bytes` contiguous bytes after the newest chunk, or at the begin
/// of the ring if the newest is not there already; nothing while older chunks
/// are in the way. Room that the ring gained below the oldest chunk is not
/// taken ahead of time: what lay there is still read, and later loads of the
/// queue would wait with this one.
std::optional<int64_t> WeightStream::reserve(int64_t bytes) const {
  if (live.empty())
    return bytes <= ringEnd - ringBase ? std::optional(ringBase) : std::nullopt;
  if (isFree(head, bytes))
    return head;
  const bool wrapped = head <= live.front().offset;
  return !wrapped && isFree(ringBase, bytes) ? std::optional(ringBase)
                                             : std::nullopt;
}

/// The first gap between chunks that are still needed: the ring has grown, or
/// chunks that stay loaded have split it.
std::optional<int64_t> WeightStream::findGap(int64_t bytes) {
  llvm::erase_if(live, [](const Live &chunk) { return chunk.released; });
  int64_t place = ringEnd;
  auto consider = [&](int64_t begin) {
    if (begin < place && isFree(begin, bytes))
      place = begin;
  };
  consider(ringBase);
  for (const Live &chunk : live)
    consider(chunk.offset + chunk.bytes);
  return place < ringEnd ? std::optional(place) : std::nullopt;
}

/// The partition that takes the records of the next chunk of moving weights:
/// the next one by turns that no older chunk has; nothing if all are taken.
std::optional<int64_t> WeightStream::nextRecordPart() const {
  const auto partitions = static_cast<int64_t>(builder.machine.sb.partitions);
  for (int64_t turn = 0; turn < partitions; ++turn) {
    const int64_t part = (recordChunks + turn) % partitions;
    if (llvm::none_of(
            live, [&](const Live &chunk) { return chunk.recordPart == part; }))
      return part;
  }
  return std::nullopt;
}

/// Loads the next chunk in the order of use, if it finds room. `needed`: it is
/// used now, and takes what room there is.
bool WeightStream::loadNext(bool needed) {
  if (nextToLoad >= order.size() ||
      order[nextToLoad].product >= products.size())
    return false;
  while (!live.empty() && live.front().released)
    live.pop_front();
  const Request &request = order[nextToLoad];
  const StreamedProduct &product = *products[request.product];
  const bool moves =
      product.shape.weightsMove && product.columns[request.column].ends;
  const int64_t bytes = bytesOf(product, request.column);
  std::optional<int64_t> part = moves ? nextRecordPart() : std::nullopt;
  if (moves && !part)
    return false;
  std::optional<int64_t> offset = reserve(bytes);
  if (!offset && needed)
    offset = findGap(bytes);
  if (!offset)
    return false;
  head = *offset + bytes;
  Live place{nextToLoad, *offset, bytes};
  if (moves) {
    place.recordPart = *part;
    ++recordChunks;
  }
  place.complete = !product.awaitsDram;
  live.push_back(place);
  load(request, place);
  ++nextToLoad;
  return true;
}

void WeightStream::pump() {
  while (loadNext())
    ;
}

void WeightStream::load(const Request &request, const Live &place) {
  const StreamedProduct &product = *products[request.product];
  auto &chunk = packed[{request.product, request.column}];
  uint32_t savedNode = builder.node;
  builder.node = product.node;
  if (!chunk) {
    if (encodedProduct != request.product) {
      encoded = product.streamsTiles
                    ? std::make_unique<EncodedWeights>(product.op)
                    : nullptr;
      encodedProduct = request.product;
    }
    chunk = std::make_shared<Packed>();
    chunk->chunk = packChunk(builder, product, request.column, encoded.get());
  }
  emitChunkLoad(builder, product, request.column, chunk->chunk, place.offset);
  if (product.columns[request.column].ends)
    emitRecordLoad(builder, product, request.column, chunk->chunk,
                   place.recordPart >= 0 ? ringEnd : place.offset,
                   place.recordPart);
  builder.node = savedNode;
}

/// Cells of the rows that the load left out.
void WeightStream::complete(const Request &request, Live &chunk) {
  if (chunk.complete)
    return;
  chunk.complete = true;
  const StreamedProduct &product = *products[request.product];
  emitRepeatedCells(builder, product, request.column,
                    packed[{request.product, request.column}]->chunk,
                    chunk.offset);
}

} // namespace ashlar::codegen
