// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ring allocation, packing and loading of weight chunks.

#include "WeightStream.h"

#include "ChunkPacker.h"
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
  if (!product.streamsTiles)
    return llvm::alignTo(analysis::kParameterBytes, 64);
  analysis::ColumnTile column = product.columns[index];
  if (product.shape.weightsMove)
    column.parameterBytes = 0;
  return analysis::chunkBytes(column, product.elementBytes);
}

/// Small products stay in the ring for all tiles of their results; larger ones
/// are streamed again for each. Chunks that are used once make room at once.
bool WeightStream::staysLoaded(size_t index) {
  auto [entry, inserted] = stays.insert({index, false});
  if (inserted) {
    const StreamedProduct &product = *products[index];
    int64_t total = 0;
    for (size_t column = 0; column < product.columns.size(); ++column)
      total += bytesOf(product, column);
    entry->second = product.reused && total <= (ringEnd - ringBase) / 2;
  }
  return entry->second;
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
    if (!loadNext())
      return makeError(ErrorClass::Capacity,
                       "weights of {} bytes per partition do not fit into the "
                       "weight ring of {} bytes",
                       bytesOf(owner, column), ringEnd - ringBase);
  for (const Live &chunk : live)
    if (chunk.request == request) {
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

/// First-in first-out ring: returns the offset of `bytes` contiguous bytes, or
/// nothing while older chunks are in the way.
std::optional<int64_t> WeightStream::reserve(int64_t bytes) {
  while (!live.empty() && live.front().released)
    live.pop_front();
  if (bytes > ringEnd - ringBase)
    return std::nullopt;
  if (live.empty()) {
    head = ringBase + bytes;
    return ringBase;
  }
  int64_t tail = live.front().offset;
  bool wrapped = head <= tail;
  if (!wrapped && head + bytes <= ringEnd) {
    head += bytes;
    return head - bytes;
  }
  int64_t start = wrapped ? head : ringBase;
  if (start + bytes > tail)
    return std::nullopt;
  head = start + bytes;
  return start;
}

/// True if a partition is free for the records of another chunk; the oldest
/// chunk has the oldest.
bool WeightStream::hasRecordPart() const {
  return llvm::count_if(live, [](const Live &chunk) {
           return chunk.recordPart >= 0;
         }) < static_cast<int64_t>(builder.machine.sb.partitions);
}

bool WeightStream::loadNext() {
  if (nextToLoad >= order.size() ||
      order[nextToLoad].product >= products.size())
    return false;
  const Request &request = order[nextToLoad];
  int64_t bytes = bytesOf(*products[request.product], request.column);
  std::optional<int64_t> offset = reserve(bytes);
  bool moves = products[request.product]->shape.weightsMove;
  if (!offset || (moves && !hasRecordPart()))
    return false;
  Live place{nextToLoad, *offset, bytes};
  if (moves)
    place.recordPart =
        recordChunks++ % static_cast<int64_t>(builder.machine.sb.partitions);
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
  emitRecordLoad(builder, product, request.column, chunk->chunk,
                 place.recordPart >= 0 ? ringEnd : place.offset,
                 place.recordPart);
  builder.node = savedNode;
}

} // namespace ashlar::codegen
