// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rotary positions of com.microsoft: one stream of positions, or one each of
// time, height and width.

#include "../Attention/Heads.h"

#include "lib/Frontend/Onnx/Registry.h"

#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// The operands that both forms have in common.
struct Rotary {
  Value x; ///< [batch, length, heads, size].
  Value cosines, sines;
  Shape given; ///< Of the operand.
  bool interleaved = false;
  int64_t batch = 0, length = 0, half = 0;
};

/// [batch, heads, length, size] as [batch, length, heads, size], and back.
Value headsInside(Node &n, Value x) {
  return x ? n.transpose(x, {0, 2, 1, 3}) : Value();
}

std::optional<Rotary> readRotary(Node &n) {
  Rotary r;
  Value x = n.input(0);
  r.cosines = n.input(2);
  r.sines = n.input(3);
  r.interleaved = n.getInt("interleaved", 0) != 0;
  int64_t heads = n.getInt("num_heads", 0);
  const int64_t rotated = n.getInt("rotary_embedding_dim", 0);
  n.ignore("scale");              // Not used by its definition.
  n.ignore("is_packed_batching"); // Positions say where a sequence begins.
  if (n.failed() || !x || !r.cosines || !r.sines)
    return std::nullopt;
  r.given.assign(shapeOf(x).begin(), shapeOf(x).end());
  r.half = rankOf(r.cosines) > 0 ? shapeOf(r.cosines).back() : 0;
  if (heads == 0 && r.given.size() == 3 && rotated == 0 && r.half > 0)
    heads = r.given[2] / (2 * r.half);
  r.x = headsInside(n, splitHeads(n, x, heads, "num_heads"));
  if (n.failed() || !r.x)
    return std::nullopt;
  const Shape shape(shapeOf(r.x));
  r.batch = shape[0];
  r.length = shape[1];
  if (rankOf(r.cosines) == 2 && shapeOf(r.cosines) == shapeOf(r.sines) &&
      2 * r.half <= shape[3] && (rotated == 0 || rotated == 2 * r.half))
    return r;
  n.malformed("tables {} and {} for heads of {}, rotary_embedding_dim {}",
              typeText(r.cosines), typeText(r.sines), shape[3], rotated);
  return std::nullopt;
}

/// The operand turned by angles [batch, length, 1, half].
void setTurned(Node &n, const Rotary &r, Value cosine, Value sine) {
  Value turned = turnHeads(n, r.x, cosine, sine, r.interleaved);
  if (turned)
    n.setOutput(0, r.given.size() == 4 ? headsInside(n, turned)
                                       : n.reshape(turned, r.given));
}

/// Positions: one for each token, or that of the first.
Value rotaryPositions(Node &n, Value given, const Rotary &r) {
  if (!given)
    return nullptr;
  Value positions = n.cast(given, n.indexType());
  if (elementCount(shapeOf(given)) == 1 && rankOf(given) < 2)
    return n.broadcast(n.binary<AddOp>(n.reshape(positions, {1, 1}),
                                       n.iota(r.length, 1, 2, n.indexType())),
                       {r.batch, r.length});
  return n.reshape(positions, {r.batch, r.length});
}

void rotaryEmbedding(Node &n) {
  std::optional<Rotary> r = readRotary(n);
  if (!r)
    return;
  Value positions = rotaryPositions(n, n.input(1), *r);
  if (positions)
    setTurned(n, *r, tableRows(n, r->cosines, positions, r->batch, r->length),
              tableRows(n, r->sines, positions, r->batch, r->length));
}

/// Which of the three streams of positions each pair is turned by: in sections,
/// or in turn, where those of height and width end with their sections.
std::optional<SmallVector<int64_t>> streamsOf(Node &n, int64_t half) {
  const SmallVector<int64_t> sections = n.getInts("mrope_section");
  const int64_t layout = n.getInt("mrope_layout", 0);
  int64_t sum = 0;
  bool fit = sections.size() == 3;
  for (int64_t section : sections) {
    fit &= section >= 0 && section <= half;
    sum += section;
  }
  if (!n.failed() && (!fit || sum != half))
    n.malformed("mrope_section is [{}], expected 3 numbers whose sum is {}",
                fmt::join(sections, ", "), half);
  if (!n.failed() && layout != 0 && layout != 1)
    n.malformed("mrope_layout is {}, expected 0 or 1", layout);
  if (n.failed())
    return std::nullopt;
  SmallVector<int64_t> streams;
  for (int64_t i = 0; i < half; ++i) {
    const int64_t turn = i % 3;
    if (layout == 1)
      streams.push_back(turn > 0 && i < 3 * sections[turn] ? turn : 0);
    else
      streams.push_back(i < sections[0]                 ? 0
                        : i < sections[0] + sections[1] ? 1
                                                        : 2);
  }
  return streams;
}

/// Rows of a table for every stream, and of these what each pair reads.
Value mixedRows(Node &n, Value table, Value positions, const Rotary &r,
                ArrayRef<int64_t> streams) {
  SmallVector<Value> rows;
  for (int64_t stream = 0; stream < 3; ++stream) {
    Value own =
        n.reshape(n.sliceAxis(positions, 0, stream, 1), {r.batch, r.length});
    rows.push_back(own ? tableRows(n, table, own, r.batch, r.length) : Value());
  }
  SmallVector<int64_t> places;
  for (auto [i, stream] : llvm::enumerate(streams))
    places.push_back(stream * r.half + static_cast<int64_t>(i));
  return n.failed() ? Value() : n.gather(n.concat(rows, 3), 3, places);
}

void rotaryOfStreams(Node &n) {
  std::optional<Rotary> r = readRotary(n);
  Value positions = n.input(1);
  if (!r || !positions)
    return;
  if (shapeOf(positions) != ShapeRef({3, r->batch, r->length})) {
    n.malformed("position_ids is {}, expected {}", typeText(positions),
                shapeToString({3, r->batch, r->length}));
    return;
  }
  std::optional<SmallVector<int64_t>> streams = streamsOf(n, r->half);
  if (!streams)
    return;
  positions = n.cast(positions, n.indexType());
  setTurned(n, *r, mixedRows(n, r->cosines, positions, *r, *streams),
            mixedRows(n, r->sines, positions, *r, *streams));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::rotaryRows() {
  constexpr const char *domain = "com.microsoft";
  return {
      {"RotaryEmbedding",
       {1},
       rotaryEmbedding,
       "products with rows of the tables; positions may be known at run time",
       domain},
      {"MRotaryEmbedding",
       {1},
       rotaryOfStreams,
       "as RotaryEmbedding, with rows of three streams of positions",
       domain},
  };
}
